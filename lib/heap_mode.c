/* The heap mode and its peak: what their files hold and say; see mode.h. */
#include <string.h>

#include "allocator.h"
#include "heap.h"
#include "heap_leaks.h"
#include "heap_rows.h"
#include "jemalloc.h"
#include "mappings.h"
#include "mode.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/live.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

#define L(x) ((unsigned long)(x))

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_profile_labels *to)
{
	(void)r;
	if (!s->values[0])
		return;
	to->labels[to->count++] = (struct cp_pprof_label){
		.key = "bytes",
		.number = (int64_t)(s->values[1] / s->values[0]),
		.unit = "bytes",
	};
}

static uint64_t period(const struct cp_run *r)
{
	(void)r;
	return cp_heap_totals.interval;
}

/* kB of a line of /proc/self/status, or 0. */
static uint64_t status_kb(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	uint64_t kb = 0;

	if (!p)
		return 0;
	p += strlen(key);
	while (*p == ' ' || *p == '\t')
		p++;
	return cp_parse_u64(&p, 10, &kb) ? 0 : kb;
}

static void report_memory(struct cp_report *out, const struct cp_heap_sums *s)
{
	char text[4096];
	int fd = cp_sys_open("/proc/thread-self/status", O_RDONLY, 0);
	long got = fd < 0 ? 0 : cp_sys_read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	cp_report_line(
		out,
		"memory of the process: %lu kB resident (peak %lu kB), %lu kB mapped; in use "
		"by the program's heap: %lu kB",
		L(status_kb(text, "VmRSS:")), L(status_kb(text, "VmHWM:")),
		L(status_kb(text, "VmSize:")), L(s->in_use.bytes >> 10));
	cp_report_line(out, "cost: %lu kB for stacks, up to %lu kB for live blocks",
		       L(cp_depot_mapped() >> 10), L(cp_live_mapped() >> 10));
}

static void report_settings(struct cp_report *out)
{
	const char *hooked = cp_jemalloc_version();

	cp_report_line(out, "heap: interval %lu bytes, allocator %s%s%s, sampled blocks %s",
		       L(cp_heap_totals.interval), cp_allocator_name(),
		       hooked ? ", and through its hooks jemalloc " : "", hooked ? hooked : "",
		       cp_heap_hot_tags() ? "aligned to 2048 bytes" : "looked up at every free");
}

static void report_sums(struct cp_report *out, const struct cp_heap_sums *s)
{
	cp_report_line(out,
		       "allocations: %lu objects, %lu bytes; in use %lu objects, %lu bytes; at the "
		       "peak %lu objects, %lu bytes; %lu stacks",
		       L(cp_heap_rows_whole(s->allocated.objects)), L(s->allocated.bytes),
		       L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		       L(cp_heap_rows_whole(s->peak.objects)), L(s->peak.bytes), L(s->stacks));
}

static void report(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);
	uint64_t samples = cp_heap_totals.interval > 1 ? cp_run_counted(r, CP_COUNT_SAMPLES)
						       : cp_heap_rows_whole(s->allocated.objects);

	report_settings(out);
	report_sums(out, s);
	cp_report_line(out,
		       "samples: %lu taken; lost: %lu no memory, %lu stacks at the collector's "
		       "limit; %lu in paused threads; %lu frees that were not seen",
		       L(samples), L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		       L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
		       L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)),
		       L(cp_run_counted(r, CP_COUNT_UNSEEN_FREES)));
	cp_report_line(out, "cost: about %s ms in allocations that were sampled",
		       cp_report_seconds(cp_run_hooks_ns(r, samples) * 1000));
	report_memory(out, s);
	if (!c->verbose)
		return;
	/* At the end the peak's file may have been the last one. */
	cp_heap_rows_show(r);
	cp_heap_leaks_report(out, r);
}

static void report_peak(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	(void)c;
	report_settings(out);
	report_sums(out, cp_heap_rows_sums(r));
}

#define TYPES                                                                                      \
	{                                                                                          \
		{ "alloc_objects", "count" }, { "alloc_space", "bytes" },                          \
			{ "inuse_objects", "count" },                                              \
		{                                                                                  \
			"inuse_space", "bytes"                                                     \
		}                                                                                  \
	}

const struct cp_mode_ops cp_mode_heap = {
	.name = "heap",
	.parent = CP_MODE_HEAP,
	.types = TYPES,
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.period = period,
	.labels = labels,
	.report = report,
	.start = cp_heap_start,
	.stop = cp_heap_stop,
	.mark = cp_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
	.due = cp_heap_due,
	.tick = cp_heap_tick,
	.thread_end = cp_heap_thread_end,
	.fork_child = cp_heap_fork_child,
};

static int start_peak(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	return 0;
}

/* What was in use when the most was; alloc_* as in the heap's own file. */
const struct cp_mode_ops cp_mode_peak = {
	.name = "peak",
	.parent = CP_MODE_HEAP,
	.view = true,
	.types = TYPES,
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.period = period,
	.labels = labels,
	.report = report_peak,
	.start = start_peak,
	.settle = cp_heap_rows_settle,
};

static bool wants_mappings(const struct cp_config *c)
{
	return c->heap_mmap;
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

static void report_mappings(struct cp_report *out, const struct cp_run *r,
			    const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);

	(void)c;
	cp_report_line(out,
		       "mappings by the program: %lu, %lu bytes; in use %lu, %lu bytes; %lu could "
		       "not be kept",
		       L(cp_heap_rows_whole(s->allocated.objects)), L(s->allocated.bytes),
		       L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		       L(cp_mappings_lost()));
	report_memory(out, s);
}

/* mmap, mremap, brk and sbrk, not sampled: every call is in it. */
const struct cp_mode_ops cp_mode_mmap = {
	.name = "mmap",
	.parent = CP_MODE_HEAP,
	.types = { { "mmap_calls", "count" },
		   { "mmap_space", "bytes" },
		   { "inuse_mappings", "count" },
		   { "inuse_mapped", "bytes" } },
	.type_count = 4,
	.period_type = { "space", "bytes" },
	.period = period_of_mappings,
	.labels = labels,
	.report = report_mappings,
	.wanted = wants_mappings,
	.start = start_mappings,
	.stop = stop_mappings,
	.mark = cp_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
	.fork_child = fork_mappings,
};
