/* SPDX-License-Identifier: BSD-3-Clause */
/* Where every thread is now; see threads_now.h. */
#include "session/threads_now.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/sys.h"
#include "base/text.h"
#include "collect/collect.h"
#include "collect/sweep.h"
#include "modes/wall/wall_stack.h"
#include "output/encode.h"
#include "profile/aggregate.h"
#include "profile/names.h"
#include "sample/capture.h"
#include "sample/own_time.h"
#include "sample/unwinder.h"
#include "session/session_state.h"

/* A row's tag is the number of one of these, plus 1. */
struct place {
	enum cp_wall_doing doing;
	struct cp_wall_call call;
};

struct look {
	struct cp_aggregate a;
	struct cp_names names;
	struct cp_vec places;
	uint32_t looked_at, left_out;
};

/* Guarded by the collector's lock; room for the deepest stack. */
static uint64_t found_words[CP_RECORD_WORDS(4096)];
#define FOUND ((struct cp_record *)found_words)

static void read_name(int tid, char *name)
{
	char path[64];
	long got;
	int fd;

	cp_text_format(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return;
	got = cp_sys_read(fd, name, CP_THREAD_NAME - 1);
	cp_sys_close(fd);
	if (got > 0 && name[got - 1] == '\n')
		name[got - 1] = '\0';
}

/* A thread that runs has no stack: its row is the placeholder for what wasn't sampled. */
static struct cp_raw_stack stack_of(enum cp_wall_doing doing)
{
	if (doing != CP_WALL_WAITS)
		return (struct cp_raw_stack){ .location = CP_LOCATION_NOT_SAMPLED };
	return (struct cp_raw_stack){ .pcs = FOUND->pcs, .depth = FOUND->depth, .end = FOUND->end };
}

static int add(struct look *l, int tid, const struct place *p)
{
	struct cp_raw_stack s = stack_of(p->doing);
	struct place *to = cp_vec_add(&l->places);
	uint32_t row;

	s.thread = cp_aggregate_thread(&l->a, tid);
	if (!to || s.thread == CP_INDEX_NONE)
		return -ENOMEM;
	*to = *p;
	s.tag = l->places.count;
	read_name(tid, CP_VEC_AT(&l->a.threads, struct cp_thread_label, s.thread)->name);
	row = cp_aggregate_row(&l->a, &s);
	if (row == CP_INDEX_NONE)
		return -ENOMEM;
	cp_aggregate_row_at(&l->a, row)->values[0] = 1;
	return 0;
}

static int look_at(int tid, void *context)
{
	struct look *l = context;
	struct place p = { .call = { .number = -1 } };
	uint64_t clock;

	if (cp_collect_loop_is_ours(tid))
		return 0;
	if (l->looked_at == CP_THREADS_NOW_MAX) {
		l->left_out++;
		return 0;
	}
	l->looked_at++;
	p.doing = cp_wall_stack_look(tid, FOUND, cp_capture_settings.max_depth, &clock, &p.call);
	return p.doing == CP_WALL_ENDED ? 0 : add(l, tid, &p);
}

static void labels(const void *context, const struct cp_stack *s, struct cp_encode_labels *to)
{
	const struct look *l = context;
	const struct place *p = CP_VEC_AT(&l->places, struct place, s->tag - 1);
	struct cp_pprof_label *label = to->labels;

	*label++ = (struct cp_pprof_label){ .key = "state",
					    .text = p->doing == CP_WALL_WAITS  ? "waiting"
						    : p->doing == CP_WALL_RUNS ? "running"
									       : "unknown" };
	if (p->doing == CP_WALL_WAITS && p->call.number >= 0)
		*label++ = (struct cp_pprof_label){ .key = "syscall",
						    .number = p->call.number,
						    .unit = "" };
	if (p->doing == CP_WALL_WAITS && p->call.number == SYS_futex) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", (unsigned long)p->call.args[0]);
		*label++ = (struct cp_pprof_label){ .key = "lock", .text = to->text };
	}
	to->count = (unsigned)(label - to->labels);
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
		.row_labels = labels,
		.context = l,
		.comments = comments,
		.comment_count = l->left_out != 0,
	};
	int err = cp_names_update(&l->names, &l->a, false);

	cp_text_format(left_out, sizeof(left_out), "threads: %u more were not looked at",
		       l->left_out);
	return err ? err : cp_encode_write(&l->a, &l->names, &info, sink);
}

void cp_threads_now_write(void *arg)
{
	struct cp_threads_now *n = arg;
	struct cp_modules modules;
	struct look l = { .places = { .size = sizeof(struct place) } };

	cp_own_time_work_begin();
	cp_modules_init(&modules);
	cp_aggregate_init(&l.a, &modules);
	cp_names_init(&l.names);
	n->result = cp_modules_refresh(&modules);
	if (!n->result)
		n->result = cp_sweep_each(look_at, &l);
	if (!n->result)
		n->result = encode(&l, n->sink);
	cp_names_release(&l.names);
	cp_aggregate_release(&l.a);
	cp_modules_release(&modules);
	cp_vec_release(&l.places);
	cp_own_time_work_end();
}
