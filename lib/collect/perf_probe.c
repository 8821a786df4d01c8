/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes whether this process may have perf events; see collect.h. */
#include "collect/collect.h"

#include <errno.h>

#include "base/text.h"

/* So long a period that the probe is closed before its first hit. */
#define PROBE_PERIOD UINT64_C(1000000000)

static char text[128];

static const char *denied(const struct cp_perf_what *what)
{
	char value[16] = "";
	int fd = cp_sys_open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY, 0);
	long n = fd < 0 ? fd : cp_sys_read(fd, value, sizeof(value) - 1);

	if (fd >= 0)
		cp_sys_close(fd);
	if (n > 0 && value[n - 1] == '\n')
		value[n - 1] = '\0';
	cp_text_format(text, sizeof(text), "the kernel allows no perf event%s here%s%s",
		       what && what->user ? "" : " with kernel time",
		       n > 0 ? ", perf_event_paranoid is " : "", n > 0 ? value : "");
	return text;
}

const char *cp_perf_probe(const struct cp_perf_what *what, int *err)
{
	struct cp_perf probe = { .what = what };

	*err = 0;
	/* A filter, such as systemd's, may kill the process for a call that it doesn't know. */
	if (cp_sys_is_filtered())
		return "a seccomp filter is on, and might kill for perf_event_open";
	*err = cp_perf_event_open(&probe, cp_sys_gettid(), PROBE_PERIOD, PROBE_PERIOD);
	cp_perf_event_close(&probe);
	if (!*err)
		return NULL;
	if (*err == -EACCES || *err == -EPERM)
		return denied(what);
	if (*err == -ENOENT || *err == -ENODEV || *err == -EOPNOTSUPP)
		return "this machine does not count it; few virtual machines count hardware events";
	cp_text_format(text, sizeof(text), "perf_event_open: %s", cp_log_errno_text(*err));
	return text;
}
