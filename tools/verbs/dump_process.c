/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads from /proc how a process is profiled; see dump_process.h. */
#include "verbs/dump_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/control.h"
#include "core/memory.h"

#define FILE_MAX ((size_t)16 << 20)
/* Older systems' headers lack it; the number is the same on every architecture. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* This value is sent with the signal. Its last byte is the number of the mode to dump, or 0xff for
 * all modes. lib/host/fatal.h has the same value. A program that meanwhile uses the signal
 * itself is not ended by it. A library that doesn't know the value dumps all modes. */
#define REQUEST 0x63707200u

bool ct_dump_process_is_mode(const char *mode)
{
	return ct_control_modes_find(mode) >= 0;
}

/* Returns /proc/PID/NAME as a text of *SIZE bytes, or NULL with errno set. */
static char *read_proc(int pid, const char *name, size_t *size)
{
	char *path = ct_memory_printf("/proc/%d/%s", pid, name), *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	size_t used = 0, room = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && used < FILE_MAX) {
		text = ct_memory_grow(text, &room, used + 65537, 1);
		n = read(fd, text + used, 65536);
		if (n > 0)
			used += (size_t)n;
	}
	saved = errno;
	if (fd >= 0)
		close(fd);
	free(path);
	if (n < 0) {
		free(text);
		text = NULL;
	} else {
		text[used] = '\0';
	}
	*size = used;
	errno = saved;
	return text;
}

/* Returns the value of NAME in ENVIRONMENT, whose entries end with NUL; NULL: not set, or empty. */
static const char *value_of(const char *environment, size_t size, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = environment; s < environment + size; s += strlen(s) + 1)
		if (!strncmp(s, name, n) && s[n] == '=' && s[n + 1])
			return s + n + 1;
	return NULL;
}

/* Like sigabbrev_np, which libc has since 2.32. Returns NULL for a signal without a name. */
static const char *signal_name(int sig)
{
	static const char *const names[] = { "HUP",  "INT",    "QUIT", "ILL",	 "TRAP", "ABRT",
					     "BUS",  "FPE",    "KILL", "USR1",	 "SEGV", "USR2",
					     "PIPE", "ALRM",   "TERM", "STKFLT", "CHLD", "CONT",
					     "STOP", "TSTP",   "TTIN", "TTOU",	 "URG",	 "XCPU",
					     "XFSZ", "VTALRM", "PROF", "WINCH",	 "POLL", "PWR",
					     "SYS" };
	unsigned i = (unsigned)sig - 1;

	return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

/* Reads a signal's name ("USR2", "SIGUSR2") or number, as CPROF_SIGNAL takes it. Returns 0 for
 * "none", -1 if TEXT is no signal. */
static int signal_of(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end != text && !*end)
		return n >= 0 && n <= 64 ? (int)n : -1;
	if (!strcasecmp(text, "none") || !strcasecmp(text, "off"))
		return 0;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (int sig = 1; sig < 32; sig++) {
		const char *name = signal_name(sig);

		if (name && !strcasecmp(name, text))
			return sig;
	}
	if (!strncasecmp(text, "RTMIN+", 6))
		return SIGRTMIN + atoi(text + 6);
	return !strcasecmp(text, "RTMIN") ? SIGRTMIN : -1;
}

/* Returns the bits of LINE ("SigCgt:") in /proc/PID/status. */
static uint64_t signal_set(const char *status, const char *line)
{
	const char *at = strstr(status, line);

	return at ? strtoull(at + strlen(line), NULL, 16) : 0;
}

/* "Uid:" has the real, effective, saved and file system user. (uid_t)-1 means no user. */
static uid_t file_user(const char *status)
{
	const char *at = strstr(status, "\nUid:");
	unsigned ids[4];

	if (!at || sscanf(at + 5, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return (uid_t)-1;
	return ids[3];
}

/* ---- names of dumps ---- */

/* Returns the pattern of the names that the library makes from TEMPLATE: "*" for the parts that it
 * fills in, the number where it belongs. */
static char *pattern_of(const char *name, int pid)
{
	char *to = ct_memory_alloc(strlen(name) * 12 + 64), *t = to;
	const char *dot = strrchr(name, '.');
	bool numbered = strstr(name, "%n") != NULL;
	size_t n = strlen(name);

	if (n > 6 && !strcmp(name + n - 6, ".pb.gz"))
		dot = name + n - 6;
	else if (n > 9 && !strcmp(name + n - 9, ".pprof.gz"))
		dot = name + n - 9;
	if (!dot || dot == name)
		dot = name + n;
	for (const char *s = name;; s++) {
		if (s == dot && !numbered)
			t += sprintf(t, ".[0-9][0-9][0-9][0-9]");
		if (!*s)
			break;
		if (*s == '%' && s[1] == 'p')
			t += sprintf(t, "%d", pid);
		else if (*s == '%' && s[1] == '%')
			*t++ = '%';
		else if (*s == '%' && s[1] && strchr("etnh", s[1]))
			*t++ = '*';
		else if (strchr("*?[\\", *s))
			t += sprintf(t, "\\%c", *s);
		else
			*t++ = *s;
		s += *s == '%' && s[1] && strchr("petnh%", s[1]);
	}
	strcpy(t, "*");
	return to;
}

/* Returns the place at which this process sees the DIRECTORY of that process. */
static char *seen_from(int pid, const char *directory)
{
	char *root = ct_memory_printf("/proc/%d/root", pid);
	struct stat theirs, ours;
	char *path;

	if (!stat(root, &theirs) && !stat("/", &ours) &&
	    (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino))
		path = ct_memory_printf("%s%s", root, directory);
	else
		path = ct_memory_strdup(directory);
	free(root);
	return path;
}

/* Opens DIRECTORY as the process sees it: links below another root directory don't lead out of it.
 * The descriptor stays open, so a directory that is put in its place later is not used. */
static int open_directory(int pid, const char *directory)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT };
	char *root = ct_memory_printf("/proc/%d/root", pid), *path = seen_from(pid, directory);
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (top >= 0)
		fd = (int)syscall(SYS_openat2, top, directory, &how, sizeof(how));
	/* For kernels before 5.6. */
	if (top < 0 || (fd < 0 && errno == ENOSYS))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top >= 0)
		close(top);
	free(root);
	free(path);
	return fd;
}

static char *working_directory(int pid)
{
	char *link = ct_memory_printf("/proc/%d/cwd", pid), to[4096];
	ssize_t n = readlink(link, to, sizeof(to) - 1);

	free(link);
	to[n > 0 ? n : 0] = '\0';
	return ct_memory_strdup(to);
}

/* A process of a parallel job has its rank in the name. */
static char *with_rank(const char *environment, size_t size, const char *template)
{
	static const char *const variables[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK",
						 "MV2_COMM_WORLD_RANK", "SLURM_PROCID" };

	for (unsigned i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *rank = value_of(environment, size, variables[i]);

		if (rank && !strstr(template, "%p"))
			return ct_memory_printf("%s.rank-%s", template, rank);
	}
	return ct_memory_strdup(template);
}

static void add_place(struct ct_dump_process *d, const char *mode, const char *template)
{
	const char *slash = strrchr(template, '/');
	struct ct_dump_place *p = &d->places[d->count++];
	char *base = *template == '/' ? ct_memory_strdup("") : working_directory(d->pid);
	char *directory = ct_memory_printf("%s%s%.*s", base, *base && slash ? "/" : "",
					   slash ? (int)(slash - template) : 0, template);

	p->mode = mode;
	p->fd = open_directory(d->pid, *directory ? directory : "/");
	p->directory = seen_from(d->pid, *directory ? directory : "/");
	p->pattern = pattern_of(slash ? slash + 1 : template, d->pid);
	free(directory);
	free(base);
}

/* ---- checks before the signal ---- */

static char *cannot_read(int pid)
{
	return errno == ENOENT || errno == ESRCH
		       ? ct_memory_printf("there is no process %d", pid)
		       : ct_memory_printf("process %d can't be examined: %s", pid, strerror(errno));
}

static char *check_library(int pid)
{
	size_t size;
	char *maps = read_proc(pid, "maps", &size);
	bool there = maps && strstr(maps, "/libcprof.so");

	free(maps);
	if (!maps)
		return cannot_read(pid);
	return there ? NULL
		     : ct_memory_printf("process %d does not run under libcprof: start it with "
					"\"cprof run\", or with LD_PRELOAD",
					pid);
}

static void see_signal(const struct ct_controlled *p, const struct cp_control_message *status,
		       void *arg)
{
	char *text = ct_control_value(status, "dump_signal_taken");

	(void)p;
	*(bool *)arg = text && !strcmp(text, "1");
	free(text);
}

/* The handler may be the program's, for which the signal means something else: LLVM's ends the
 * program, nginx's starts a new one. A process whose control socket is off doesn't tell. */
static char *check_owner(const struct ct_dump_process *d)
{
	bool taken = false;

	free(ct_control_one(d->pid, see_signal, &taken));
	if (!taken)
		return NULL;
	return ct_memory_printf("process %d handles signal %d (%s) itself, which would ask for the "
				"dump: start it with another one, as CPROF_SIGNAL=PWR",
				d->pid, d->signal, signal_name(d->signal) ?: "real-time");
}

static char *check_signal(struct ct_dump_process *d)
{
	size_t size;
	char *status = read_proc(d->pid, "status", &size), *why = NULL;
	uint64_t bit = d->signal > 0 ? UINT64_C(1) << (d->signal - 1) : 0;

	if (!status)
		return cannot_read(d->pid);
	d->user = file_user(status);
	if (!d->signal)
		why = ct_memory_printf("process %d was started with CPROF_SIGNAL=none", d->pid);
	else if (!(signal_set(status, "\nSigCgt:") & bit))
		why = ct_memory_printf(
			"process %d doesn't handle signal %d (%s), which would end it: no "
			"profile is being made there",
			d->pid, d->signal, signal_name(d->signal) ?: "real-time");
	free(status);
	return why ? why : check_owner(d);
}

/* Whether ENVIRONMENT is none: the program has written its title over it (setproctitle). An empty
 * one is one. */
static bool is_overwritten(const char *environment, size_t size)
{
	const char *equals = strchr(environment, '=');

	if (!size)
		return false;
	return !equals || equals == environment ||
	       strcspn(environment, " /:") < (size_t)(equals - environment);
}

/* Adds the places that D's process tells of, with the paths of its files, and its signal. For
 * ct_control_one. */
static void add_told(const struct ct_controlled *p, const struct cp_control_message *status,
		     void *arg)
{
	struct ct_dump_process *d = arg;
	char *signal = ct_control_value(status, "dump_signal");

	if (signal)
		d->signal = atoi(signal);
	free(signal);
	for (unsigned m = 0; m < CT_MODES; m++) {
		char *key = ct_memory_printf("%s.path", ct_control_modes[m].name);
		char *path = ct_control_value(status, key);

		if (path && (d->only < 0 || d->only == (int)m))
			add_place(d, ct_control_modes[m].name, path);
		free(path);
		free(key);
	}
}

/* Asks D's process by its control socket where its files are. */
static char *ask_places(struct ct_dump_process *d)
{
	char *why = ct_control_one(d->pid, add_told, d), *text = NULL;

	/* Without a handler the signal would end it. */
	if (why)
		text = check_signal(d);
	if (why && !text)
		text = ct_memory_printf(
			"process %d has written over its environment, which tells where its "
			"profiles are, and its control socket gives no answer (%s); \"kill -USR2 "
			"%d\" dumps, unless CPROF_SIGNAL is set",
			d->pid, why, d->pid);
	free(why);
	return text;
}

char *ct_dump_process_open(struct ct_dump_process *d, int pid, const char *mode)
{
	size_t size;
	char *environment, *why;
	const char *text;

	*d = (struct ct_dump_process){ .pid = pid, .signal = SIGUSR2, .only = -1 };
	d->process = (int)syscall(SYS_pidfd_open, pid, 0);
	why = check_library(pid);
	if (why)
		return why;
	environment = read_proc(pid, "environ", &size);
	if (!environment)
		return cannot_read(pid);
	text = value_of(environment, size, "CPROF_SIGNAL");
	if (text && signal_of(text) >= 0)
		d->signal = signal_of(text);
	text = value_of(environment, size, "CPUPROFILESIGNAL");
	d->toggle = text ? ct_memory_strdup(text) : NULL;
	for (unsigned m = 0; m < CT_MODES; m++) {
		text = value_of(environment, size, ct_control_modes[m].path);
		if (mode && !strcmp(mode, ct_control_modes[m].name))
			d->only = (int)m;
		if (text && (!mode || d->only == (int)m)) {
			char *template = with_rank(environment, size, text);

			add_place(d, ct_control_modes[m].name, template);
			free(template);
		}
	}
	if (!d->count && is_overwritten(environment, size))
		why = ask_places(d);
	free(environment);
	if (why)
		return why;
	if (!d->count)
		return ct_memory_printf("process %d was not started with a%s %s%sprofile on", pid,
					mode && strchr("aeio", *mode) ? "n" : "", mode ? mode : "",
					mode ? " " : "");
	return check_signal(d);
}

int ct_dump_process_signal(const struct ct_dump_process *d, int signal)
{
	siginfo_t request = { .si_signo = signal, .si_code = SI_QUEUE };
	siginfo_t *info = signal ? &request : NULL;

	request.si_pid = getpid();
	request.si_uid = getuid();
	request.si_value.sival_int = (int)(REQUEST | ((unsigned)d->only & 0xff));
	if (d->process >= 0)
		return (int)syscall(SYS_pidfd_send_signal, d->process, signal, info, 0);
	return info ? (int)syscall(SYS_rt_sigqueueinfo, d->pid, signal, info)
		    : kill(d->pid, signal);
}

void ct_dump_process_close(struct ct_dump_process *d)
{
	if (d->process >= 0)
		close(d->process);
	d->process = -1;
	free(d->toggle);
	d->toggle = NULL;
	for (unsigned i = 0; i < d->count; i++) {
		if (d->places[i].fd >= 0)
			close(d->places[i].fd);
		free(d->places[i].directory);
		free(d->places[i].pattern);
	}
	d->count = 0;
}
