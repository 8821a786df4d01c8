/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds threads in /proc, and thread records by thread id; see collect.h. */
#include "collect/collect.h"

#include <errno.h>

#include "base/text.h"

int cp_sweep_each(int (*visit)(int tid, void *context), void *context)
{
	char buffer[4096] __attribute__((aligned(8)));
	int fd = cp_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0), stop = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (!stop && (got = cp_sys3(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < got && !stop;) {
			const char *entry = buffer + at, *name = entry + 19;
			uint16_t length;
			uint64_t tid;

			memcpy(&length, entry + 16, sizeof(length));
			at += length;
			if (!cp_text_parse_u64(&name, 10, &tid) && !*name)
				stop = visit((int)tid, context);
		}
	cp_sys_close(fd);
	return got < 0 ? (int)got : stop;
}

struct sweep {
	const struct cp_sweep_ours *ours;
	uint32_t tasks, records, foreign;
};

static bool is_ours(const struct sweep *s, int tid)
{
	return tid == s->ours->tid[0] || tid == s->ours->tid[1] || tid == s->ours->tid[2];
}

/* Threads that had no record in the previous sweep. A thread counts as foreign only when it is seen
 * for the second time; the first time it may be about to register itself. */
static struct cp_vec strangers = { .size = sizeof(int) }, new_strangers = { .size = sizeof(int) };

static bool seen_before(int tid)
{
	for (size_t i = 0; i < strangers.count; i++)
		if (*CP_VEC_AT(&strangers, int, i) == tid)
			return true;
	return false;
}

static int note_stranger(int tid)
{
	int *slot = cp_vec_add(&new_strangers);

	if (!slot)
		return -ENOMEM;
	*slot = tid;
	return 0;
}

static int count_task(int tid, void *context)
{
	struct sweep *s = context;

	s->tasks += !is_ours(s, tid);
	return 0;
}

/* Tell the modes of T, a thread that registered itself when it first waited for a lock. */
static void begin_registered(struct cp_thread *t)
{
	t->to_begin = false;
	cp_mode_ops_thread_begin(t);
}

/* ---- records by thread id ---- */

static struct cp_index records;

static bool is_live(const struct cp_thread *t, int tid)
{
	return cp_load_relaxed(&t->tid) == tid && cp_load_acquire(&t->state) == CP_THREAD_LIVE;
}

static bool same_tid(uint32_t item, const void *tid, const void *unused)
{
	return is_live(cp_thread_at(item), *(const int *)tid);
}

void cp_sweep_read_tids(void)
{
	cp_index_clear(&records);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		int tid = cp_load_relaxed(&cp_thread_at(i)->tid);

		/* Without memory, look-ups find fewer records. */
		if (is_live(cp_thread_at(i), tid) &&
		    cp_index_add(&records, cp_index_hash(&tid, sizeof(tid)), i) < 0)
			return;
	}
}

struct cp_thread *cp_sweep_find_tid(int tid)
{
	uint32_t i =
		cp_index_find(&records, cp_index_hash(&tid, sizeof(tid)), same_tid, &tid, NULL);

	return i == CP_INDEX_NONE ? NULL : cp_thread_at(i);
}

void cp_sweep_tids_fork_child(void)
{
	/* The index is abandoned, not freed: a thread of the parent may have been moving it. */
	records = (struct cp_index){ 0 };
}

/* ---- threads of libc that were there before libcprof ---- */

/* Distances from libc's thread pointer, the same in every thread; all 0: they can't be told. */
static struct {
	int64_t robust; /* the list of robust locks, which the kernel knows */
	int64_t tid;	/* the thread's id, which the kernel clears at its end */
} from_tp;

void cp_sweep_adopt(void)
{
	uint64_t tp = (uint64_t)(uintptr_t)cp_thread_pointer(), tid = 0, list = 0;
	size_t size;

	if (cp_sys3(SYS_get_robust_list, 0, &list, &size) < 0 || !list ||
	    cp_sys2(SYS_prctl, PR_GET_TID_ADDRESS, &tid) < 0)
		return;
	from_tp.robust = (int64_t)(list - tp);
	from_tp.tid = (int64_t)(tid - tp);
}

static bool is_thread_pointer(uint64_t tp, int tid)
{
	int32_t there = 0;

	return cp_sys_peek(&there, tp + (uint64_t)from_tp.tid, sizeof(there)) >= 0 && there == tid;
}

/* Write RECORD at AT, where the thread may have unmapped its memory. */
static void poke(uint64_t at, const struct cp_thread *record)
{
	struct iovec from = { &record, sizeof(record) }, to = { (void *)at, sizeof(record) };

	cp_syscall6(SYS_process_vm_writev, cp_sys_gettid(), (long)&from, 1, (long)&to, 1, 0);
}

/* Return the record of the thread whose TLS is at TP; NULL if there is none. */
static struct cp_thread *owner_of(uint64_t tp)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (t->own_tls && t->tls == tp && cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			return t;
	}
	return NULL;
}

/* Give thread TID, of libc, the record T, as if the profiler had started the thread: its hooks find
 * the record in its TLS. If the thread ends just now, another thread may have got its TLS, and gets
 * back what it had. */
static void adopt(struct cp_thread *t, int tid)
{
	uint64_t list = 0, tp, at;
	struct cp_thread *there;
	size_t size;

	if (!from_tp.tid || cp_sys3(SYS_get_robust_list, tid, &list, &size) < 0 || !list)
		return;
	tp = list - (uint64_t)from_tp.robust;
	at = tp + (uint64_t)((char *)&cp_self.thread - cp_thread_pointer());
	if (!is_thread_pointer(tp, tid) || cp_sys_peek(&there, at, sizeof(there)) < 0 || there)
		return;
	poke(at, t);
	if (!is_thread_pointer(tp, tid)) {
		poke(at, owner_of(tp));
		return;
	}
	if (tid == cp_sys_getpid())
		cp_threads_adopt_main(t);
	t->tls = tp;
	t->own_tls = true;
}

static int see_task_locked(int tid)
{
	struct cp_thread *t = cp_sweep_find_tid(tid);

	/* The record may have been made since the records were read. */
	if (!t)
		t = cp_thread_of(tid);
	if (t) {
		t->seen = true;
		if (t->foreign && !t->own_tls)
			adopt(t, tid);
		if (t->to_begin)
			begin_registered(t);
		return 0;
	}
	if (!seen_before(tid))
		return note_stranger(tid);
	t = cp_thread_claim();
	if (!t)
		return -ENOMEM;
	t->foreign = t->seen = true;
	cp_store_relaxed(&t->tid, tid);
	adopt(t, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_count(CP_COUNT_FOREIGN_THREADS, 1);
	cp_mode_ops_thread_begin(t);
	return 0;
}

/* Return true for a task of the profiler, and for an ended main that remains as a zombie. */
static bool is_none_of_the_programs(const struct sweep *s, int tid)
{
	return is_ours(s, tid) || (cp_threads_main_ended() && tid == cp_sys_getpid());
}

static int see_task(int tid, void *context)
{
	struct sweep *s = context;
	int err;

	if (is_none_of_the_programs(s, tid))
		return 0;
	cp_threads_registration_begin();
	err = see_task_locked(tid);
	cp_threads_registration_end();
	return err;
}

/* Return true if thread TID is gone. The listing alone does not tell: if it stops at a thread that
 * then ends, it is continued by position and may omit other threads, or the listing ends there. So
 * the kernel is asked about each thread. */
static bool is_gone(const struct sweep *s, int tid)
{
	return is_none_of_the_programs(s, tid) ||
	       cp_sys3(SYS_tgkill, cp_sys_getpid(), tid, 0) == -ESRCH;
}

/* End the foreign records of threads that were not seen. A thread with its own record ends the
 * record itself, and may be in /proc a little longer or shorter than the record exists. */
static void end_unseen(const struct sweep *s)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) != CP_THREAD_LIVE || !t->foreign || t->seen ||
		    !is_gone(s, cp_load_relaxed(&t->tid)))
			continue;
		cp_mode_ops_thread_end(t);
		cp_store_release(&t->state, CP_THREAD_ENDED);
	}
	cp_threads_reset_registered();
}

static void count_records(struct sweep *s)
{
	s->records = s->foreign = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		/* A claimed record belongs to a thread that is just starting. */
		if (cp_load_relaxed(&t->state) == CP_THREAD_LIVE ||
		    cp_load_relaxed(&t->state) == CP_THREAD_CLAIMED) {
			s->records++;
			s->foreign += t->foreign;
		}
		t->seen = false;
	}
}

/* Count the threads of the process by the links of their directory: two, and one for each thread.
 */
static int count_tasks(struct sweep *s)
{
	struct stat st;
	long err = cp_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0);

	/* An emulator of the kernel may give no link count. */
	if (err < 0 || st.st_nlink < 3)
		return cp_sweep_each(count_task, s);
	s->tasks = (uint32_t)st.st_nlink - 2;
	for (unsigned i = 0; i < sizeof(s->ours->tid) / sizeof(s->ours->tid[0]); i++)
		s->tasks -= s->ours->tid[i] != 0;
	return 0;
}

/* Return true if no thread is new. If every thread announces itself, comparing the numbers is
 * enough. Foreign threads need a look, because one may have replaced another. */
static bool nothing_new(struct sweep *s)
{
	count_records(s);
	return count_tasks(s) < 0 || (!s->foreign && s->tasks == s->records);
}

/* Return the state letter of a task ('R', 'S', 'Z', ...; 'X' when it is gone), or a negative errno.
 */
static int task_state(int tid)
{
	char text[512];
	int err;
	const char *stat = cp_thread_file_stat(tid, text, sizeof(text), &err);

	return stat ? *stat : err ? err : 'X';
}

#define STATE_FIELD 3
#define EXIT_CODE_FIELD 52

/* Return the exit status of a zombie task; 0 if unknown. */
static int exit_status(int tid)
{
	char text[512];
	int err;
	const char *stat = cp_thread_file_stat(tid, text, sizeof(text), &err);
	uint64_t code = 0;

	for (int field = STATE_FIELD; stat && field < EXIT_CODE_FIELD; field++) {
		stat = strchr(stat, ' ');
		stat = stat ? stat + 1 : NULL;
	}
	if (stat)
		cp_text_parse_u64(&stat, 10, &code);
	return (int)(code >> 8) & 0xff;
}

void cp_sweep_find_main_ended(void)
{
	if (!cp_threads_main_ended() && task_state(cp_sys_getpid()) == 'Z')
		cp_threads_end_main(exit_status(cp_sys_getpid()));
}

bool cp_sweep_threads(const struct cp_sweep_ours *ours)
{
	struct sweep s = { .ours = ours };
	struct cp_vec swap = strangers;

	if (cp_threads_main_is_lost())
		cp_threads_end_main(exit_status(cp_sys_getpid()));
	if (nothing_new(&s)) {
		/* No thread was examined, so no thread can be seen for the second time in a row at
		 * the next sweep. */
		strangers.count = 0;
		return false;
	}
	new_strangers.count = 0;
	cp_sweep_read_tids();
	if (cp_sweep_each(see_task, &s) == 0)
		end_unseen(&s);
	strangers = new_strangers;
	new_strangers = swap;
	return strangers.count > 0;
}

static int is_alive(int tid, void *context)
{
	const struct sweep *s = context;
	int state;

	if (is_ours(s, tid))
		return 0;
	state = task_state(tid);
	return state < 0 ? state : state != 'Z' && state != 'X' && cp_threads_is_libcs(tid);
}

static bool has_live_thread(const struct cp_thread *t, const struct sweep *s)
{
	uint32_t state = cp_load_acquire(&t->state);
	int tid = cp_load_relaxed(&t->tid);

	if (state != CP_THREAD_LIVE)
		return state == CP_THREAD_CLAIMED; /* a claimed record belongs to a thread that is
						    * just starting */
	return !is_ours(s, tid) && !cp_sys3(SYS_tgkill, cp_sys_getpid(), tid, 0) &&
	       cp_threads_is_libcs(tid);
}

/* Return true if no live thread is known, by the records alone. */
static bool none_is_known(const struct sweep *s)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		if (has_live_thread(cp_thread_at(i), s))
			return false;
	return true;
}

bool cp_sweep_all_gone(const struct cp_sweep_ours *ours)
{
	struct sweep s = { .ours = ours };
	int err = cp_sweep_each(is_alive, &s);

	/* Without /proc (another root, no descriptor left) a thread may be overlooked. A thread
	 * that is just starting has a record before libc knows it. */
	return err <= 0 && none_is_known(&s);
}

void cp_sweep_fork_child(void)
{
	/* The vectors are abandoned, not freed: the parent's sweep may have been moving them. */
	strangers = new_strangers = (struct cp_vec){ .size = sizeof(int) };
}
