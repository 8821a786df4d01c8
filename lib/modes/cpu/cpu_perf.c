/* SPDX-License-Identifier: BSD-3-Clause */
/* perf events; see cpu_perf.h. */
#include "modes/cpu/cpu_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "modes/cpu/cpu_timer.h"
#include "base/log.h"
#include "base/atomic.h"
#include "modes/cpu/signal/cpu_event.h"
#include "modes/cpu/signal/cpu_thread.h"
#include "base/sys.h"
#include "base/text.h"

/* Read up to SIZE - 1 bytes from the start of the file at PATH into TEXT, and end them with NUL.
 * Returns the number of bytes, or a negative errno. */
static long read_start(const char *path, char *text, size_t size)
{
	int fd = cp_sys_open(path, O_RDONLY, 0);
	long got;

	if (fd < 0)
		return fd;
	got = cp_sys_read(fd, text, size - 1);
	cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* So far away that a probe is closed before it hits. */
#define PROBE_NS UINT64_C(1000000000)

/* Return true if a seccomp filter is active or may be. A filter may kill the process for a call
 * that the filter doesn't know, as those of systemd do. */
static bool is_filtered(void)
{
	static const char key[] = "\nSeccomp:\t";
	char text[2048];
	const char *found = NULL;

	if (read_start("/proc/thread-self/status", text, sizeof(text)) <= 0)
		return true;
	for (const char *p = text; *p && !found; p++)
		if (!strncmp(p, key, sizeof(key) - 1))
			found = p + sizeof(key) - 1;
	/* No such line: a kernel without filters. */
	return found && *found != '0';
}

static const char *denied(void)
{
	static char text[96];
	char value[16];
	long n = read_start("/proc/sys/kernel/perf_event_paranoid", value, sizeof(value));

	if (n > 0 && value[n - 1] == '\n')
		value[n - 1] = '\0';
	cp_text_format(text, sizeof(text),
		       "the kernel allows no perf event with kernel time here%s%s",
		       n > 0 ? ", perf_event_paranoid is " : "", n > 0 ? value : "");
	return text;
}

const char *cp_cpu_perf_refusal(void)
{
	static char text[96];
	struct cp_perf probe = { 0 };
	int err;

	if (is_filtered())
		return "a seccomp filter is on, and might kill for perf_event_open";
	cp_perf_page = getauxval(AT_PAGESZ);
	err = cp_perf_event_open(&probe, cp_sys_gettid(), PROBE_NS, PROBE_NS);
	cp_perf_event_close(&probe);
	if (!err)
		return NULL;
	if (err == -EACCES || err == -EPERM)
		return denied();
	cp_text_format(text, sizeof(text), "perf_event_open: %s", cp_log_errno_text(err));
	return text;
}

int cp_cpu_perf_create(struct cp_thread *t)
{
	cp_store_relaxed(&cp_cpu_state.perf_used, 1);
	return cp_perf_event_open(&cp_cpu_of(t)->perf, t->tid, cp_cpu_timer_first(),
				  cp_cpu_state.period_ns);
}

void cp_cpu_perf_delete(struct cp_thread *t)
{
	/* Seqcst: pairs with the handler's store of BUSY and its check whether the source runs. T
	 * itself, with its signals blocked, is in no handler. */
	while (cp_load_seqcst(&cp_cpu_of(t)->perf.busy))
		cp_sys_yield();
	cp_perf_event_close(&cp_cpu_of(t)->perf);
}

bool cp_cpu_perf_has(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_cpu_of(t)->perf.pages) != NULL;
}
