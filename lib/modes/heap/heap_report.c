/* SPDX-License-Identifier: BSD-3-Clause */
/* Comments of the heap's files; see heap.h. */
#include "modes/heap/heap.h"

#include "modes/heap/allocator.h"
#include "modes/heap/signal/heap_signal.h"
#include "base/sys.h"
#include "base/text.h"

#define L(x) ((unsigned long)(x))

static bool shows(const struct cp_config *c, enum cp_heap_view view)
{
	return cp_heap_shows(cp_config_of(c, CPROF_HEAP), view);
}

static void report_memory(struct cp_comments *out, const struct cp_heap_sums *s)
{
	char text[4096];

	if (!cp_thread_file_status(cp_sys_gettid(), text, sizeof(text)))
		text[0] = '\0';
	cp_comments_line(
		out,
		"memory of the process: %lu kB resident (peak %lu kB), %lu kB mapped; in use "
		"by the program's heap: %lu kB",
		L(cp_memory_use_number(text, "VmRSS:")), L(cp_memory_use_number(text, "VmHWM:")),
		L(cp_memory_use_number(text, "VmSize:")), L(s->in_use.bytes >> 10));
	cp_comments_line(out, "cost: %lu kB for stacks, up to %lu kB for live blocks",
			 L(cp_stack_depot_mapped() >> 10), L(cp_live_mapped() >> 10));
}

/* The tools read this line (tools/core/resident.c): numbers in kB that add up to the first one.
 * LATE: the program allocated before the profile began, and these blocks are not known. */
static void report_table(struct cp_comments *out, const struct cp_heap_sums *s, bool late)
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
	cp_comments_line(
		out,
		"resident memory: %lu kB; heap in use: %lu kB, its sizes rounded up: %lu "
		"kB%s, heap not in use%s: %lu kB, mapped files: %lu kB, shared memory: %lu "
		"kB, stacks: %lu kB, other anonymous memory: %lu kB, libcprof: %lu kB",
		L(all >> 10), L(used >> 10), L(rounded >> 10), census.one_in ? partly : "",
		late ? ", or allocated before" : "", L((heap - used - rounded - held) >> 10),
		L(kinds[CP_MEMORY_FILES] >> 10), L(kinds[CP_MEMORY_SHARED] >> 10),
		L(kinds[CP_MEMORY_STACKS] >> 10), L(kinds[CP_MEMORY_ANONYMOUS] >> 10),
		L(kinds[CP_MEMORY_OWN] >> 10));
	if (f->sums.swapped)
		cp_comments_line(out, "swapped memory: %lu kB", L(f->sums.swapped >> 10));
}

/* Says which of the requested types are missing. */
static void report_resident(struct cp_comments *out, const struct cp_config *c)
{
	int err = cp_heap_views_found()->resident_error;

	if (shows(c, CP_HEAP_VIEW_RESIDENT) && err)
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
			 cp_heap_hot.look == CP_HEAP_LOOK_ALL ? "looked up at every free"
							      : "found by a filter");
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

static void report_sums(struct cp_comments *out, const struct cp_heap_sums *s)
{
	cp_comments_line(
		out,
		"allocations: %lu objects, %lu bytes; in use %lu objects, %lu bytes; at the "
		"peak %lu objects, %lu bytes; %lu stacks",
		L(cp_heap_rows_whole(cp_comments_own(out, CP_HEAP_ALLOCATED_OBJECTS))),
		L(cp_comments_own(out, CP_HEAP_ALLOCATED_BYTES)),
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
		cp_comments_line(out, "note: no allocation was sampled%s%s",
				 cp_heap_totals.interval > 1
					 ? "; CPROF_HEAP_INTERVAL=1 samples every one"
					 : "",
				 shows(c, CP_HEAP_VIEW_MMAP)
					 ? ""
					 : "; what the program maps by itself, as luajit does, "
					   "is seen with CPROF_HEAP_VIEWS=mmap");
}

void cp_heap_report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);
	uint64_t samples =
		cp_heap_totals.interval > 1
			? cp_run_counted(r, CP_COUNT_SAMPLES)
			: cp_heap_rows_whole(cp_comments_own(out, CP_HEAP_ALLOCATED_OBJECTS));

	cp_heap_check_seen(s->stacks != 0);
	report_settings(out);
	report_budget(out);
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
	report_table(out, s, r->late);
	report_resident(out, c);
	if (!c->verbose)
		return;
	/* The peak's file may have been written last, with the rows showing the peak. */
	cp_heap_rows_show(r);
	cp_heap_leaks_report(out, r);
}

void cp_heap_report_peak(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	report_settings(out);
	report_sums(out, cp_heap_rows_sums(r));
}

void cp_heap_report_mappings(struct cp_comments *out, const struct cp_run *r,
			     const struct cp_config *c)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);

	cp_comments_line(
		out,
		"mappings by the program: %lu, %lu bytes; in use %lu, %lu bytes; %lu could "
		"not be kept",
		L(cp_heap_rows_whole(cp_comments_own(out, CP_HEAP_ALLOCATED_OBJECTS))),
		L(cp_comments_own(out, CP_HEAP_ALLOCATED_BYTES)),
		L(cp_heap_rows_whole(s->in_use.objects)), L(s->in_use.bytes),
		L(cp_comments_own(out, CP_HEAP_MAPPINGS_LOST)));
	report_memory(out, s);
}

void cp_heap_report_lifetimes(struct cp_comments *out, const struct cp_run *r,
			      const struct cp_config *c)
{
	report_settings(out);
	cp_comments_line(
		out,
		"lifetimes: %lu objects, %lu bytes freed; %lu frees without memory to record "
		"them; blocks that are still in use are in alive_objects and alive_space, "
		"with the age that they have reached",
		L(cp_heap_rows_whole(cp_comments_own(out, CP_HEAP_ALLOCATED_OBJECTS))),
		L(cp_comments_own(out, CP_HEAP_ALLOCATED_BYTES)),
		L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)));
}
