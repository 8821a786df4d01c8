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
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "base/text.h"
#include "symbols/lines.h"

/* Of Linux, if libc's header isn't asked for GNU's names. */
#define OFD_SETLKW 38

struct search {
	const char *type; /* of the lock that is waited for */
	uint64_t inode;
	int pid;    /* of the process that waits, as the file shows it */
	int holder; /* of the last lock */
	int found;  /* 0: nothing yet; -1: several processes */
};

struct lock {
	bool waits;
	const char *type;
	int pid;
	uint64_t inode;
};

bool cp_file_locks_waits(const struct cp_wall_call *call)
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
	if (l.pid == find->pid && l.inode == find->inode && cp_text_begins(l.type, find->type))
		find->found = !find->found || find->found == find->holder ? find->holder : -1;
	return true;
}

int cp_file_locks_holder(const struct cp_wall_call *call, int tid)
{
	struct search find = { .type = type_of(call), .pid = cp_sys_getpid() };
	struct stat s;
	char path[64];
	int fd;

	cp_text_format(path, sizeof(path), "/proc/self/task/%d/fd/%d", tid, (int)call->args[0]);
	if (cp_sys4(SYS_newfstatat, AT_FDCWD, path, &s, 0) < 0)
		return 0;
	find.inode = (uint64_t)s.st_ino;
	if (!strcmp(find.type, "OFDLCK"))
		find.pid = -1;
	fd = cp_sys_open("/proc/locks", O_RDONLY, 0);
	if (fd < 0)
		return 0;
	cp_lines_read(fd, take, &find);
	cp_sys_close(fd);
	return find.found > 0 ? find.found : 0;
}
