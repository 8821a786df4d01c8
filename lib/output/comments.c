/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the comments of a profile; see output.h. */
#include "output/output.h"

#include <sys/utsname.h>

#include "cp-build.h"
#include "labels/spans.h"
#include "base/sys.h"
#include "base/text.h"

void cp_comments_line(struct cp_comments *r, const char *fmt, ...)
{
	va_list ap;

	if (r->count == CP_COMMENTS_LINES)
		return;
	va_start(ap, fmt);
	cp_text_vformat(r->lines[r->count], CP_COMMENTS_LINE, fmt, ap);
	va_end(ap);
	r->pointers[r->count] = r->lines[r->count];
	r->count++;
}

#define L(x) ((unsigned long)(x))

/* The result is in a small ring of buffers, so that one line can contain several results. */
const char *cp_comments_seconds(uint64_t ns)
{
	static char buffers[8][32];
	static unsigned next;
	char *b = buffers[next++ % 8];

	cp_text_format(b, sizeof(buffers[0]), "%lu.%03lu", L(ns / 1000000000u),
		       L(ns / 1000000u % 1000u));
	return b;
}

const char *cp_comments_percent(uint64_t part, uint64_t whole)
{
	static char buffers[8][32];
	static unsigned next;
	char *b = buffers[next++ % 8];
	uint64_t p = whole ? (uint64_t)((__uint128_t)part * 10000 / whole) : 0;

	cp_text_format(b, sizeof(buffers[0]), "%lu.%02lu", L(p / 100), L(p % 100));
	return b;
}

#define RESOURCE_SHOWN 12

struct about {
	struct cp_comments *out;
	const struct cp_config *config;
	unsigned shown;
};

/* Add an attribute of the process that the program's OpenTelemetry SDK has published. */
static void resource(void *arg, const char *key, const char *value)
{
	struct about *a = arg;

	if (a->config->label_keys[0] && !cp_globs_match(a->config->label_keys, key))
		return;
	if (a->shown++ < RESOURCE_SHOWN)
		cp_comments_line(a->out, "resource: %s=%s", key, value);
}

static void head(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	struct about about = { .out = out, .config = c };
	uint64_t start = r->process_utc_ns ? r->process_utc_ns : r->start_utc_ns;
	const struct cp_process_info *program = cp_process_info_last();
	struct utsname u = { 0 };

	cp_sys1(SYS_uname, &u);
	cp_comments_line(out, "libcprof " PACKAGE_VERSION ", mode %s, pid %d, %s %s %s",
			 r->ops->name, cp_sys_getpid(), u.sysname, u.release, u.machine);
	if (program && *program->file)
		cp_comments_line(out, "program: %s, started as %s", program->file,
				 program->program);
	cp_comments_line(out, "settings: unwind %s, max depth %u",
			 cp_capture_settings.unwinder ? cp_capture_settings.unwinder->name : "none",
			 cp_capture_settings.max_depth);
	/* The file's time_nanos is the time of the dump, or of the last exec. */
	if (!r->window && (r->ops->moments || r->process_utc_ns))
		cp_comments_line(out, "start: %lu.%09lu s since 1970-01-01 UTC",
				 L(start / 1000000000u), L(start % 1000000000u));
	if (!r->window && r->rows->gave_up)
		cp_comments_line(out,
				 "note: this is not all since the mode's start: a mode without "
				 "a file gives up what its windows have shown");
	cp_process_context_read(r->rows->aggregate.modules->context, resource, &about);
	for (unsigned i = 0; i < CP_NOTES; i++)
		if (cp_notes_get(i))
			cp_comments_line(out, "note: %s", cp_notes_get(i));
}

#define SPANS_SHOWN 16
#define UNREAD_SHOWN 4

/* Returns 1234567 ns as "1.234". */
static const char *ms(uint64_t ns)
{
	return cp_comments_seconds(ns * 1000);
}

/* Add the line that `cprof spans` reads. Its last parts are there if something was measured. */
static void span(struct cp_comments *out, const struct cp_span_kind *k)
{
	const struct cp_histogram *h = &k->latency;
	char cpu[80] = "", allocated[48] = "";

	if (k->cpu_ns || k->wait_ns)
		cp_text_format(cpu, sizeof(cpu), ", CPU %s ms, waiting %s ms", ms(k->cpu_ns),
			       ms(k->wait_ns));
	if (k->allocated)
		cp_text_format(allocated, sizeof(allocated), ", allocated %lu bytes",
			       L(k->allocated));
	cp_comments_line(out,
			 "span %s: %lu, p50 %s ms, p90 %s ms, p99 %s ms, p999 %s ms, max %s ms, "
			 "sum %s ms%s%s",
			 k->name, L(h->count), ms(cp_histogram_quantile(h, 500)),
			 ms(cp_histogram_quantile(h, 900)), ms(cp_histogram_quantile(h, 990)),
			 ms(cp_histogram_quantile(h, 999)), ms(h->max), ms(h->sum), cpu, allocated);
}

/* The spans of the process until now, or those of R's window. */
static void spans(struct cp_comments *out, const struct cp_run *r)
{
	static struct cp_span_kind k; /* large; under the lock */
	const struct cp_consumer *w = r->window;
	struct cp_vec all = { .size = sizeof(uint64_t) };
	const struct cp_vec none = { .size = sizeof(uint64_t) };
	uint64_t lost =
		w ? w->next.lost_spans - w->begin.lost_spans : cp_counted(CP_COUNT_LOST_SPANS);
	unsigned n = 0;

	if (!w)
		cp_spans_count(&all);
	for (unsigned i = 0; i < CP_SPANS_MAX; i++)
		if (cp_spans_between(w ? &w->next.spans : &all, w ? &w->begin.spans : &none, i,
				     &k) &&
		    n++ < SPANS_SHOWN)
			span(out, &k);
	if (n > SPANS_SHOWN || lost)
		cp_comments_line(out, "spans: %u more names; %lu spans of further names not kept",
				 n > SPANS_SHOWN ? n - SPANS_SHOWN : 0, L(lost));
	if (!w && cp_counted(CP_COUNT_LOST_TIMES))
		cp_comments_line(out,
				 "times: %lu spans and blocks of all modes are not in the index: "
				 "too many at once",
				 L(cp_counted(CP_COUNT_LOST_TIMES)));
	cp_vec_release(&all);
}

/* Add one line for each module whose symbols are missing. The path comes last, because the line may
 * be cut. */
static void unread(struct cp_comments *out, const struct cp_run *r)
{
	const struct cp_names *n = &r->rows->names;
	unsigned more = 0;

	for (uint32_t m = 0; (m = cp_names_unread(n, m)) != CP_NO_MAPPING; m++)
		if (more++ < UNREAD_SHOWN)
			cp_comments_line(out, "symbols could not be read: %s: %s",
					 cp_log_errno_text(
						 CP_VEC_AT(&n->mappings, struct cp_names_mapping, m)
							 ->trouble),
					 cp_modules_at(r->rows->aggregate.modules, m)->path);
	if (more > UNREAD_SHOWN)
		cp_comments_line(out, "symbols could not be read: of %u modules more",
				 more - UNREAD_SHOWN);
}

/* The settings above are the present ones. */
static void changes(struct cp_comments *out, const struct cp_run *r)
{
	unsigned n = r->change_count, first = n > CP_RUN_CHANGES ? n - CP_RUN_CHANGES : 0;

	if (first)
		cp_comments_line(out, "set: %u earlier changes", first);
	for (unsigned i = first; i < n; i++) {
		const struct cp_run_change *c = &r->changes[i % CP_RUN_CHANGES];
		bool before = c->at_ns < r->start_ns; /* true for a change before the window */

		cp_comments_line(out, "set: %s s %s the start: %s",
				 cp_comments_seconds(before ? r->start_ns - c->at_ns
							    : c->at_ns - r->start_ns),
				 before ? "before" : "after", c->text);
	}
}

/* Names the modules in whose code stacks ended that did not reach their thread's start. */

#define TOP 5

struct place {
	uint32_t mapping;
	uint64_t samples;
	uint64_t address; /* of the first frame found in this module */
};

/* Returns the outermost known frame of an incomplete stack. */
static const struct cp_location *last_frame(const struct cp_run *r, const struct cp_stack *s)
{
	if (s->depth < 2 || s->locations[s->depth - 1] != CP_LOCATION_INCOMPLETE ||
	    s->locations[s->depth - 2] < CP_LOCATION_FIRST)
		return NULL;
	return CP_VEC_AT(&r->aggregate.locations, struct cp_location, s->locations[s->depth - 2]);
}

/* Count in the place with the mapping's number; the last place is for code in no mapping. */
static void count_places(struct place *places, const struct cp_run *r, uint32_t mappings)
{
	const struct cp_aggregate *a = &r->rows->aggregate;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(a, i);
		uint64_t samples = (uint64_t)cp_aggregate_since(a, i, 0, cp_consumers_base(r));
		const struct cp_location *l = last_frame(r->rows, s);
		struct place *p;

		if (!l || !samples)
			continue;
		p = &places[l->mapping < mappings ? l->mapping : mappings];
		if (!p->samples)
			p->address = l->address;
		p->mapping = l->mapping;
		p->samples += samples;
	}
}

static struct place *largest(struct place *places, uint32_t n)
{
	struct place *max = places;

	for (uint32_t i = 1; i < n; i++)
		if (places[i].samples > max->samples)
			max = &places[i];
	return max->samples ? max : NULL;
}

static void describe_place(const struct cp_run *r, const struct place *p, char *to, size_t size)
{
	const struct cp_mapping *m = cp_modules_at(r->aggregate.modules, p->mapping);
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	if (!m)
		cp_text_format(to, size, " code in no module %lu (at 0x%lx);", L(p->samples),
			       L(p->address));
	else
		cp_text_format(to, size, " %s %lu (at +0x%lx);", slash ? slash + 1 : m->path,
			       L(p->samples), L(p->address - m->start + m->offset));
}

/* Write " libfoo.so 12 (at +0x1234); ..." to TO, for the modules with the most incomplete stacks of
 * R or of its window. Returns false if all stacks are complete. Call with the collector's lock
 * held. */
static bool incomplete_describe(const struct cp_run *r, char *to, size_t size)
{
	uint32_t mappings = (uint32_t)r->rows->aggregate.modules->mappings.count;
	struct place *places = cp_sys_map((mappings + 1) * sizeof(*places)), *p;
	size_t n = 0;

	if (!places)
		return false;
	count_places(places, r, mappings);
	for (unsigned i = 0; i < TOP && (p = largest(places, mappings + 1)); i++) {
		describe_place(r->rows, p, to + n, size - n);
		n += strlen(to + n);
		p->samples = 0;
	}
	if (n && to[n - 1] == ';')
		to[n - 1] = '\0';
	cp_sys_unmap(places, (mappings + 1) * sizeof(*places));
	return n != 0;
}

static void tail(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	uint64_t named = r->rows->names.named, all = named + r->rows->names.unnamed;
	const struct cp_consumer *w = r->window;
	uint64_t refused =
		w ? w->next.refused - w->begin.refused : cp_counted(CP_COUNT_LABELS_REFUSED);
	char modules[CP_COMMENTS_LINE - 32];

	cp_comments_line(out, "stacks: %lu truncated at the depth limit, %lu incomplete",
			 L(cp_run_counted(r, CP_COUNT_TRUNCATED)),
			 L(cp_run_counted(r, CP_COUNT_INCOMPLETE)));
	if (cp_run_counted(r, CP_COUNT_INCOMPLETE) &&
	    incomplete_describe(r, modules, sizeof(modules)))
		cp_comments_line(out, "incomplete stacks end in:%s", modules);
	if (cp_run_counted(r, CP_COUNT_LOST_LABELS) || refused)
		cp_comments_line(out,
				 "labels: %lu samples without theirs (too many different sets), "
				 "%lu refused or cut",
				 L(cp_run_counted(r, CP_COUNT_LOST_LABELS)), L(refused));
	spans(out, r);
	cp_comments_line(out, "symbols: %lu of %lu frames named (%s %%)", L(named), L(all),
			 cp_comments_percent(named, all));
	unread(out, r);
	if (c->symbolize == CP_SYMBOLIZE_FULL && !cp_helper_is_there())
		cp_comments_line(out, "lines and inlined calls: none, because cprof is not beside "
				      "libcprof.so; cprof symbolize adds them");
	cp_comments_line(out, "cost: %s ms in the collector, for all modes together",
			 cp_comments_seconds(cp_run_own_cpu(r) * 1000));
}

static uint64_t word_at(const struct cp_vec *v, size_t i)
{
	return i < v->count ? *CP_VEC_AT(v, uint64_t, i) : 0;
}

uint64_t cp_comments_own(const struct cp_comments *report, size_t i)
{
	return word_at(report->own, i) - word_at(report->own_begin, i);
}

uint64_t cp_comments_own_longest(const struct cp_comments *report, size_t i)
{
	return cp_comments_own(report, i) ? word_at(report->own, i) : 0;
}

void cp_comments_make(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_consumer *w = r->window;
	struct cp_vec own = { .size = sizeof(uint64_t) };
	const struct cp_vec none = { .size = sizeof(uint64_t) };

	if (!w && r->ops->count)
		r->ops->count(r, &own);
	out->own = w ? &w->next.own : &own;
	out->own_begin = w ? &w->begin.own : &none;
	out->count = 0;
	head(out, r, c);
	r->ops->report(out, r, c);
	changes(out, r);
	tail(out, r, c);
	out->own = out->own_begin = NULL;
	cp_vec_release(&own);
}

void cp_comments_waits_lost(struct cp_comments *report, const struct cp_run *r)
{
	cp_comments_line(
		report,
		"stacks lost: %s s of delay ring full, %s s no memory, %s s collector limit; %lu "
		"waits in paused threads",
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_RING)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
		(unsigned long)cp_run_counted(r, CP_COUNT_LOST_PAUSED));
}

void cp_comments_stacks_cost(struct cp_comments *report, const struct cp_run *r, const char *where)
{
	cp_comments_line(
		report, "cost: about %s ms of wall time for stacks %s",
		cp_comments_seconds(cp_run_hooks_ns(r, cp_run_counted(r, CP_COUNT_TIMED)) * 1000),
		where);
}
