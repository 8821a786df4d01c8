/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode and its peak: contents and comments of their files; see mode_ops.h. */
#include <string.h>

#include "modes/heap/allocator.h"
#include "modes/heap/heap_budget.h"
#include "modes/heap/heap.h"
#include "modes/heap/heap_census.h"
#include "modes/heap/heap_leaks.h"
#include "modes/heap/heap_rows.h"
#include "host/real.h"
#include "modes/heap/heap_settings.h"
#include "modes/heap/heap_text.h"
#include "modes/heap/jemalloc_hooks.h"
#include "modes/heap/mappings.h"
#include "modes/heap/memory_watch.h"
#include "output/dump.h"
#include "output/encode.h"
#include "output/comments.h"
#include "output/mode_ops.h"
#include "modes/heap/signal/heap_event.h"
#include "modes/heap/signal/heap_exact.h"
#include "modes/heap/signal/heap_stack.h"
#include "modes/heap/signal/stack_depot.h"
#include "modes/heap/signal/lifetimes.h"
#include "modes/heap/signal/live.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"

#define L(x) ((unsigned long)(x))

static const struct cp_heap_settings *settings_of(const struct cp_config *c)
{
	return cp_config_of(c, CPROF_HEAP);
}

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_encode_labels *to)
{
	/* Rows of one age have values in use only. */
	const uint64_t *v = s->tag ? &s->values[2] : s->values;

	(void)r;
	if (v[0])
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "bytes",
			/* Rounded, because the number of objects is: 524288 bytes in
			 * 6554 objects are of 80. */
			.number = (int64_t)((v[1] + v[0] / 2) / v[0]),
			.unit = "bytes",
		};
	if (s->tag)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "age",
			.number = cp_heap_views_age(s->tag),
			.unit = "seconds",
		};
}

static uint64_t period(const struct cp_run *r)
{
	(void)r;
	/* With a budget, also an earlier one, that of the roughest samples: what the tool computes
	 * of it is then an upper bound of the error. */
	return cp_heap_budget.budget || cp_heap_budget.changes ? cp_heap_budget.largest
							       : cp_heap_totals.interval;
}

/* Returns the kB of a line of /proc/self/status, or 0. */
static uint64_t status_kb(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	uint64_t kb = 0;

	if (!p)
		return 0;
	p += strlen(key);
	while (*p == ' ' || *p == '\t')
		p++;
	return cp_text_parse_u64(&p, 10, &kb) ? 0 : kb;
}

static void report_memory(struct cp_comments *out, const struct cp_heap_sums *s)
{
	char text[4096];
	int fd = cp_sys_open("/proc/thread-self/status", O_RDONLY, 0);
	long got = fd < 0 ? 0 : cp_sys_read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	cp_comments_line(
		out,
		"memory of the process: %lu kB resident (peak %lu kB), %lu kB mapped; in use "
		"by the program's heap: %lu kB",
		L(status_kb(text, "VmRSS:")), L(status_kb(text, "VmHWM:")),
		L(status_kb(text, "VmSize:")), L(s->in_use.bytes >> 10));
	cp_comments_line(out, "cost: %lu kB for stacks, up to %lu kB for live blocks",
			 L(cp_stack_depot_mapped() >> 10), L(cp_live_mapped() >> 10));
}

/* The tools read this line (tools/core/resident.c): numbers in kB that add up to the first one. */
static void report_table(struct cp_comments *out, const struct cp_heap_sums *s)
{
	const struct cp_heap_views_found *f = cp_heap_views_found();
	const uint64_t *kinds = f->sums.resident;
	uint64_t used = f->looked && !f->resident_error ? f->used[CP_RESIDENT] : s->in_use.bytes;
	uint64_t heap = kinds[CP_MEMORY_HEAP], all = 0, rounded, held;
	struct cp_heap_census_sums census;
	char partly[64];

	if (f->table_error) {
		cp_comments_line(out, "memory of the process: not broken down: %s",
				 cp_log_errno_text(f->table_error));
		return;
	}
	for (unsigned k = 0; k < CP_MEMORY_KINDS; k++)
		all += kinds[k];
	used = (used < heap ? used : heap) & ~UINT64_C(1023);
	rounded = (f->rounded < heap - used ? f->rounded : heap - used) & ~UINT64_C(1023);
	cp_heap_census_look(&census);
	held = census.held > rounded ? census.held - rounded : 0;
	held = (held < heap - used - rounded ? held : heap - used - rounded) & ~UINT64_C(1023);
	cp_text_format(partly, sizeof(partly), ", free on its pages: %lu kB", L(held >> 10));
	cp_comments_line(out,
			 "resident memory: %lu kB; heap in use: %lu kB, its sizes rounded up: %lu "
			 "kB%s, heap not in use: %lu kB, mapped files: %lu kB, shared memory: %lu "
			 "kB, stacks: %lu kB, other anonymous memory: %lu kB, libcprof: %lu kB",
			 L(all >> 10), L(used >> 10), L(rounded >> 10), census.one_in ? partly : "",
			 L((heap - used - rounded - held) >> 10), L(kinds[CP_MEMORY_FILES] >> 10),
			 L(kinds[CP_MEMORY_SHARED] >> 10), L(kinds[CP_MEMORY_STACKS] >> 10),
			 L(kinds[CP_MEMORY_ANONYMOUS] >> 10), L(kinds[CP_MEMORY_OWN] >> 10));
	if (f->sums.swapped)
		cp_comments_line(out, "swapped memory: %lu kB", L(f->sums.swapped >> 10));
}

/* Says what is missing of the types that were asked for. */
static void report_resident(struct cp_comments *out, const struct cp_config *c)
{
	int err = cp_heap_views_found()->resident_error;

	if (settings_of(c)->resident && err)
		cp_comments_line(out,
				 "note: resident_space is not known: /proc/thread-self/pagemap: %s",
				 cp_log_errno_text(err));
}

static void report_settings(struct cp_comments *out)
{
	const char *hooked = cp_jemalloc_hooks_version();
	uint64_t by_itself = cp_jemalloc_hooks_interval();

	cp_comments_line(out, "heap: interval %lu bytes, allocator %s%s%s, sampled blocks %s",
			 L(cp_heap_totals.interval), cp_allocator_name(),
			 hooked ? ", and through its hooks jemalloc " : "", hooked ? hooked : "",
			 cp_heap_hot_tags() ? "aligned to 2048 bytes" : "looked up at every free");
	if (by_itself)
		cp_comments_line(out,
				 "heap: jemalloc %s tells of the blocks that it samples itself: "
				 "interval %lu bytes (its lg_prof_sample), usable sizes",
				 hooked, L(by_itself));
}

static void report_budget(struct cp_comments *out)
{
	const struct cp_heap_budget *b = &cp_heap_budget;

	if (b->budget)
		cp_comments_line(out,
				 "heap: budget %lu%s, so far intervals from %lu to %lu bytes, "
				 "changed %lu times",
				 b->percent ? L(b->percent) : L(b->budget),
				 b->percent ? "% of the CPU time" : " samples a second",
				 L(b->smallest), L(b->largest), L(b->changes));
}

/* Estimates, which threads bring up to date in batches (CP_HEAP_BATCH). */
static unsigned numbers(const struct cp_run *r, struct cp_mode_number *to)
{
	uint64_t allocated = cp_load_relaxed(&cp_heap_totals.allocated),
		 freed = cp_load_relaxed(&cp_heap_totals.freed);

	(void)r;
	to[0] = (struct cp_mode_number){ "allocated_bytes", allocated };
	to[1] = (struct cp_mode_number){ "in_use_bytes",
					 allocated > freed ? allocated - freed : 0 };
	return 2;
}

static void report_sums(struct cp_comments *out, const struct cp_heap_sums *s)
{
	cp_comments_line(
		out,
		"allocations: %lu objects, %lu bytes; in use %lu objects, %lu bytes; at the "
		"peak %lu objects, %lu bytes; %lu stacks",
		L(cp_heap_rows_whole(s->allocated.objects)), L(s->allocated.bytes),
		L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		L(cp_heap_rows_whole(s->peak.objects)), L(s->peak.bytes), L(s->stacks));
}

/* Explain why the file may be empty. */
static void report_none(struct cp_comments *out, const struct cp_config *c)
{
	if (cp_heap_unseen())
		cp_comments_line(out, "note: allocations of this program can't be seen: %s",
				 cp_heap_unseen());
	else
		cp_comments_line(
			out, "note: no allocation was sampled%s%s",
			cp_heap_totals.interval > 1 ? "; CPROF_HEAP_INTERVAL=1 samples every one"
						    : "",
			settings_of(c)->mmap ? ""
					     : "; what the program maps by itself, as luajit does, "
					       "is seen with CPROF_HEAP_MMAP=1");
}

static void report_watch(struct cp_comments *out)
{
	if (cp_memory_watch_reason())
		cp_comments_line(out, "dump: %s", cp_memory_watch_reason());
}

static void dumped(struct cp_run *r, unsigned number, int err)
{
	unsigned old = cp_memory_watch_dumped(r->mode == CPROF_HEAP_PEAK, number, !err);

	if (old)
		cp_dump_remove(r, old);
}

static void report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);
	uint64_t samples = cp_heap_totals.interval > 1 ? cp_run_counted(r, CP_COUNT_SAMPLES)
						       : cp_heap_rows_whole(s->allocated.objects);

	report_settings(out);
	report_budget(out);
	report_watch(out);
	report_sums(out, s);
	if (r->late)
		cp_comments_line(out, "note: started while the program ran: blocks that were "
				      "allocated before are not known");
	if (cp_heap_unseen() || !s->stacks)
		report_none(out, c);
	cp_comments_line(out,
			 "samples: %lu taken; lost: %lu no memory, %lu stacks at the collector's "
			 "limit; %lu in paused threads; %lu frees that were not seen",
			 L(samples), L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
			 L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
			 L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)),
			 L(cp_run_counted(r, CP_COUNT_UNSEEN_FREES)));
	cp_comments_line(out, "cost: about %s ms of wall time in allocations that were sampled",
			 cp_comments_seconds(cp_run_hooks_ns(r, samples) * 1000));
	report_memory(out, s);
	report_table(out, s);
	report_resident(out, c);
	if (!c->verbose)
		return;
	/* The peak's file may have been written last, with the rows showing the peak. */
	cp_heap_rows_show(r);
	cp_heap_leaks_report(out, r);
}

static void report_peak(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	(void)c;
	report_settings(out);
	report_sums(out, cp_heap_rows_sums(r));
}

static bool has_pid(const struct cp_config *c)
{
	return settings_of(c)->use_pid;
}

static void prepare(const struct cp_config *c)
{
	if (settings_of(c)->census)
		cp_heap_census_prepare();
	if (settings_of(c)->lifetimes)
		cp_real_prepare_clock();
	cp_heap_prepare();
}

static bool is_hooked(void)
{
	return cp_jemalloc_hooks_version() != NULL;
}

static int text(struct cp_run *r, struct cp_sink *to)
{
	cp_heap_rows_settle(r);
	return cp_heap_text_write(r, to);
}

static unsigned more_types(const struct cp_run *r)
{
	(void)r;
	return !cp_heap_views_has_resident() ? 0
	       : cp_heap_views_has_usable()  ? CP_RESIDENT_KINDS + 1
					     : CP_RESIDENT_KINDS;
}

static void more_values(const struct cp_run *r, uint32_t row, uint64_t *values)
{
	const struct cp_heap_row *aside = cp_heap_views_row(&r->rows->aggregate, row);

	values[0] = aside->space[CP_RESIDENT];
	values[1] = aside->space[CP_RESIDENT_SWAPPED];
	values[2] = aside->space[CP_RESIDENT_UNTOUCHED];
	values[3] = aside->usable;
}

const struct cp_mode_ops cp_mode_heap = {
	.name = "heap",
	.parent = CPROF_HEAP,
	.settings = &cp_heap_settings,
	.moment = true,
	.types = { { "alloc_objects", "count" },
		   { "alloc_space", "bytes" },
		   { "inuse_objects", "count" },
		   { "inuse_space", "bytes" } },
	.type_count = 4,
	.more = (const struct cp_pprof_type[CP_ENCODE_MORE]){ { "resident_space", "bytes" },
							      { "swapped_space", "bytes" },
							      { "untouched_space", "bytes" },
							      { "usable_space", "bytes" } },
	.more_types = more_types,
	.more_values = more_values,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = period,
	.labels = labels,
	.numbers = numbers,
	.report = report,
	.has_pid = has_pid,
	.prepare = prepare,
	.started = cp_heap_check,
	.needs_thread = is_hooked,
	.start = cp_heap_start,
	.stop = cp_heap_stop,
	.set = cp_heap_set,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
	.due = cp_heap_due,
	.tick = cp_heap_tick,
	.dumped = dumped,
	.text = text,
	.has_more = cp_stack_depot_has_fresh,
	.thread_end = cp_heap_thread_end,
	.thread_left = cp_heap_stack_disown,
	.thread_changed = cp_heap_exact_leave,
	.unloaded = cp_heap_after_unload,
	.fork_child = cp_heap_fork_child,
};

static int start_nothing(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	return 0;
}

/* The memory in use at its peak, and all memory allocated until the dump. The type names differ
 * from the heap's, because backends would add up the values of both files. */
const struct cp_mode_ops cp_mode_peak = {
	.name = "peak",
	.parent = CPROF_HEAP,
	.view = true,
	.moment = true,
	.types = { { "total_objects", "count" },
		   { "total_space", "bytes" },
		   { "peak_objects", "count" },
		   { "peak_space", "bytes" } },
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = period,
	.labels = labels,
	.report = report_peak,
	.dumped = dumped,
	.start = start_nothing,
	.settle = cp_heap_rows_settle,
};

static bool wants_mappings(const struct cp_config *c)
{
	return settings_of(c)->mmap;
}

static int start_mappings(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	cp_mappings_start();
	return 0;
}

static void stop_mappings(struct cp_run *r)
{
	(void)r;
	cp_mappings_stop();
}

static void fork_mappings(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_mappings_fork_child(keep != NULL);
}

static uint64_t period_of_mappings(const struct cp_run *r)
{
	(void)r;
	return 1;
}

static void report_mappings(struct cp_comments *out, const struct cp_run *r,
			    const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);

	(void)c;
	cp_comments_line(
		out,
		"mappings by the program: %lu, %lu bytes; in use %lu, %lu bytes; %lu could "
		"not be kept",
		L(cp_heap_rows_whole(s->allocated.objects)), L(s->allocated.bytes),
		L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		L(cp_mappings_lost()));
	report_memory(out, s);
}

/* mmap, mremap, brk and sbrk; not sampled: every call is recorded. */
const struct cp_mode_ops cp_mode_mmap = {
	.name = "mmap",
	.parent = CPROF_HEAP,
	.moment = true,
	.types = { { "mmap_calls", "count" },
		   { "mmap_space", "bytes" },
		   { "inuse_mappings", "count" },
		   { "inuse_mapped", "bytes" } },
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.drop_frames = "mmap(64)?|mremap|s?brk",
	.period = period_of_mappings,
	.labels = labels,
	.report = report_mappings,
	.wanted = wants_mappings,
	.start = start_mappings,
	.stop = stop_mappings,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
	.fork_child = fork_mappings,
};

static bool wants_lifetimes(const struct cp_config *c)
{
	return settings_of(c)->lifetimes;
}

static void labels_of_lifetimes(const struct cp_run *r, const struct cp_stack *s,
				struct cp_encode_labels *to)
{
	enum cp_lifetimes_thread by = cp_lifetimes_by(s->tag);

	(void)r;
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lifetime",
							   .number = cp_lifetimes_ns(s->tag),
							   .unit = "nanoseconds" };
	if (by == CP_LIFETIMES_SAME || by == CP_LIFETIMES_OTHER)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "freed_by",
			.text = by == CP_LIFETIMES_SAME ? "same thread" : "other thread",
		};
}

static void report_lifetimes(struct cp_comments *out, const struct cp_run *r,
			     const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);

	(void)c;
	report_settings(out);
	cp_comments_line(
		out,
		"lifetimes: %lu objects, %lu bytes freed; %lu frees without memory to record "
		"them; blocks that are still in use are in alive_objects and alive_space, "
		"with the age that they have reached",
		L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)));
}

/* Where blocks are freed, by which thread, and how long they lived. A stack is that of the
 * allocation, [freed by], and that of the free: no leaf may be dropped. */
const struct cp_mode_ops cp_mode_lifetimes = {
	.name = "lifetimes",
	.parent = CPROF_HEAP,
	.moment = true,
	.types = { { "alive_objects", "count" },
		   { "alive_space", "bytes" },
		   { "freed_objects", "count" },
		   { "freed_space", "bytes" } },
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.period = period,
	.labels = labels_of_lifetimes,
	.report = report_lifetimes,
	.wanted = wants_lifetimes,
	.start = start_nothing,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
};
