/* SPDX-License-Identifier: BSD-3-Clause */
/* Reasons why the library can't be loaded into a process, each with what would help; see attach.h.
 */
#include "attach/attach.h"
#include "control/control.h"

#include <errno.h>
#include <gelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *refuse_state(int pid, char state)
{
	static int *tids;
	static size_t room;

	switch (state) {
	case 'Z':
	case 'X':
		return ct_memory_printf(
			ct_proc_threads(pid, &tids, &room) > 1
				? "process %d: its main thread has ended, through which attach "
				  "looks at it, though others go on; start it with \"cprof run\""
				: "process %d has ended",
			pid);
	case 'T':
		return ct_memory_printf("process %d is stopped: \"kill -CONT %d\" lets it go on",
					pid, pid);
	default: return NULL;
	}
}

/* Is it in a control group that is frozen? Its threads would go on in our code only when that ends.
 * They sleep where signals are handled. */
static bool is_frozen(int pid)
{
	char where[64];

	ct_proc_read(pid, pid, "wchan", where, sizeof(where));
	return !strcmp(where, "get_signal") || strstr(where, "freezer") ||
	       strstr(where, "refrigerator");
}

/* A process between vfork and exec runs in the memory of its parent. */
static bool shares_memory(int pid)
{
	long parent = ct_proc_number(pid, "PPid", 10);

	return parent > 0 && !syscall(SYS_kcmp, parent, pid, KCMP_VM, 0, 0);
}

static char *refuse_tracer(int pid, long tracer)
{
	char *name = ct_proc_status((int)tracer, (int)tracer, "Name"),
	     *why = ct_memory_printf("process %d is traced by process %ld (%s): a process has one "
				     "tracer; end that first",
				     pid, tracer, name ? name : "?");

	free(name);
	return why;
}

char *ct_refuse(int pid)
{
	char *state = ct_proc_status(pid, pid, "State"), *threads, *why;
	long group = ct_proc_number(pid, "Tgid", 10), tracer = ct_proc_number(pid, "TracerPid", 10);

	if (!state)
		return ct_memory_printf("there is no process %d", pid);
	why = refuse_state(pid, *state);
	free(state);
	if (why)
		return why;
	if (pid == getpid())
		return ct_memory_printf("process %d is this cprof", pid);
	if (group != pid)
		return ct_memory_printf("%d is a thread: \"cprof attach %ld\" means its process",
					pid, group);
	if (tracer > 0)
		return refuse_tracer(pid, tracer);
	/* Of the kernel's threads, 2 is the first, and the parent of all others. */
	if (ct_proc_number(pid, "VmSize", 10) < 0)
		return ct_memory_printf(pid == 2 || ct_proc_number(pid, "PPid", 10) == 2
						? "process %d is a thread of the kernel"
						: "process %d has ended",
					pid);
	if (is_frozen(pid))
		return ct_memory_printf("process %d is frozen (\"docker pause\", \"systemctl "
					"freeze\"): let it go on first",
					pid);
	why = ct_seccomp_refuse(pid);
	if (why)
		return why;
	threads = ct_proc_status(pid, pid, "x86_Thread_features");
	if (threads && strstr(threads, "shstk"))
		why = ct_memory_printf("process %d has a shadow stack, where no call can be made "
				       "from outside; start it with \"cprof run\"",
				       pid);
	free(threads);
	return why;
}

static long read_number(const char *path)
{
	char text[32] = "";
	FILE *f = fopen(path, "re");
	long n = f && fgets(text, sizeof(text), f) ? strtol(text, NULL, 10) : 0;

	if (f)
		fclose(f);
	return n;
}

char *ct_refuse_access(int pid, int err)
{
	long scope = read_number("/proc/sys/kernel/yama/ptrace_scope"),
	     uid = ct_proc_number(pid, "Uid", 10);
	/* Its folder is the user's in any case. */
	char *path = ct_memory_printf("/proc/%d/maps", pid);
	struct stat st;
	bool dumpable = !stat(path, &st) && (long)st.st_uid == uid;

	free(path);
	if (err == -ENOENT || err == -ESRCH)
		return ct_memory_printf("process %d has ended", pid);
	if (err != -EPERM && err != -EACCES)
		return ct_memory_printf("process %d can't be read: %s", pid, strerror(-err));
	if (scope == 3)
		return ct_memory_printf(
			"process %d: this system allows no attach at all "
			"(kernel.yama.ptrace_scope is 3); start it with \"cprof run\"",
			pid);
	if (geteuid() && uid != (long)geteuid())
		return ct_memory_printf(
			"process %d is another user's: attach as that user, or as root", pid);
	if (geteuid() && !dumpable)
		return ct_memory_printf(
			"process %d protects its memory (a set-user-id program, capabilities, or "
			"PR_SET_DUMPABLE): attach as root",
			pid);
	if (scope > 0)
		return ct_memory_printf(
			"process %d: this system lets only %s attach (kernel.yama.ptrace_scope is "
			"%ld): \"sudo cprof attach %d\", or \"sysctl kernel.yama.ptrace_scope=0\"",
			pid, scope == 1 ? "a parent process and root" : "root", scope, pid);
	if (!geteuid())
		return ct_memory_printf(
			"process %d can't be attached to: the kernel, or a security module, keeps "
			"it from this root, who may be a container's; attach from the host",
			pid);
	return ct_memory_printf(
		"process %d can't be attached to: it has more rights than you "
		"(capabilities, a user namespace), or a security module forbids it; "
		"attach as root",
		pid);
}

/* Returns the newest version of libc that LIBRARY needs and libc M lacks, to be freed; or NULL. */
static char *missing_version(struct ct_space *s, const struct ct_space_module *m,
			     const char *library)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	Elf *elf = NULL;
	Elf_Scn *section = NULL;
	char *missing = NULL;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr h;
		Elf_Data *data;
		GElf_Verneed need;
		int at = 0;

		if (!gelf_getshdr(section, &h) || h.sh_type != SHT_GNU_verneed ||
		    !(data = elf_getdata(section, NULL)))
			continue;
		for (size_t i = 0; i < h.sh_info && gelf_getverneed(data, at, &need); i++) {
			int aux = at + (int)need.vn_aux;
			const char *file = elf_strptr(elf, h.sh_link, need.vn_file);
			GElf_Vernaux v;

			for (size_t j = 0; j < need.vn_cnt && gelf_getvernaux(data, aux, &v); j++) {
				const char *version = elf_strptr(elf, h.sh_link, v.vna_name);

				if (!missing && file && version && !strcmp(file, "libc.so.6") &&
				    !(v.vna_flags & VER_FLG_WEAK) &&
				    !ct_space_symbol(s, m, version))
					missing = ct_memory_strdup(version);
				aux += (int)v.vna_next;
			}
			at += (int)need.vn_next;
		}
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return missing;
}

static char *refuse_kind(const struct ct_space *s)
{
	if (s->narrow)
		return ct_memory_printf("process %d is a 32-bit program, or of another "
					"architecture, and libcprof is for 64 bits",
					s->pid);
	if (s->musl)
		return ct_memory_printf(
			"process %d runs on musl, which attach doesn't know; start it with \"cprof "
			"run\" and the library for musl",
			s->pid);
	if (ct_control_has_library(s->pid))
		return ct_memory_printf(
			"process %d is a static program with libcprof.a: it takes requests while a "
			"mode is on, or if it was started with CPROF_CONTROL=on",
			s->pid);
	return ct_memory_printf(
		"process %d is a static program (as most of Go's): without a loader no library "
		"gets into it; it can be linked with libcprof.a",
		s->pid);
}

char *ct_refuse_space(struct ct_space *s, const char *library)
{
	char *version, *why;

	if (s->narrow || s->libc == CT_SPACE_NONE || s->program == CT_SPACE_NONE) {
		/* Without memory it has ended meanwhile. */
		why = ct_refuse(s->pid);
		return why ? why : refuse_kind(s);
	}
	if (shares_memory(s->pid))
		return ct_memory_printf("process %d is between vfork and exec, in its parent's "
					"memory; try again",
					s->pid);
	if (s->emulated)
		return ct_memory_printf("process %d is run by valgrind, whose own threads can't be "
					"lent; start it without",
					s->pid);
	if (s->sanitized)
		return ct_memory_printf("process %d is built with a sanitizer, which has to know "
					"each thread from its start; build it without",
					s->pid);
	version = missing_version(s, &s->modules[s->libc], library);
	if (!version)
		return NULL;
	/* A version isn't found, either, in memory that is gone. */
	if (!ct_space_read(s, s->modules[s->libc].base, &(char){ 0 }, 1))
		why = ct_memory_printf("process %d has ended, or has called exec", s->pid);
	else
		why = ct_memory_printf(
			"process %d: its libc is older than this libcprof needs (%s); build "
			"libcprof on such a system",
			s->pid, version);
	free(version);
	return why;
}
