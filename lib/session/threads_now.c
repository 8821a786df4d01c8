/* SPDX-License-Identifier: BSD-3-Clause */
/* Where every thread is now, and who waits for whom; see session.h. */
#include "session/session.h"

#include <errno.h>

#include "base/own_code.h"
#include "base/text.h"
#include "collect/collect.h"
#include "modes/io/io.h"
#include "modes/lock/lock.h"

struct cp_threads_now {
	struct cp_sink *sink;
	int result; /* 0 or a negative errno */
};

struct look {
	struct cp_aggregate a;
	struct cp_names names;
	struct cp_vec
		threads; /* struct cp_thread_look; a row's tag is the index of its thread, plus 1 */
	/* The parts in libc of the stacks that wait for a futex; they get names. Then the row of
	 * each thread there, plus 1; 0 = none. */
	struct cp_aggregate libc;
	struct cp_names libc_names;
	struct cp_vec libc_rows; /* uint32_t */
	struct cp_lock_names locks;
	struct cp_arena texts;
	uint32_t looked_at, left_out;
};

/* Guarded by the collector's lock; room for the deepest stack. */
static uint64_t found_words[CP_RECORD_WORDS(4096)];
#define FOUND ((struct cp_record *)found_words)

/* Return T's stack. A running thread has none; its row has the placeholder for code that wasn't
 * sampled. */
static struct cp_raw_stack stack_of(enum cp_wall_doing doing)
{
	if (doing != CP_WALL_WAITS)
		return (struct cp_raw_stack){ .location = CP_LOCATION_NOT_SAMPLED };
	return (struct cp_raw_stack){ .pcs = FOUND->pcs, .depth = FOUND->depth, .end = FOUND->end };
}

/* Add the innermost frames of the thread just found, as far as they are libc's, which in a static
 * program only their names tell. Returns the row plus 1, or 0 without memory. */
static uint32_t add_libc_part(struct look *l)
{
	struct cp_raw_stack s = { .pcs = FOUND->pcs,
				  .end = CP_UNWIND_COMPLETE,
				  .thread = CP_NO_THREAD };
	uint32_t row;

	for (; s.depth < FOUND->depth; s.depth++) {
		uint32_t m = cp_modules_find(l->libc.modules, FOUND->pcs[s.depth]);
		const struct cp_mapping *in =
			m == CP_NO_MAPPING ? NULL : cp_modules_at(l->libc.modules, m);

		if (!in ||
		    !(CP_OWN_CODE_IS_STATIC || cp_mapping_is_own_code(in, FOUND->pcs[s.depth]) ||
		      cp_wall_cause_is_libc(in->path)))
			break;
	}
	row = s.depth ? cp_aggregate_row(&l->libc, &s) : CP_INDEX_NONE;
	return row == CP_INDEX_NONE ? 0 : row + 1;
}

static int add_thread(struct look *l, const struct cp_thread_look *t)
{
	struct cp_raw_stack s = stack_of(t->doing);
	struct cp_thread_look *to = cp_vec_add(&l->threads);
	uint32_t *libc_row = cp_vec_add(&l->libc_rows), row;

	s.thread = cp_aggregate_thread(&l->a, t->tid);
	if (!to || !libc_row || s.thread == CP_INDEX_NONE)
		return -ENOMEM;
	*to = *t;
	if (t->doing == CP_WALL_WAITS && t->call.number == SYS_futex)
		*libc_row = add_libc_part(l);
	s.tag = l->threads.count;
	cp_thread_file_name(t->tid,
			    CP_VEC_AT(&l->a.threads, struct cp_thread_label, s.thread)->name,
			    CP_THREAD_NAME);
	row = cp_aggregate_row(&l->a, &s);
	if (row == CP_INDEX_NONE)
		return -ENOMEM;
	cp_aggregate_row_at(&l->a, row)->values[0] = 1;
	return 0;
}

static int look_at(int tid, void *context)
{
	struct look *l = context;
	struct cp_thread_look t = { .tid = tid, .call = { .number = -1 } };

	if (cp_collect_loop_is_ours(tid))
		return 0;
	if (l->looked_at == CP_THREADS_NOW_MAX) {
		l->left_out++;
		return 0;
	}
	l->looked_at++;
	t.doing = cp_wall_stack_look(tid, FOUND, cp_capture_settings.max_depth, &t.clock, &t.call);
	return t.doing == CP_WALL_ENDED ? 0 : add_thread(l, &t);
}

/* If there is no memory for names, the kind of a futex is unknown. */
static void find_futexes(struct look *l)
{
	bool named = l->libc.stacks.count && !cp_names_update(&l->libc_names, &l->libc, true);

	for (size_t i = 0; named && i < l->threads.count; i++) {
		uint32_t row = *CP_VEC_AT(&l->libc_rows, uint32_t, i);

		if (row)
			CP_VEC_AT(&l->threads, struct cp_thread_look, i)->futex =
				cp_wall_cause_futex(cp_aggregate_row_at(&l->libc, row - 1),
						    &l->libc, &l->libc_names);
	}
}

/* Finds circles of waits. Each thread waits for at most one thread, so a walk from any thread ends,
 * or comes to a thread where it has been. */

/* A thread on the way of a walk. */
struct node {
	uint64_t tid; /* sort key: the thread's id */
	struct cp_thread_look *of;
	size_t walk; /* number of the walk that came here first; 0 = none */
};

static struct node *find_node(const struct cp_vec *nodes, int tid)
{
	size_t i = cp_sort_first(nodes->items, nodes->count, nodes->size, (uint64_t)tid);
	struct node *n = CP_VEC_AT(nodes, struct node, i);

	return i < nodes->count && n->tid == (uint64_t)tid ? n : NULL;
}

static struct node *next_of(const struct cp_vec *nodes, const struct node *n)
{
	const struct cp_thread_wait *w = &n->of->wait;
	int tid = w->joined ? w->joined : w->holder;

	return tid > 0 && !w->limited ? find_node(nodes, tid) : NULL;
}

/* Return true if the circle through FIRST was there at one moment: all locks are read again, and
 * afterwards no thread has run since before that. */
static bool is_true(const struct cp_vec *nodes, const struct node *first)
{
	const struct node *n = first, *next;

	do {
		next = next_of(nodes, n);
		if (cp_thread_waits_for(n->of) != (int)next->tid)
			return false;
		n = next;
	} while (n != first);
	do {
		if (!cp_thread_waits_still(n->of))
			return false;
		n = next_of(nodes, n);
	} while (n != first);
	return true;
}

static void number_circle(const struct cp_vec *nodes, const struct node *first, unsigned deadlock)
{
	const struct node *n = first;

	do {
		n->of->wait.deadlock = deadlock;
		n = next_of(nodes, n);
	} while (n != first);
}

/* Return the first thread that the walk from FROM comes to for the second time, if no earlier walk
 * was there; NULL: there is none. */
static struct node *walk_waits(const struct cp_vec *nodes, struct node *from, size_t number_of_walk)
{
	struct node *n = from;

	for (; n && !n->walk; n = next_of(nodes, n))
		n->walk = number_of_walk;
	return n && n->walk == number_of_walk ? n : NULL;
}

void cp_threads_now_deadlocks(struct cp_thread_look *t, size_t count)
{
	struct cp_vec nodes = { .size = sizeof(struct node) };
	unsigned found = 0;

	for (size_t i = 0; i < count; i++) {
		struct node *n = t[i].tid > 0 ? cp_vec_add(&nodes) : NULL;

		if (n)
			*n = (struct node){ .tid = (uint64_t)t[i].tid, .of = &t[i] };
	}
	cp_sort(nodes.items, nodes.count, nodes.size);
	for (size_t i = 0; i < nodes.count; i++) {
		struct node *n = walk_waits(&nodes, CP_VEC_AT(&nodes, struct node, i), i + 1);

		if (n && is_true(&nodes, n))
			number_circle(&nodes, n, ++found);
	}
	cp_vec_release(&nodes);
}

static void find_waits(struct look *l)
{
	const struct cp_io_settings *io = cp_config_of(&cp_session.config, CPROF_IO);
	struct cp_thread_look *t = l->threads.items;

	find_futexes(l);
	for (size_t i = 0; i < l->threads.count; i++) {
		cp_thread_waits_find(&t[i], io->target, &l->texts);
		cp_lock_names_note(&l->locks, t[i].wait.lock,
				   t[i].futex == CP_WALL_FUTEX_CONDITION);
	}
	cp_threads_now_deadlocks(t, l->threads.count);
	cp_lock_names_find(&l->locks, l->a.modules);
}

static void put_text(struct cp_encode_labels *to, const char *key, const char *text)
{
	if (text && *text)
		to->labels[to->count++] = (struct cp_pprof_label){ .key = key, .text = text };
}

static void put_number(struct cp_encode_labels *to, const char *key, int64_t number)
{
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = key, .number = number, .unit = "" };
}

static void put_number_if(struct cp_encode_labels *to, const char *key, int64_t number)
{
	if (number > 0)
		put_number(to, key, number);
}

static void put_lock(const struct look *l, const struct cp_thread_wait *w,
		     struct cp_encode_labels *to)
{
	const char *name = w->lock ? cp_lock_names_of(&l->locks, w->lock) : NULL;

	if (!w->lock)
		return;
	if (!name) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", (unsigned long)w->lock);
		name = to->text;
	}
	put_text(to, "lock", name);
	put_text(to, "lock_kind", w->lock_kind);
	put_number_if(to, "holder", w->holder);
	put_number_if(to, "readers", w->readers);
}

static void put_wait(const struct look *l, const struct cp_thread_wait *w,
		     struct cp_encode_labels *to)
{
	put_text(to, "wait", w->cause);
	put_lock(l, w, to);
	put_number_if(to, "joined", w->joined);
	put_number_if(to, "deadlock", w->deadlock);
	put_number_if(to, "child", w->child);
	put_text(to, "child_name", w->child_name);
	if (w->fd >= 0)
		put_number(to, "fd", w->fd);
	put_text(to, "kind", w->kind);
	put_text(to, "target", w->target);
	put_number_if(to, "descriptors", w->descriptors);
}

static void thread_labels(const void *context, const struct cp_stack *s,
			  struct cp_encode_labels *to)
{
	const struct look *l = context;
	const struct cp_thread_look *t = CP_VEC_AT(&l->threads, struct cp_thread_look, s->tag - 1);

	put_text(to, "state",
		 t->doing == CP_WALL_WAITS    ? "waiting"
		 : t->doing == CP_WALL_RUNS   ? "running"
		 : t->doing == CP_WALL_QUEUES ? "runnable"
					      : "unknown");
	if (t->doing == CP_WALL_WAITS && t->call.number >= 0)
		put_number(to, "syscall", t->call.number);
	put_wait(l, &t->wait, to);
}

static int encode(struct look *l, struct cp_sink *sink)
{
	static const struct cp_pprof_type type = { "threads", "count" };
	char left_out[64];
	const char *comments[] = { left_out };
	struct cp_profile_info info = {
		.types = &type,
		.type_count = 1,
		.period_type = type,
		.period = 1,
		.time_ns = cp_sys_clock_ns(CLOCK_REALTIME),
		.labels = cp_session.config.labels,
		.row_labels = thread_labels,
		.context = l,
		.comments = comments,
		.comment_count = l->left_out != 0,
	};
	int err = cp_names_update(&l->names, &l->a, false);

	cp_text_format(left_out, sizeof(left_out), "threads: %u more were not looked at",
		       l->left_out);
	return err ? err : cp_encode_write(&l->a, &l->names, &info, sink);
}

static void begin_look(struct look *l, struct cp_modules *modules)
{
	*l = (struct look){ .threads = { .size = sizeof(struct cp_thread_look) },
			    .libc_rows = { .size = sizeof(uint32_t) } };
	cp_modules_init(modules);
	cp_aggregate_init(&l->a, modules);
	cp_aggregate_init(&l->libc, modules);
	cp_names_init(&l->names);
	cp_names_init(&l->libc_names);
}

static void end_look(struct look *l, struct cp_modules *modules)
{
	cp_names_release(&l->names);
	cp_names_release(&l->libc_names);
	cp_aggregate_release(&l->a);
	cp_aggregate_release(&l->libc);
	cp_modules_release(modules);
	cp_vec_release(&l->threads);
	cp_vec_release(&l->libc_rows);
	cp_lock_names_release(&l->locks);
	cp_arena_release(&l->texts);
}

/* Called by cp_collect_run. */
static void write_threads(void *arg)
{
	struct cp_threads_now *n = arg;
	struct cp_modules modules;
	struct look l;

	cp_own_time_work_begin();
	begin_look(&l, &modules);
	n->result = cp_modules_refresh(&modules);
	if (!n->result)
		n->result = cp_sweep_each(look_at, &l);
	if (!n->result) {
		find_waits(&l);
		n->result = encode(&l, n->sink);
	}
	end_look(&l, &modules);
	cp_own_time_work_end();
}

int cp_threads_now_write(struct cp_sink *sink)
{
	struct cp_threads_now n = { .sink = sink };

	cp_collect_run(write_threads, &n);
	return n.result;
}
