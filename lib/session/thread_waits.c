/* SPDX-License-Identifier: BSD-3-Clause */
/* What a thread waits for; see session.h. */
#include "session/session.h"

#include <sys/select.h>
#include <sys/wait.h>

#include "base/text.h"
#include "modes/io/signal/io_signal.h"
#include "modes/lock/lock.h"

/* Offsets of the futex words in libc's locks. A read-write lock and a barrier have several. */
#define RWLOCK_PHASE_WORD 8
#define RWLOCK_WRITERS_WORD 12
#define BARRIER_ROUND_WORD 4
#define ODD_WORD 4 /* offset of a word that isn't the first: locks are aligned to 8 bytes */

/* Number of descriptors of a select that are counted; each set is copied. */
#define SELECT_MAX 4096u

static int futex_command(const struct cp_wall_call *call)
{
	return (int)call->args[1] & FUTEX_CMD_MASK;
}

static bool waits_for_futex(const struct cp_thread_look *t)
{
	return t->doing == CP_WALL_WAITS && t->call.number == SYS_futex;
}

/* A condition's wait ends with a wait for its mutex, which is of another kind. Where libc has no
 * symbols for its internal functions, only the kind tells. */
static enum cp_wall_futex futex_of(const struct cp_thread_look *t)
{
	bool waits_plainly = futex_command(&t->call) == FUTEX_WAIT;

	return t->futex == CP_WALL_FUTEX_CONDITION && waits_plainly ? CP_WALL_FUTEX_MUTEX
								    : t->futex;
}

/* Return the address of the lock to which the call's word belongs. */
static uint64_t lock_of(const struct cp_thread_look *t)
{
	uint64_t word = t->call.args[0];

	switch (futex_of(t)) {
	case CP_WALL_FUTEX_THREAD: return 0;
	case CP_WALL_FUTEX_RWLOCK:
		return word - (word & ODD_WORD ? RWLOCK_WRITERS_WORD : RWLOCK_PHASE_WORD);
	case CP_WALL_FUTEX_BARRIER: return word - (word & ODD_WORD ? BARRIER_ROUND_WORD : 0);
	default: return word;
	}
}

static struct cp_lock_owner owner_of(const struct cp_thread_look *t)
{
	switch (futex_of(t)) {
	case CP_WALL_FUTEX_MUTEX: return cp_lock_owner_of_mutex(lock_of(t));
	case CP_WALL_FUTEX_RWLOCK: return cp_lock_owner_of_rwlock(lock_of(t));
	default: return (struct cp_lock_owner){ 0, 0 };
	}
}

/* The word of a join is the other thread's id in libc's record of it, until it has ended. */
static int joined_by(const struct cp_thread_look *t)
{
	int tid = 0;

	if (futex_of(t) == CP_WALL_FUTEX_THREAD)
		cp_sys_peek(&tid, t->call.args[0], sizeof(tid));
	return tid;
}

int cp_thread_waits_for(const struct cp_thread_look *t)
{
	int joined = waits_for_futex(t) ? joined_by(t) : 0;

	if (!waits_for_futex(t))
		return 0;
	return joined ? joined : owner_of(t).tid;
}

bool cp_thread_waits_still(const struct cp_thread_look *t)
{
	return t->doing == CP_WALL_WAITS && cp_wall_stack_clock_of(t->tid) == t->clock;
}

static void find_lock(struct cp_thread_look *t)
{
	static const char *const kinds[] = {
		[CP_WALL_FUTEX_OTHER] = "futex",	 [CP_WALL_FUTEX_MUTEX] = "mutex",
		[CP_WALL_FUTEX_RWLOCK] = "rwlock",	 [CP_WALL_FUTEX_LIBC] = "libc",
		[CP_WALL_FUTEX_CONDITION] = "condition", [CP_WALL_FUTEX_SEMAPHORE] = "semaphore",
		[CP_WALL_FUTEX_BARRIER] = "barrier",	 [CP_WALL_FUTEX_THREAD] = NULL,
	};
	struct cp_thread_wait *w = &t->wait;
	struct cp_lock_owner owner = owner_of(t);
	int joined = joined_by(t);

	w->cause = cp_wall_cause_futex_text(futex_of(t));
	w->lock = lock_of(t);
	w->lock_kind = kinds[futex_of(t)];
	w->limited = futex_command(&t->call) != FUTEX_WAKE && t->call.args[3] != 0;
	/* The words are true if the thread has waited all the time. */
	if (!cp_thread_waits_still(t))
		return;
	w->holder = owner.tid;
	w->readers = owner.readers;
	w->joined = joined;
}

/* Read the name of process PID. Returns NULL if it is gone. */
static const char *name_of(int pid, struct cp_arena *texts)
{
	char path[64], name[CP_THREAD_NAME];
	long got;
	int fd;

	cp_text_format(path, sizeof(path), "/proc/%d/comm", pid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return NULL;
	got = cp_sys_read(fd, name, sizeof(name));
	cp_sys_close(fd);
	if (got > 0 && name[got - 1] == '\n')
		got--;
	return got > 0 ? cp_arena_text(texts, name, (size_t)got) : NULL;
}

static void find_child(struct cp_thread_look *t, struct cp_arena *texts)
{
	const uint64_t *args = t->call.args;
	int pid = 0;

	if (t->call.number == SYS_wait4)
		pid = (int)args[0];
	else if (t->call.number == SYS_waitid && args[0] == P_PID)
		pid = (int)args[1];
	/* Other values are process groups, or any child. */
	if (pid <= 0)
		return;
	t->wait.child = pid;
	t->wait.child_name = name_of(pid, texts);
}

/* Count the descriptors in the sets of a select. *LAST gets the highest one. */
static unsigned count_selected(const struct cp_wall_call *call, int *last)
{
	uint64_t limit = call->args[0] < SELECT_MAX ? call->args[0] : SELECT_MAX;
	size_t words = (limit + 63) / 64;
	uint64_t all[SELECT_MAX / 64] = { 0 }, set[SELECT_MAX / 64];
	unsigned count = 0;

	for (int i = 1; i <= 3; i++) {
		if (!call->args[i] || cp_sys_peek(set, call->args[i], words * 8) < 0)
			continue;
		for (size_t k = 0; k < words; k++)
			all[k] |= set[k];
	}
	for (uint64_t fd = 0; fd < limit; fd++) {
		if (!(all[fd / 64] >> fd % 64 & 1))
			continue;
		count++;
		*last = (int)fd;
	}
	return count;
}

static bool is_poll(int64_t number)
{
#ifdef SYS_poll
	if (number == SYS_poll)
		return true;
#endif
	return number == SYS_ppoll;
}

static bool is_select(int64_t number)
{
#ifdef SYS_select
	if (number == SYS_select)
		return true;
#endif
	return number == SYS_pselect6;
}

/* Set how many descriptors a poll or select waits for. Returns the descriptor if there is only one,
 * else -1. */
static int count_polled(struct cp_thread_look *t)
{
	const struct cp_wall_call *call = &t->call;
	struct pollfd one = { .fd = -1 };
	int last = -1;

	if (is_select(call->number)) {
		t->wait.descriptors = count_selected(call, &last);
	} else if (is_poll(call->number)) {
		t->wait.descriptors = (unsigned)call->args[1];
		if (call->args[1] == 1 && cp_sys_peek(&one, call->args[0], sizeof(one)) >= 0)
			last = one.fd;
	}
	return t->wait.descriptors == 1 ? last : -1;
}

static void find_polled(struct cp_thread_look *t)
{
	int fd = count_polled(t);

	if (fd < 0)
		return;
	t->wait.fd = fd;
	t->wait.kind = cp_wall_cause_kind_text(
		CP_WALL_WAIT(0, cp_wall_cause_kind(t->tid, (uint64_t)fd), -1));
}

/* Return the socket at PATH in this task's own table of descriptors, where it must be closed soon;
 * or a negative errno. A filter of system calls may kill the process for these calls. The call in
 * which the thread waits keeps the socket open, too. The thread may have another table than the
 * process, so the two sockets are compared. */
static int borrow(const char *path)
{
	struct cp_filestat theirs, own;
	const char *number = strrchr(path, '/') + 1;
	uint64_t n = 0;
	int process, fd;

	if (cp_sys_is_filtered())
		return -1 /* EPERM */;
	process = (int)cp_sys2(SYS_pidfd_open, cp_sys_getpid(), 0);
	if (process < 0)
		return process;
	cp_text_parse_u64(&number, 10, &n);
	fd = (int)cp_sys3(SYS_pidfd_getfd, process, (long)n, 0);
	cp_sys_close(process);
	if (fd < 0)
		return fd;
	if (cp_filestat_read(AT_FDCWD, path, 0, false, &theirs) ||
	    cp_filestat_read(fd, "", AT_EMPTY_PATH, false, &own) || theirs.inode != own.inode) {
		cp_sys_close(fd);
		return -9 /* EBADF */;
	}
	return fd;
}

static bool find_peer(char *to, const char *path, bool last)
{
	int fd = borrow(path);
	bool found;

	if (fd < 0)
		return false;
	found = cp_io_target_peer(to, fd, last);
	cp_sys_close(fd);
	return found;
}

static bool has_path(const char *kind)
{
	return !strcmp(kind, "file") || !strcmp(kind, "tty") || !strcmp(kind, "device");
}

static void find_target(struct cp_thread_look *t, int allowed, struct cp_arena *texts)
{
	struct cp_thread_wait *w = &t->wait;
	char path[64], text[CP_IO_TARGET_TEXT];
	bool last = allowed == CP_IO_TARGET_LAST;
	const char *target = text;
	long n;

	if (allowed == CP_IO_TARGET_NONE || w->fd < 0 || !w->kind)
		return;
	cp_text_format(path, sizeof(path), "/proc/self/task/%d/fd/%d", t->tid, w->fd);
	if (has_path(w->kind)) {
		n = cp_sys4(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text) - 1);
		if (n <= 0)
			return;
		text[n] = '\0';
		target = last ? cp_io_target_last(text) : text;
	} else if ((strcmp(w->kind, "tcp") != 0 && strcmp(w->kind, "udp") != 0) ||
		   !find_peer(text, path, last)) {
		return;
	}
	w->target = cp_arena_text(texts, target, strlen(target));
}

void cp_thread_waits_find(struct cp_thread_look *t, int allowed, struct cp_arena *texts)
{
	struct cp_thread_wait *w = &t->wait;
	uint32_t wait;

	*w = (struct cp_thread_wait){ .fd = -1 };
	if (t->doing != CP_WALL_WAITS || t->call.number < 0)
		return;
	if (waits_for_futex(t)) {
		find_lock(t);
		return;
	}
	wait = cp_wall_cause_now(&t->call, t->tid, &w->fd);
	w->cause = cp_wall_cause_text(wait, NULL, NULL, NULL);
	w->kind = cp_wall_cause_kind_text(wait);
	find_child(t, texts);
	find_polled(t);
	find_target(t, allowed, texts);
}
