/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that a process answers by a profile; see control.h. */
#include "control/control.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/read.h"

/* Far larger than any profile of a process. */
#define BYTES_MAX ((off_t)1 << 30)

/* Another process may have the descriptor, too, and may have made it: only a file in memory can't
 * make us wait. It is not opened again, which would be done with our rights; whoever else has it
 * may change it, and where it is read, at any time. Returns why it can't be read, or NULL. */
static const char *refuse_file(int fd)
{
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return "it is no file in memory";
	if (st.st_size > BYTES_MAX)
		return "it is too large";
	return lseek(fd, 0, SEEK_SET) ? strerror(errno) : NULL;
}

struct ct_profile *ct_control_profile_read(int fd, char **why)
{
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;
	const char *reason = refuse_file(fd);
	struct ct_input *in;

	if (!reason) {
		in = ct_input_descriptor(fd);
		ct_input_limit(in, BYTES_MAX);
		if (ct_read(&p, in, &fault))
			reason = fault.text;
		ct_input_close(in);
	}
	if (reason)
		*why = ct_memory_printf("the process's profile can't be read: %s", reason);
	return p;
}

int ct_control_profile_ask(int pid, struct cp_control_message *m, struct ct_profile **p, char **why)
{
	int fd = memfd_create("cprof", MFD_CLOEXEC), err = 0;

	*why = fd < 0 ? ct_memory_printf("no file in memory: %s", strerror(errno))
		      : ct_control_ask(pid, m, fd);
	if (*why)
		err = -EIO;
	else if (m->result)
		err = m->result;
	else if (!(*p = ct_control_profile_read(fd, why)))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	return err;
}

/* A process in a container uses other paths for its files than we do. */
static bool has_own_root(int pid)
{
	char *path = ct_memory_printf("/proc/%d/root", pid);
	struct stat theirs, ours;
	bool own = !stat(path, &theirs) && !stat("/", &ours) &&
		   (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);

	free(path);
	return own;
}

static void find_files(struct ct_profile *p, int pid)
{
	for (size_t i = 0; i < p->mapping_count; i++) {
		const char *file = ct_text(p, p->mappings[i].file);
		char *path = *file == '/' ? ct_memory_printf("/proc/%d/root%s", pid, file) : NULL;

		if (path && !access(path, R_OK))
			p->mappings[i].file = ct_model_string(p, path);
		free(path);
	}
}

struct ct_profile *ct_control_profile_threads(int pid, char **why)
{
	struct cp_control_message m;
	struct ct_profile *p = NULL;
	int err;

	ct_control_request(&m, CP_CONTROL_THREADS);
	err = ct_control_profile_ask(pid, &m, &p, why);
	if (err && !*why)
		*why = ct_memory_printf("process %s: %s", ct_control_name(pid), strerror(-err));
	pid = ct_control_pid(pid);
	if (!err && pid && has_own_root(pid))
		find_files(p, pid);
	return p;
}
