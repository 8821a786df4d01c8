/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks profiled processes over their control sockets; see control.h. */
#include "control/control.h"

#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"
#include "core/read.h"

/* A process may write a large profile, or be stopped for a while. */
#define PATIENCE_MS 10000

/* The paths that were given. A process with a path has the number -1 - (its index here). */
static struct {
	const char **items;
	size_t count, room;
} paths;

int ct_control_process(const char *text)
{
	if (*text == '/') {
		*CT_PUSH(paths.items, paths.count, paths.room) = text;
		return -(int)paths.count;
	}
	return strlen(text) < 10 && !text[strspn(text, "0123456789")] ? atoi(text) : 0;
}

const char *ct_control_name(int pid)
{
	static char names[4][16];
	static unsigned next;
	char *name = names[next++ % 4];

	if (pid < 0)
		return paths.items[-1 - pid];
	snprintf(name, sizeof(names[0]), "%d", pid);
	return name;
}

void ct_control_request(struct cp_control_message *m, enum cp_control_request request)
{
	*m = (struct cp_control_message){ .magic = CP_CONTROL_MAGIC,
					  .version = CP_CONTROL_VERSION,
					  .request = (uint16_t)request };
}

void ct_control_line(struct cp_control_message *m, const char *key, const char *value)
{
	char *line = ct_memory_printf("%s=%s", key, value);
	size_t n;

	for (char *at = line; (at = strchr(at, '\n'));)
		memmove(at, at + 1, strlen(at));
	n = strlen(line);
	if (n < CP_CONTROL_TEXT - m->size) {
		memcpy(m->text + m->size, line, n);
		m->text[m->size + n] = '\n';
		m->size += (uint32_t)n + 1;
	}
	free(line);
}

void ct_control_nanoseconds(struct cp_control_message *m, double seconds)
{
	char *text = ct_memory_printf("%.0f", seconds * 1e9);

	ct_control_line(m, "for_ns", text);
	free(text);
}

void ct_control_names(struct cp_control_message *m, const char *const *names, int count)
{
	char *list = ct_memory_strdup(names[0]), *longer;

	for (int i = 1; i < count; i++, list = longer) {
		longer = ct_memory_printf("%s,%s", list, names[i]);
		free(list);
	}
	ct_control_line(m, "mode", list);
	free(list);
}

/* ---- one process ---- */

/* As ct_control_has_library; -1: unknown, because the process can't be examined. */
static int has_library(int pid)
{
	char *path = ct_memory_printf("/proc/%d/maps", pid), line[4200];
	FILE *f = fopen(path, "re");
	int found = f ? 0 : -1;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libcprof.so") != NULL;
	if (f)
		fclose(f);
	free(path);
	if (found)
		return found;
	path = ct_memory_printf("/proc/%d/exe", pid);
	if (ct_sections_has(path, CT_SECTIONS_LIBCPROF))
		found = 1;
	free(path);
	return found;
}

bool ct_control_has_library(int pid)
{
	return has_library(pid) == 1;
}

bool ct_control_has_ended(int pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool ended = p.fd >= 0 ? poll(&p, 1, 0) == 1 : kill(pid, 0) && errno == ESRCH;

	if (p.fd >= 0)
		close(p.fd);
	return ended;
}

static char *no_socket(int pid)
{
	char *path = ct_memory_printf("/proc/%d", pid);
	struct stat st;
	bool gone = stat(path, &st) != 0;

	free(path);
	if (gone)
		return ct_memory_printf("there is no process %d", pid);
	if (ct_control_has_ended(pid))
		return ct_memory_printf("process %d has ended", pid);
	if (geteuid() && st.st_uid != geteuid())
		return ct_memory_printf(
			"process %d is another user's: ask as that user, or as root", pid);
	switch (has_library(pid)) {
	case 0:
		return ct_memory_printf(
			"process %d does not run under libcprof: \"cprof attach %d\" "
			"loads it; or start it with \"cprof run\", or with LD_PRELOAD",
			pid, pid);
	case 1:
		return ct_memory_printf(
			"process %d has no control socket: one is there while a "
			"mode is on, or from the start with CPROF_CONTROL=on; none "
			"with CPROF_CONTROL=off, nor by itself under a seccomp "
			"filter (containers). If it was detached, \"cprof attach %d\" "
			"opens one",
			pid, pid);
	default:
		return ct_memory_printf("process %d has no control socket to be seen from here",
					pid);
	}
}

static char *no_reply(int pid, int err)
{
	const char *name = ct_control_name(pid);

	switch (err) {
	case -ECONNRESET:
		return ct_memory_printf(
			"process %s is ending, or does not answer this user: ask as its user with "
			"its group, or as root, who alone may ask a process with capabilities",
			name);
	case -EPROTO:
		return ct_memory_printf("process %s has a libcprof of another version: ask with "
					"the cprof of that version",
					name);
	case -ETIMEDOUT:
		return ct_memory_printf("process %s does not answer: it is stopped, or very busy",
					name);
	default: return ct_memory_printf("process %s: no reply: %s", name, strerror(-err));
	}
}

static char *no_path(const char *path, int err)
{
	switch (err) {
	case -ECONNREFUSED:
		return ct_memory_printf("%s: the process has ended, or nobody listens there", path);
	case -EAGAIN: return ct_memory_printf("%s: too many others are asking", path);
	default: return ct_memory_printf("%s: no control socket: %s", path, strerror(-err));
	}
}

/* Connects to process PID. While its queue of connections is full, waits, though not long. Returns
 * the descriptor, or -1 with *WHY. */
static int connect_to(int pid, struct ct_control_end *e, char **why)
{
	long long until = ct_control_talk_now() + CT_CONTROL_GLANCE_MS;
	int fd;

	while ((fd = ct_control_talk_connect(pid, e)) == -EAGAIN && ct_control_talk_now() < until)
		nanosleep(&(struct timespec){ .tv_nsec = CT_CONTROL_RETRY_MS * 1000000L }, NULL);
	*why = NULL;
	if (fd < 0)
		*why = pid < 0	       ? no_path(ct_control_name(pid), fd)
		       : fd == -EAGAIN ? no_reply(pid, -ETIMEDOUT)
				       : no_socket(pid);
	return fd < 0 ? -1 : fd;
}

/* Sends M over FD, waits for the reply, which replaces M, and closes FD. */
static int talk(int fd, struct cp_control_message *m, int passed)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int err = ct_control_talk_send(fd, m, passed);

	if (!err)
		err = poll(&p, 1, PATIENCE_MS) ? ct_control_talk_receive(fd, m) : -ETIMEDOUT;
	close(fd);
	return err;
}

/* As ct_control_ask. Sets *E to the process that has answered. */
static char *ask_process(int pid, struct cp_control_message *m, int passed,
			 struct ct_control_end *e)
{
	const struct cp_control_message request = *m;
	char *why;
	int fd = connect_to(pid, e, &why), err;

	if (fd < 0)
		return why;
	err = talk(fd, m, passed);
	if (err == -ECONNRESET && (fd = ct_control_talk_connect_as_owner(e)) >= 0) {
		*m = request;
		err = talk(fd, m, passed);
	}
	if (err == -ECONNRESET && ct_control_talk_is_elsewhere(e))
		return ct_memory_printf(
			"process %s does not answer: it is in " CT_CONTROL_ELSEWHERE,
			ct_control_name(pid));
	return err ? no_reply(pid, err) : NULL;
}

char *ct_control_ask(int pid, struct cp_control_message *m, int fd)
{
	struct ct_control_end e;

	return ask_process(pid, m, fd, &e);
}

char *ct_control_status(int pid, struct cp_control_message *m)
{
	ct_control_request(m, CP_CONTROL_STATUS);
	return ct_control_ask(pid, m, -1);
}

int ct_control_pid(int pid)
{
	struct ct_control_end e;
	char *why;
	int fd;

	if (pid >= 0)
		return pid;
	fd = connect_to(pid, &e, &why);
	if (fd >= 0)
		close(fd);
	free(why);
	return fd < 0 ? 0 : e.owner.pid;
}

bool ct_control_path_is_left(int pid)
{
	int fd = ct_control_space_connect_path(ct_control_name(pid));

	if (fd >= 0)
		close(fd);
	return fd == -ECONNREFUSED || fd == -ENOENT;
}

void ct_control_raise_descriptors(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most))
		return;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

char *ct_control_one(int pid,
		     void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg)
{
	struct cp_control_message m;
	struct ct_control_end e;
	char *why;

	ct_control_request(&m, CP_CONTROL_STATUS);
	why = ask_process(pid, &m, -1, &e);
	if (!why)
		see(&(struct ct_controlled){ e.owner.pid }, &m, arg);
	return why;
}

/* ---- replies ---- */

char *ct_control_value(const struct cp_control_message *m, const char *key)
{
	const char *at = m->text, *end = m->text + m->size, *line_end;
	size_t n = strlen(key);

	for (; at < end && (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1)
		if ((size_t)(line_end - at) > n && !memcmp(at, key, n) && at[n] == '=')
			return ct_memory_printf("%.*s", (int)(line_end - at - (ptrdiff_t)n - 1),
						at + n + 1);
	return NULL;
}

unsigned long long ct_control_number(const struct cp_control_message *m, const char *key)
{
	char *text = ct_control_value(m, key);
	unsigned long long n = text ? strtoull(text, NULL, 10) : 0;

	free(text);
	return n;
}

unsigned long long ct_control_mode_number(const struct cp_control_message *m, const char *mode,
					  const char *key)
{
	char *name = ct_memory_printf("%s.%s", mode, key);
	unsigned long long n = ct_control_number(m, name);

	free(name);
	return n;
}

const struct ct_control_mode ct_control_modes[CT_MODES] = {
	{ "cpu", "CPUPROFILE", "CPUPROFILE_FREQUENCY", false, { { NULL, NULL, false } } },
	{ "wall", "WALLPROFILE", "WALLPROFILE_FREQUENCY", false, { { NULL, NULL, false } } },
	{ "heap",
	  "HEAPPROFILE",
	  "CPROF_HEAP_INTERVAL",
	  false,
	  { { "peak", "peak", true }, { NULL, NULL, false } } },
	{ "lock",
	  "LOCKPROFILE",
	  "CPROF_LOCK_THRESHOLD",
	  true,
	  { { "holders", "holders", false }, { "wakers", "wakers", false } } },
	{ "io",
	  "IOPROFILE",
	  NULL,
	  true,
	  { { "io_wakers", "wakers", false }, { NULL, NULL, false } } },
	{ "event", "EVENTPROFILE", "CPROF_EVENT", false, { { NULL, NULL, false } } },
};

int ct_control_modes_find(const char *name)
{
	for (int m = 0; m < CT_MODES; m++)
		if (!strcmp(ct_control_modes[m].name, name))
			return m;
	return -1;
}

/* Requests that a process answers by a profile. */

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

static char *unreadable(const char *reason)
{
	return ct_memory_printf("the process's profile can't be read: %s", reason);
}

/* Reads the profile of IN, and closes it. */
static struct ct_profile *read_profile(struct ct_input *in, char **why)
{
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;

	ct_input_limit(in, BYTES_MAX);
	if (ct_read(&p, in, &fault))
		*why = unreadable(fault.text);
	ct_input_close(in);
	return p;
}

struct ct_profile *ct_control_profile_read(int fd, char **why)
{
	const char *reason = refuse_file(fd);

	if (!reason)
		return read_profile(ct_input_descriptor(fd), why);
	*why = unreadable(reason);
	return NULL;
}

/* Sends request M with a file in memory, FD, which the caller closes. Returns as
 * ct_control_profile_ask. */
static int ask(int pid, struct cp_control_message *m, int *fd, char **why)
{
	*fd = memfd_create("cprof", MFD_CLOEXEC);
	*why = *fd < 0 ? ct_memory_printf("no file in memory: %s", strerror(errno))
		       : ct_control_ask(pid, m, *fd);
	return *why ? -EIO : m->result;
}

int ct_control_profile_ask(int pid, struct cp_control_message *m, struct ct_profile **p, char **why)
{
	int fd, err = ask(pid, m, &fd, why);

	if (!err && !(*p = ct_control_profile_read(fd, why)))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Reads the profile in the next BYTES of FD. */
static struct ct_profile *read_part(int fd, size_t bytes, char **why)
{
	struct ct_profile *p = NULL;
	struct stat st;
	char *part;

	if (fstat(fd, &st) || bytes > (size_t)st.st_size) {
		*why = unreadable("it is cut off");
		return NULL;
	}
	part = ct_memory_alloc(bytes);
	if (read(fd, part, bytes) == (ssize_t)bytes)
		p = read_profile(ct_input_memory(part, bytes), why);
	else
		*why = unreadable("it is cut off");
	free(part);
	return p;
}

/* Reads those of NAMES that reply M has, which are in FD. */
static int read_parts(const struct cp_control_message *m, int fd, const char *const *names,
		      int count, struct ct_profile **p, char **why)
{
	const char *reason = refuse_file(fd);
	bool any = false;

	if (reason)
		*why = unreadable(reason);
	for (int i = 0; i < count && !*why; i++) {
		size_t bytes = ct_control_mode_number(m, names[i], "bytes");

		any |= bytes != 0;
		p[i] = bytes ? read_part(fd, bytes, why) : NULL;
	}
	return *why ? -EIO : any ? 0 : -EINVAL;
}

char *ct_control_profile_older(int pid)
{
	return ct_memory_printf(
		"process %s has an older libcprof: ask with the cprof of that version",
		ct_control_name(pid));
}

int ct_control_profile_ask_all(int pid, struct cp_control_message *m, const char *const *names,
			       int count, struct ct_profile **p, char **why)
{
	int fd, err;

	memset(p, 0, (size_t)count * sizeof(*p));
	ct_control_names(m, names, count);
	err = ask(pid, m, &fd, why);
	if (!err)
		err = read_parts(m, fd, names, count, p, why);
	if (err == -EINVAL)
		*why = ct_control_profile_older(pid);
	for (int i = 0; err && i < count; i++) {
		ct_model_free(p[i]);
		p[i] = NULL;
	}
	if (fd >= 0)
		close(fd);
	return *why ? -EIO : err;
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
