/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc/locks; see file_locks.h.
 *
 * The kernel writes a line for each lock, then a line with an arrow for each that waits for it:
 *
 *     7: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
 *     7: -> FLOCK  ADVISORY  WRITE 4712 08:01:1234 0 EOF
 *
 * The numbers after the type are pid (of a lock that belongs to an open file: -1), device and
 * inode, and the range. The device is not compared: file systems show programs another one. */
#include "session/file_locks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/filestat.h"
#include "base/sys.h"
#include "base/text.h"
#include "symbols/lines.h"

/* Of Linux, if libc's header isn't asked for GNU's names. */
#define OFD_SETLKW 38

/* While the file is read. */
struct search {
	struct cp_file_locks *locks;
	int holder; /* of the last lock */
};

struct lock {
	bool waits;
	const char *type;
	int pid;
	uint64_t inode;
};

static bool waits_for_lock(const struct cp_wall_call *call)
{
	return call->number == SYS_flock ||
	       (call->number == SYS_fcntl &&
		(call->args[1] == F_SETLKW || call->args[1] == OFD_SETLKW));
}

static const char *type_of(const struct cp_wall_call *call)
{
	return call->number == SYS_flock ? "FLOCK" : call->args[1] == F_SETLKW ? "POSIX" : "OFDLCK";
}

static const char *next_word(const char *s)
{
	s += strcspn(s, " ");
	return s + strspn(s, " ");
}

static bool parse(const char *s, struct lock *l)
{
	uint64_t n;

	/* "7:", "->", type, ADVISORY or the like, READ or WRITE, pid */
	s = next_word(s);
	l->waits = cp_text_begins(s, "->");
	if (l->waits)
		s = next_word(s);
	l->type = s;
	s = next_word(next_word(next_word(s)));
	if (cp_text_begins(s, "-1"))
		l->pid = -1;
	else if (!cp_text_parse_u64(&s, 10, &n))
		l->pid = (int)n;
	else
		return false;
	s = strrchr(s, ':');
	return s && s++ && !cp_text_parse_u64(&s, 10, &l->inode);
}

static bool take(void *arg, const char *line, size_t length)
{
	struct search *find = arg;
	struct lock l;

	(void)length;
	if (!parse(line, &l))
		return true;
	if (!l.waits) {
		find->holder = l.pid > 0 ? l.pid : -1;
		return true;
	}
	for (uint32_t i = 0; i < find->locks->count; i++) {
		struct cp_file_lock_wait *w = &find->locks->waits[i];

		if (w->inode && l.pid == w->pid && l.inode == w->inode &&
		    cp_text_begins(l.type, w->type))
			w->holder = !w->holder || w->holder == find->holder ? find->holder : -1;
	}
	return true;
}

static uint64_t inode_of(const struct cp_file_lock_wait *w)
{
	struct cp_filestat s;
	char path[64];

	cp_text_format(path, sizeof(path), "/proc/self/task/%d/fd/%d", w->tid, w->fd);
	return cp_filestat_read(AT_FDCWD, path, 0, false, &s) ? 0 : s.inode;
}

void cp_file_locks_read(struct cp_file_locks *l)
{
	struct search find = { .locks = l };
	int fd;

	for (uint32_t i = 0; i < l->count; i++)
		l->waits[i].inode = inode_of(&l->waits[i]);
	fd = cp_sys_open("/proc/locks", O_RDONLY, 0);
	if (fd >= 0) {
		cp_lines_read(fd, take, &find);
		cp_sys_close(fd);
	}
	l->read = true;
}

static void note(struct cp_file_locks *l, const struct cp_wall_call *call, int tid, uint64_t clock)
{
	const char *type = type_of(call);

	if (l->count == CP_FILE_LOCKS_MAX)
		return;
	l->waits[l->count++] = (struct cp_file_lock_wait){
		.clock = clock,
		.type = type,
		.tid = tid,
		.fd = (int)call->args[0],
		.pid = !strcmp(type, "OFDLCK") ? -1 : cp_sys_getpid(),
	};
}

int cp_file_locks_holder(struct cp_file_locks *l, const struct cp_wall_call *call, int tid,
			 uint64_t clock)
{
	if (!waits_for_lock(call))
		return 0;
	if (!l->read)
		note(l, call, tid, clock);
	for (uint32_t i = 0; l->read && i < l->count; i++) {
		const struct cp_file_lock_wait *w = &l->waits[i];

		if (w->tid == tid && w->clock == clock)
			return w->holder > 0 ? w->holder : 0;
	}
	return 0;
}
