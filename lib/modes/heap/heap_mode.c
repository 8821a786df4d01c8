/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode and its companions: contents of their files; see output.h. heap_report.c writes
 * the comments. */
#include "modes/heap/heap.h"

#include "base/sys.h"
#include "base/text.h"
#include "host/real.h"
#include "modes/heap/allocator.h"
#include "modes/heap/signal/census.h"
#include "modes/heap/signal/heap_exact.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

static bool shows(const struct cp_config *c, enum cp_heap_view view)
{
	return cp_heap_shows(cp_config_of(c, CPROF_HEAP), view);
}

static void heap_labels(const struct cp_run *r, const struct cp_stack *s,
			struct cp_encode_labels *to)
{
	const struct cp_aggregate *a = &r->rows->aggregate;
	uint32_t row = (uint32_t)(s - CP_VEC_AT(&a->stacks, struct cp_stack, 0));
	uint64_t size = cp_heap_views_row(a, row)->size;

	if (size)
		to->labels[to->count++] = (struct cp_pprof_label){ .key = "bytes",
								   .number = (int64_t)size,
								   .unit = "bytes" };
	if (s->tag)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "age",
			.number = cp_heap_views_age(s->tag),
			.unit = "seconds",
		};
}

static uint64_t heap_period(const struct cp_run *r)
{
	/* With a budget, also an earlier one, that of the roughest samples: what the tool computes
	 * of it is then an upper bound of the error. */
	return cp_heap_budget.budget || cp_heap_budget.changes ? cp_heap_budget.largest
							       : cp_heap_totals.interval;
}

/* Estimates, which threads bring up to date in batches (CP_HEAP_BATCH). */
static unsigned heap_numbers(const struct cp_run *r, struct cp_mode_number *to)
{
	uint64_t allocated = cp_load_relaxed(&cp_heap_totals.allocated),
		 freed = cp_load_relaxed(&cp_heap_totals.freed);

	to[0] = (struct cp_mode_number){ "allocated_bytes", allocated };
	to[1] = (struct cp_mode_number){ "in_use_bytes",
					 allocated > freed ? allocated - freed : 0 };
	return 2;
}

static bool has_pid(const struct cp_config *c)
{
	return ((const struct cp_heap_settings *)cp_config_of(c, CPROF_HEAP))->use_pid;
}

static void prepare_heap(const struct cp_config *c)
{
	if (shows(c, CP_HEAP_VIEW_FRAGMENTATION))
		cp_heap_census_prepare();
	cp_real_prepare_clock();
	cp_heap_prepare();
}

static bool is_hooked(void)
{
	return cp_jemalloc_hooks_version() != NULL;
}

/* Writes the heap as text, in the form of gperftools' heap profiles, which pprof can also read. */

#define LINE 256

static int put_text(struct cp_sink *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int put_text(struct cp_sink *to, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = cp_text_vformat(line, sizeof(line), fmt, ap);
	va_end(ap);
	return to->write(to, line, n);
}

/* Writes "objects: bytes [objects: bytes] @". V holds alloc_objects, alloc_space, inuse_objects,
 * inuse_space. */
static int put_values(struct cp_sink *to, const char *before, const uint64_t *v, const char *after)
{
	return put_text(to, "%s%6lu: %8lu [%6lu: %8lu] @%s", before, L(v[2]), L(v[3]), L(v[0]),
			L(v[1]), after);
}

/* The format has return addresses; libcprof's addresses are those of the calls. */
static int put_stack(struct cp_sink *to, const struct cp_aggregate *a, const struct cp_stack *s)
{
	int err;

	/* A row of one age may be of an earlier dump. */
	if (!s->values[0] && !s->values[2])
		return 0;
	err = put_values(to, "", s->values, "");

	for (uint32_t i = 0; i < s->depth && !err; i++) {
		const struct cp_location *l =
			CP_VEC_AT(&a->locations, struct cp_location, s->locations[i]);

		if (l->address)
			err = put_text(to, " 0x%016lx", L(l->address + 1));
	}
	return err ? err : put_text(to, "\n");
}

static int put_mappings(struct cp_sink *to)
{
	char buffer[4096];
	int fd = cp_thread_file_open("maps"), err = put_text(to, "\nMAPPED_LIBRARIES:\n");
	long got = 0;

	if (fd < 0)
		return err;
	while (!err && (got = cp_sys_read(fd, buffer, sizeof(buffer))) > 0)
		err = to->write(to, buffer, (size_t)got);
	cp_sys_close(fd);
	return err;
}

/* Write R, the heap's drained run: "heap profile:", one line per stack with the objects and bytes
 * in use and in total, and the list of mappings. Returns 0 or the sink's error. Call with the
 * collector's lock held. */
static int heap_text_write(const struct cp_run *r, struct cp_sink *to)
{
	const struct cp_aggregate *a = &r->aggregate;
	uint64_t sums[CP_VALUES] = { 0 };
	int err;

	for (size_t i = 0; i < a->stacks.count; i++)
		for (unsigned v = 0; v < CP_VALUES; v++)
			sums[v] += CP_VEC_AT(&a->stacks, struct cp_stack, i)->values[v];
	err = put_values(to, "heap profile: ", sums, " heapprofile\n");
	for (size_t i = 0; i < a->stacks.count && !err; i++)
		err = put_stack(to, a, CP_VEC_AT(&a->stacks, struct cp_stack, i));
	return err ? err : put_mappings(to);
}

static int write_heap_text(struct cp_run *r, struct cp_sink *to)
{
	cp_heap_rows_settle(r);
	return heap_text_write(r, to);
}

static unsigned more_types(const struct cp_run *r)
{
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
	.types = { { "alloc_objects", "count" },
		   { "alloc_space", "bytes" },
		   { "inuse_objects", "count" },
		   { "inuse_space", "bytes" } },
	.type_count = 4,
	.moments = 1u << 2 | 1u << 3,
	.more = (const struct cp_pprof_type[CP_ENCODE_MORE]){ { "resident_space", "bytes" },
							      { "swapped_space", "bytes" },
							      { "untouched_space", "bytes" },
							      { "usable_space", "bytes" } },
	.more_types = more_types,
	.more_values = more_values,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = heap_period,
	.labels = heap_labels,
	.numbers = heap_numbers,
	.report = cp_heap_report,
	.count = cp_heap_rows_count,
	.has_pid = has_pid,
	.prepare = prepare_heap,
	.started = cp_heap_check,
	.needs_thread = is_hooked,
	.start = cp_heap_start,
	.stop = cp_heap_stop,
	.set = cp_heap_set,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.block = cp_heap_rows_block,
	.settle = cp_heap_rows_settle,
	.show = cp_heap_rows_settle,
	.due = cp_heap_due,
	.tick = cp_heap_tick,
	.text = write_heap_text,
	.has_more = cp_stack_depot_has_fresh,
	.thread_end = cp_heap_thread_end,
	.thread_left = cp_heap_stack_disown,
	.thread_changed = cp_heap_exact_leave,
	.unloaded = cp_heap_after_unload,
	.fork_child = cp_heap_fork_child,
};

static int start_nothing(struct cp_run *r, const struct cp_config *c)
{
	return 0;
}

/* The memory in use at its peak, and all memory allocated until the dump. The type names differ
 * from the heap's, because backends would add up the values of both files. */
const struct cp_mode_ops cp_mode_peak = {
	.name = "peak",
	.parent = CPROF_HEAP,
	.view = true,
	.types = { { "total_objects", "count" },
		   { "total_space", "bytes" },
		   { "peak_objects", "count" },
		   { "peak_space", "bytes" } },
	.type_count = 4,
	.moments = 1u << 2 | 1u << 3,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = heap_period,
	.labels = heap_labels,
	.report = cp_heap_report_peak,
	.count = cp_heap_rows_count,
	.start = start_nothing,
	.show = cp_heap_rows_settle,
};

static bool wants_mappings(const struct cp_config *c)
{
	return shows(c, CP_HEAP_VIEW_MMAP);
}

static int start_mappings(struct cp_run *r, const struct cp_config *c)
{
	cp_mappings_start();
	return 0;
}

static void stop_mappings(struct cp_run *r)
{
	cp_mappings_stop();
}

static void fork_mappings(struct cp_run *r, struct cp_thread *keep)
{
	cp_mappings_fork_child(keep != NULL);
}

/* mmap, mremap, brk and sbrk; not sampled: every call is recorded. */
const struct cp_mode_ops cp_mode_mmap = {
	.name = "mmap",
	.parent = CPROF_HEAP,
	.types = { { "mmap_calls", "count" },
		   { "mmap_space", "bytes" },
		   { "inuse_mappings", "count" },
		   { "inuse_mapped", "bytes" } },
	.type_count = 4,
	.moments = 1u << 2 | 1u << 3,
	.period_type = { "space", "bytes" },
	.drop_frames = "mmap(64)?|mremap|s?brk",
	.labels = heap_labels,
	.report = cp_heap_report_mappings,
	.count = cp_heap_rows_count,
	.wanted = wants_mappings,
	.start = start_mappings,
	.stop = stop_mappings,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.show = cp_heap_rows_settle,
	.fork_child = fork_mappings,
};

static bool wants_lifetimes(const struct cp_config *c)
{
	return shows(c, CP_HEAP_VIEW_LIFETIMES);
}

static void labels_of_lifetimes(const struct cp_run *r, const struct cp_stack *s,
				struct cp_encode_labels *to)
{
	enum cp_lifetimes_thread by = cp_lifetimes_by(s->tag);

	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lifetime",
							   .number = cp_lifetimes_ns(s->tag),
							   .unit = "nanoseconds" };
	if (by == CP_LIFETIMES_SAME || by == CP_LIFETIMES_OTHER)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "freed_by",
			.text = by == CP_LIFETIMES_SAME ? "same thread" : "other thread",
		};
}

/* Where blocks are freed, by which thread, and how long they lived. A stack has that of the
 * allocation, [freed by], and that of the free, so no leaf may be dropped. */
const struct cp_mode_ops cp_mode_lifetimes = {
	.name = "lifetimes",
	.parent = CPROF_HEAP,
	.types = { { "alive_objects", "count" },
		   { "alive_space", "bytes" },
		   { "freed_objects", "count" },
		   { "freed_space", "bytes" } },
	.type_count = 4,
	.moments = 1u << 0 | 1u << 1,
	.period_type = { "space", "bytes" },
	.period = heap_period,
	.labels = labels_of_lifetimes,
	.report = cp_heap_report_lifetimes,
	.count = cp_heap_rows_count,
	.wanted = wants_lifetimes,
	.start = start_nothing,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.show = cp_heap_rows_settle,
};

static bool wants_census(const struct cp_config *c)
{
	return shows(c, CP_HEAP_VIEW_FRAGMENTATION);
}

static uint64_t period_of_pages(const struct cp_run *r)
{
	return cp_pages_kernel() *
	       (cp_heap_census_sums()->one_in ? cp_heap_census_sums()->one_in : 1);
}

enum { LOST_MEMORY, LOST_UNSEEN, COUNTS };

static void count_fragmentation(const struct cp_run *r, struct cp_vec *to)
{
	struct cp_census_lost lost = cp_census_lost();

	if (!cp_vec_extend(to, COUNTS))
		return;
	*CP_VEC_AT(to, uint64_t, LOST_MEMORY) = lost.memory;
	*CP_VEC_AT(to, uint64_t, LOST_UNSEEN) = lost.unseen;
}

static void report_census(struct cp_comments *out, const struct cp_run *r,
			  const struct cp_config *c)
{
	const struct cp_heap_census_sums *s = cp_heap_census_sums();

	cp_comments_line(out,
			 "fragmentation: one page in %u is watched; %lu of them have blocks, %lu "
			 "more are swapped out; of all pages with blocks %lu bytes are free, "
			 "standard error %lu",
			 s->one_in, L(s->pages), L(s->away), L(s->held), L(s->error));
	cp_comments_line(
		out,
		"fragmentation: lost: %lu blocks for lack of memory; %lu without a stack or of "
		"an earlier run; %lu frees that were not seen",
		L(cp_comments_own(out, LOST_MEMORY)), L(s->before),
		L(cp_comments_own(out, LOST_UNSEEN) + s->stale));
	if (s->assumed)
		cp_comments_line(out, "note: which pages are in memory is not known: "
				      "/proc/thread-self/pagemap can't be read");
	if (r->late)
		cp_comments_line(out, "note: started while the program ran: blocks that were "
				      "allocated before count as free");
	cp_comments_line(out, "cost: %lu kB for pages", L(cp_census_mapped() >> 10));
}

/* What the blocks on partly used pages keep in memory. */
const struct cp_mode_ops cp_mode_fragmentation = {
	.name = "fragmentation",
	.parent = CPROF_HEAP,
	.types = { { "page_objects", "count" },
		   { "page_space", "bytes" },
		   { "held_pages", "count" },
		   { "held_space", "bytes" } },
	.type_count = 4,
	.moments = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = period_of_pages,
	.report = report_census,
	.count = count_fragmentation,
	.wanted = wants_census,
	.start = start_nothing,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.show = cp_heap_rows_settle,
};

#define CP_CONFIG_IN struct cp_heap_settings
CP_CONFIG_FITS(struct cp_heap_settings);

#define BYTES "a size as 1G or 100M, or 0 for off"

/* clang-format off */
static const struct cp_config_row rows[] = {
	SWITCH("HEAPPROFILE_USE_PID", use_pid, "0"),
	SIZE("CPROF_HEAP_INTERVAL", interval, "512K", 1, UINT64_C(1) << 30,
	     "a size as 512K or 1M (1 to 1G; 1: every allocation)", OPTION(heap_interval), LIVE),
	NUMBER("CPROF_HEAP_BUDGET", budget, NULL, 0, 1000000, "samples a second, or 1% to 100% of the CPU time (0: the interval stays)", OR_PERCENT, LIVE),
	SIZE("HEAP_PROFILE_ALLOCATION_INTERVAL", allocated, NULL, 0, UINT64_MAX, BYTES),
	SIZE("HEAP_PROFILE_DEALLOCATION_INTERVAL", freed, NULL, 0, UINT64_MAX, BYTES),
	SIZE("HEAP_PROFILE_INUSE_INTERVAL", in_use, NULL, 0, UINT64_MAX, BYTES),
	DURATION("HEAP_PROFILE_TIME_INTERVAL", time_ns, NULL, CP_CONFIG_DUMP_MIN, CP_CONFIG_DUMP_MAX,
		 "seconds or a duration as 10m, or 0 for off"),
	SWITCH("HEAP_PROFILE_MMAP", mmap, "0", OPTION(heap_mmap)),
	LIST("CPROF_HEAP_VIEWS", views, "resident", "resident", "lifetimes", "fragmentation", "mmap"),
};
/* clang-format on */

static void read_mmap_switches(const struct cp_config_reader *r, struct cp_config *c)
{
	struct cp_heap_settings *s = cp_config_of(c, CPROF_HEAP);
	bool only = cp_config_reader_switch(r, "HEAP_PROFILE_ONLY_MMAP");

	if (only)
		cp_config_reader_say(r, "HEAP_PROFILE_ONLY_MMAP", "1",
				     "0: mappings have a file beside the heap's",
				     "HEAP_PROFILE_MMAP=1");
	if (cp_config_reader_switch(r, "HEAP_PROFILE_MMAP_LOG"))
		cp_config_reader_say(r, "HEAP_PROFILE_MMAP_LOG", "1", "0: mappings are not logged",
				     "0");
	s->mmap |= only;
}

const struct cp_config_mode cp_heap_settings = {
	.variable = "HEAPPROFILE",
	.path_option = offsetof(struct cprof_options, heap_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = read_mmap_switches,
};
