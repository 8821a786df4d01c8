/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that may be at a safe place, as /proc shows them while they run; see attach.h. */
#include "attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/report.h"

/* A wait with a time limit that began longer ago isn't begun again: it would last too long. */
#define FRESH_SECONDS 0.004
/* A thread that waits where it isn't safe is not stopped again for so long. */
#define AGAIN_SECONDS 2.0
/* The same for threads that run, which may be about to fork. */
#define ROUNDS_FOR_SLEEPERS 10u

/* System calls that the kernel begins again after a stop, so that the program doesn't see it. Those
 * with EINTR aren't, and we do it. */
static const struct ct_hunt_wait waits[] = {
	{ SYS_read, .socket = true, .io = true },
	{ SYS_poll, .io = true, .timed = true },
	{ SYS_select, .io = true },
	{ SYS_pselect6, .io = true },
	{ SYS_ppoll, .io = true },
	{ SYS_epoll_wait, .io = true, .eintr = true },
	{ SYS_epoll_pwait, .io = true, .eintr = true },
	{ SYS_recvfrom, .socket = true, .io = true },
	{ SYS_recvmsg, .socket = true, .io = true },
	{ SYS_accept, .socket = true, .io = true },
	{ SYS_accept4, .socket = true, .io = true },
	{ SYS_wait4, .io = true },
	{ SYS_waitid, .io = true },
	{ SYS_pause, .io = true },
	{ SYS_rt_sigsuspend, .io = true },
	{ SYS_nanosleep, .timed = true },
	{ SYS_clock_nanosleep, .timed = true },
	{ SYS_futex, .timed = true },
	{ SYS_restart_syscall, .io = false },
};

/* libc's functions that make these calls, and hold no lock and no list of libc's; those of stdio
 * hold a file's lock in read, which neither a new thread nor the loader takes. Not here, on
 * purpose: exit, getaddrinfo, system and all of malloc and the loader. */
/* clang-format off */
static const char *const functions[] = {
	"read", "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "recv", "recvfrom",
	"recvmsg", "accept", "accept4", "wait", "wait3", "wait4", "waitpid", "waitid", "pause",
	"sigsuspend", "nanosleep", "clock_nanosleep", "usleep", "sleep", "sem_wait", "sem_timedwait",
	"sem_clockwait", "syscall", "pthread_cond_wait", "pthread_cond_timedwait",
	"pthread_cond_clockwait", "pthread_join", "cnd_wait", "cnd_timedwait", "thrd_sleep",
	"thrd_join", "__poll", "__read", "__select",
}, *const stdio_functions[] = {
	"fgets", "__fgets_chk", "fgets_unlocked", "fread", "__fread_chk", "fread_unlocked", "fgetc",
	"getc", "_IO_getc", "getchar", "getc_unlocked", "getline", "getdelim", "__getdelim", "__uflow",
	"__underflow", "_IO_default_uflow", "scanf", "fscanf", "__isoc99_scanf", "__isoc99_fscanf",
};
/* clang-format on */

const struct ct_hunt_wait *ct_hunt_wait(long number)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (waits[i].number == number)
			return &waits[i];
	return NULL;
}

static void allow(struct ct_hunt *h, uint64_t begin, bool stdio)
{
	*CT_PUSH(h->allowed, h->allowed_count, h->allowed_room) =
		(struct ct_hunt_function){ begin, stdio };
}

/* Some functions end in a jump to one without a name, which does the waiting: pthread_join,
 * sem_wait. Returns where the function that ends at END jumps to; 0: nowhere. */
static uint64_t jump_of(struct ct_hunt *h, uint64_t end)
{
	unsigned char code[5];
	int32_t far;

	if (!ct_space_read_fixed(h->s, end - sizeof(code), code, sizeof(code)))
		return 0;
	memcpy(&far, code + 1, sizeof(far));
	if (code[0] == 0xe9)
		return end + (uint64_t)(int64_t)far;
	return code[3] == 0xeb ? end + (uint64_t)(int64_t)(int8_t)code[4] : 0;
}

static void note(struct ct_hunt *h, const char *const *names, size_t count, bool stdio)
{
	const struct ct_space_module *libc = &h->s->modules[h->s->libc];
	uint64_t at, size;

	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; (at = ct_space_definition(h->s, libc, names[i], k, &size));
		     k++) {
			allow(h, at, stdio);
			allow(h, stdio ? 0 : jump_of(h, at + size), stdio);
		}
}

void ct_hunt_note_functions(struct ct_hunt *h)
{
	h->start_main = ct_space_symbol(h->s, &h->s->modules[h->s->libc], "__libc_start_main");
	note(h, functions, sizeof(functions) / sizeof(*functions), false);
	note(h, stdio_functions, sizeof(stdio_functions) / sizeof(*stdio_functions), true);
}

bool ct_hunt_allows(const struct ct_hunt *h, uint64_t begin, const struct ct_hunt_wait *w)
{
	for (size_t i = 0; i < h->allowed_count; i++)
		if (h->allowed[i].begin == begin && (!h->allowed[i].stdio || w->number == SYS_read))
			return true;
	return false;
}

struct ct_hunt_seen *ct_hunt_seen(struct ct_hunt *h, int tid)
{
	struct ct_hunt_seen *t;

	for (size_t i = 0; i < h->seen_count; i++)
		if (h->seen[i].tid == tid)
			return &h->seen[i];
	t = CT_PUSH(h->seen, h->seen_count, h->seen_room);
	*t = (struct ct_hunt_seen){ .tid = tid };
	return t;
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0;

	for (; *text; text++)
		hash = ct_hash(hash, (unsigned char)*text);
	return hash | 1;
}

/* Could the system call on descriptor FD fail after a stop, because the socket has a time limit? */
static bool has_time_limit(int pid, int fd)
{
	int copy = ct_proc_descriptor(pid, fd);
	struct timeval limit = { 0, 0 };
	socklen_t size = sizeof(limit);
	bool has;

	if (copy < 0)
		return true;
	has = !getsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &limit, &size)
		      ? limit.tv_sec || limit.tv_usec
		      : errno != ENOTSOCK;
	close(copy);
	return has;
}

/* Has thread T, which is in an epoll_wait with a time limit, begun it just now? */
static bool is_fresh(struct ct_hunt *h, struct ct_hunt_seen *t)
{
	long switches = ct_proc_number(t->tid, "voluntary_ctxt_switches", 10);
	double now = ct_now();
	bool fresh = t->at > 0 && switches != t->switches && now - t->at < FRESH_SECONDS;

	t->switches = switches;
	t->at = now;
	return fresh;
}

/* For a thread that is traced, the kernel keeps SIGCHLD even if it is ignored, and wakes another
 * thread for it, whose epoll_wait ends by EINTR then. So a thread that has children is left alone,
 * unless it is the only thread. */
bool ct_hunt_is_parent(const struct ct_hunt *h, int tid)
{
	char text[16];

	return h->threads > 1 && *ct_proc_read(h->s->pid, tid, "children", text, sizeof(text));
}

/* Has thread T run since it was last looked at? One that was only woken seems to run, too, but is
 * still in its system call, which would end with EINTR or last for its time once more. */
static bool has_run(const struct ct_hunt *h, struct ct_hunt_seen *t)
{
	char text[64];
	uint64_t before = t->ran;

	if (!*ct_proc_read(h->s->pid, t->tid, "schedstat", text, sizeof(text)))
		return true;
	t->ran = strtoull(text, NULL, 10);
	return before && t->ran != before;
}

/* Looks at thread T while it runs: may it be at a safe place? */
bool ct_hunt_may_be_safe(struct ct_hunt *h, struct ct_hunt_seen *t, uint64_t *where)
{
	char line[256];
	long number;
	uint64_t a[6];
	const struct ct_hunt_wait *w;
	bool ran;

	*where = 0;
	if (ct_hunt_is_parent(h, t->tid))
		return false;
	ct_proc_read(h->s->pid, t->tid, "syscall", line, sizeof(line));
	ran = has_run(h, t);
	if (ct_starts(line, "running"))
		return ran && (h->threads == 1 || h->round >= ROUNDS_FOR_SLEEPERS);
	if (sscanf(line, "%ld %lx %lx %lx %lx", &number, &a[0], &a[1], &a[2], &a[3]) != 5)
		return false;
	w = ct_hunt_wait(number);
	*where = hash_of(line);
	if (!w || (t->where == *where && ct_now() - t->failed < AGAIN_SECONDS) ||
	    (h->s->program_allocates && !w->io))
		return false;
	/* If a filter forbids restart_syscall, the wait begins again: so rather before that is
	 * known. */
	if (w->timed && h->filtered && !h->judged && h->round < ROUNDS_FOR_SLEEPERS)
		return false;
	if (w->eintr && (int)a[3] >= 0) {
		bool fresh = is_fresh(h, t);

		h->stale = h->stale || !fresh;
		return fresh;
	}
	return !w->socket || !has_time_limit(h->s->pid, (int)a[0]);
}
