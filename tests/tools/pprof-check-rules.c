/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules about the profile as a whole: types, times, strings, comments; the report. */
#include "pprof-check.h"

#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 100 /* printed for a file; the rest is only counted */

/* The exact contents of each mode's file: readers name their series after all of it. */
static const struct mode {
	const char *name, *types, *period; /* TYPE/UNIT, with a space between */
	const char *default_type;
	bool moment; /* memory in use when it is written: no duration, as in Go's heap profiles; a
			window has one, because its allocations do */
	bool drops;  /* pprof leaves out the leaves that say no more than the file's type */
} modes[] = {
	{ "cpu", "samples/count cpu/nanoseconds", "cpu/nanoseconds", "cpu", false, false },
	{ "wall", "samples/count wall/nanoseconds", "wall/nanoseconds", "wall", false, false },
	{ "heap", "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes",
	  "space/bytes", "inuse_space", true, true },
	/* With the view "resident". */
	{ "heap",
	  "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes "
	  "resident_space/bytes swapped_space/bytes untouched_space/bytes",
	  "space/bytes", "inuse_space", true, true },
	/* And where it is known how the allocator rounds. */
	{ "heap",
	  "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes "
	  "resident_space/bytes swapped_space/bytes untouched_space/bytes usable_space/bytes",
	  "space/bytes", "inuse_space", true, true },
	{ "peak", "total_objects/count total_space/bytes peak_objects/count peak_space/bytes",
	  "space/bytes", "peak_space", true, true },
	{ "mmap", "mmap_calls/count mmap_space/bytes inuse_mappings/count inuse_mapped/bytes",
	  "space/bytes", "inuse_mapped", true, true },
	{ "lifetimes",
	  "alive_objects/count alive_space/bytes freed_objects/count freed_space/bytes",
	  "space/bytes", "freed_space", true, false },
	{ "fragmentation", "page_objects/count page_space/bytes held_pages/count held_space/bytes",
	  "space/bytes", "held_space", true, true },
	{ "lock", "contentions/count delay/nanoseconds", "contentions/count", "delay", false,
	  true },
	{ "holders", "waits/count blocking/nanoseconds", "waits/count", "blocking", false, true },
	{ "wakers", "waits/count delay/nanoseconds", "wakes/count", "delay", false, true },
	{ "io", "calls/count delay/nanoseconds bytes/bytes errors/count", "calls/count", "delay",
	  false, true },
	/* The second type is the event's name. */
	{ "event", "samples/count page-faults/count", "page-faults/count", "page-faults", false,
	  false },
	{ "event", "samples/count minor-faults/count", "minor-faults/count", "minor-faults", false,
	  false },
};
#define MODE_COUNT (sizeof(modes) / sizeof(modes[0]))

bool pcheck_was(const struct pcheck_report *r, const char *rule)
{
	size_t n = strlen(rule);

	for (const char *s = strstr(r->rules, rule); s; s = strstr(s + 1, rule))
		if ((s == r->rules || s[-1] == ' ') && s[n] == ' ')
			return true;
	return false;
}

void pcheck_bad(struct pcheck_report *r, const char *rule, const char *fmt, ...)
{
	size_t used = strlen(r->rules);
	va_list ap;

	if (!pcheck_was(r, rule) && used + strlen(rule) + 2 < sizeof(r->rules))
		sprintf(r->rules + used, "%s ", rule);
	if (r->out && r->broken < LINES_MAX) {
		fprintf(r->out, "%s: %s: ", r->file ? r->file : "profile", rule);
		va_start(ap, fmt);
		vfprintf(r->out, fmt, ap);
		va_end(ap);
		fprintf(r->out, "\n");
	}
	r->broken++;
}

const char *pcheck_text(const struct pcheck_profile *p, uint64_t index)
{
	return index < p->string_count && p->strings[index].text ? p->strings[index].text : "";
}

/* Text of an index, which counts as used; a bad one is reported. */
static const char *use(struct pcheck_profile *p, uint64_t index, const char *what,
		       struct pcheck_report *r)
{
	if (index >= p->string_count)
		pcheck_bad(r, "string-index", "%s: there is no string %llu", what,
			   (unsigned long long)index);
	else
		p->strings[index].used = true;
	return pcheck_text(p, index);
}

/* Strict UTF-8 by decoding to code points, unlike the library's table of ranges. */
static bool is_utf8(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;

	while (s < end) {
		unsigned more = *s < 0x80 ? 0 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : 3;
		unsigned long least[] = { 0, 0x80, 0x800, 0x10000 }, code;

		if ((*s >= 0x80 && *s < 0xc0) || *s >= 0xf8 || end - s <= more)
			return false;
		code = more ? *s & (0x3f >> more) : *s;
		for (unsigned i = 1; i <= more; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return false;
			code = code << 6 | (s[i] & 0x3f);
		}
		if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
		s += more + 1;
	}
	return true;
}

static void use_strings(struct pcheck_profile *p, struct pcheck_report *r)
{
	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t k = 0; k < p->samples[i].label_count; k++) {
			use(p, p->samples[i].labels[k].key, "label key", r);
			use(p, p->samples[i].labels[k].text, "label", r);
			use(p, p->samples[i].labels[k].unit, "label unit", r);
		}
	for (size_t i = 0; i < p->mapping_count; i++) {
		use(p, p->mappings[i].path, "mapping", r);
		use(p, p->mappings[i].build_id, "build id", r);
	}
	for (size_t i = 0; i < p->function_count; i++) {
		use(p, p->functions[i].name, "function name", r);
		use(p, p->functions[i].system_name, "system name", r);
		use(p, p->functions[i].filename, "file name", r);
	}
}

static int by_text(const void *a, const void *b)
{
	const struct pcheck_string *s = *(struct pcheck_string *const *)a;
	const struct pcheck_string *t = *(struct pcheck_string *const *)b;

	return s->length != t->length ? (s->length < t->length ? -1 : 1)
				      : memcmp(s->text, t->text, s->length);
}

static void check_distinct_strings(struct pcheck_profile *p, struct pcheck_report *r)
{
	struct pcheck_string **sorted = calloc(p->string_count + 1, sizeof(*sorted));

	if (!sorted)
		exit(2);
	for (size_t i = 0; i < p->string_count; i++)
		sorted[i] = &p->strings[i];
	qsort(sorted, p->string_count, sizeof(*sorted), by_text);
	for (size_t i = 1; i < p->string_count; i++)
		if (!by_text(&sorted[i - 1], &sorted[i]))
			pcheck_bad(r, "duplicate-string", "\"%s\"", sorted[i]->text);
	free(sorted);
}

static void check_strings(struct pcheck_profile *p, struct pcheck_report *r)
{
	if (!p->string_count || p->strings[0].length)
		pcheck_bad(r, "first-string", "string 0 is not \"\"");
	for (size_t i = 0; i < p->string_count; i++) {
		const struct pcheck_string *s = &p->strings[i];

		if (!is_utf8(s->text, s->length))
			pcheck_bad(r, "utf8", "string %zu: \"%s\"", i, s->text);
		if (strlen(s->text) != s->length)
			pcheck_bad(r, "utf8", "string %zu has a NUL within", i);
		if (i && !s->used)
			pcheck_bad(r, "unused-string", "string %zu: \"%s\"", i, s->text);
	}
	check_distinct_strings(p, r);
}

/* TYPE/UNIT of each, with a space between. */
static bool has_types(const struct pcheck_profile *p, const struct pcheck_type *types, size_t n,
		      const char *want)
{
	char text[1000] = "";
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s/%s", i ? " " : "",
					 pcheck_text(p, types[i].type),
					 pcheck_text(p, types[i].unit));
	return !strcmp(text, want);
}

/* The library says so in a comment. */
static bool is_window(const struct pcheck_profile *p)
{
	for (size_t i = 0; i < p->comments.count; i++)
		if (strstr(pcheck_text(p, p->comments.items[i]), "dump: a window of"))
			return true;
	return false;
}

static void check_mode(const struct pcheck_profile *p, const char *name, struct pcheck_report *r)
{
	const struct mode *m = NULL;

	for (size_t i = 0; i < MODE_COUNT && !m; i++)
		if ((!name || !strcmp(modes[i].name, name)) &&
		    has_types(p, p->types, p->type_count, modes[i].types))
			m = &modes[i];
	if (!m) {
		pcheck_bad(r, "sample-types", "not those of a %s profile", name ? name : "known");
		return;
	}
	if (!has_types(p, &p->period_type, 1, m->period))
		pcheck_bad(r, "period-type", "%s/%s, not %s", pcheck_text(p, p->period_type.type),
			   pcheck_text(p, p->period_type.unit), m->period);
	if (m->moment != !p->duration_nanos && !(m->moment && is_window(p)))
		pcheck_bad(r, "duration", "duration_nanos is %s0", m->moment ? "not " : "");
	if (m->drops != (p->drop_frames != 0))
		pcheck_bad(r, "drop-frames", "it has %s", p->drop_frames ? "some" : "none");
	if (strcmp(pcheck_text(p, p->default_type), m->default_type))
		pcheck_bad(r, "default-type", "\"%s\", not \"%s\"", pcheck_text(p, p->default_type),
			   m->default_type);
}

/* pprof reads it as ^(TEXT)$. */
static void check_frames(const char *text, struct pcheck_report *r)
{
	regex_t compiled;

	if (!*text)
		return;
	if (regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB)) {
		pcheck_bad(r, "drop-frames", "\"%s\" is no expression", text);
		return;
	}
	if (!regexec(&compiled, "", 0, NULL, 0))
		pcheck_bad(r, "drop-frames", "\"%s\" matches all", text);
	regfree(&compiled);
}

static void check_head(struct pcheck_profile *p, struct pcheck_report *r)
{
	for (size_t i = 0; i < p->type_count; i++) {
		const char *name = use(p, p->types[i].type, "sample type", r);

		use(p, p->types[i].unit, "sample unit", r);
		/* Events have perf's names. */
		if (!*name || (strchr(name, '-') && !strstr(name, "-faults")))
			pcheck_bad(r, "type-name", "\"%s\"", name);
	}
	use(p, p->period_type.type, "period type", r);
	use(p, p->period_type.unit, "period unit", r);
	use(p, p->default_type, "default_sample_type", r);
	check_frames(use(p, p->drop_frames, "drop_frames", r), r);
	check_frames(use(p, p->keep_frames, "keep_frames", r), r);
	use(p, p->doc_url, "doc_url", r);
	if ((int64_t)p->time_nanos <= 0)
		pcheck_bad(r, "time", "time_nanos is not positive");
	if ((int64_t)p->duration_nanos < 0)
		pcheck_bad(r, "duration", "duration_nanos is negative");
	if ((int64_t)p->period <= 0)
		pcheck_bad(r, "period", "period is not positive");
}

/* MODE: the file is of libcprof's own. */
static void check_comments(struct pcheck_profile *p, const char *mode, struct pcheck_report *r)
{
	static const char reserved[] = "executableInfo=";

	for (size_t i = 0; i < p->comments.count; i++) {
		const char *text = use(p, p->comments.items[i], "comment", r);

		if (!*text)
			pcheck_bad(r, "comment", "comment %zu is empty", i);
		if (!strncmp(text, reserved, strlen(reserved)))
			pcheck_bad(r, "comment", "comment %zu begins with %s", i, reserved);
		if (mode && *text != '#')
			pcheck_bad(r, "comment", "comment %zu doesn't begin with #", i);
	}
}

void pcheck_rules(struct pcheck_profile *p, const char *mode, const char *main_path,
		  struct pcheck_report *r)
{
	check_head(p, r);
	check_mode(p, mode, r);
	check_comments(p, mode, r);
	use_strings(p, r);
	pcheck_times(p, r);
	check_strings(p, r);
	pcheck_samples(p, r);
	pcheck_tables(p, r);
	if (main_path &&
	    (!p->mapping_count || strcmp(pcheck_text(p, p->mappings[0].path), main_path)))
		pcheck_bad(r, "main-mapping", "mapping 1 is \"%s\", not \"%s\"",
			   p->mapping_count ? pcheck_text(p, p->mappings[0].path) : "", main_path);
}
