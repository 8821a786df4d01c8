/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints after a table; see report.h. */
#include "core/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"

#define HINTS_MAX 3
/* Smaller shares don't matter. */
#define SHARE 0.1
/* Some expiries are always missing, so less time doesn't matter. */
#define UNSAMPLED_SECONDS 0.1
/* With more samples, only shares below 7 % may be off by half. */
#define FEW_SAMPLES 200

static const char *name_of(const struct ct_profile *p, const struct ct_location *l)
{
	uint32_t f = l->line_count ? p->lines[l->first_line].function : CT_NONE;

	return f == CT_NONE ? "" : ct_text(p, p->functions[f].name);
}

/* Returns false for a name like "libfoo.so+0x1234", which only tells a place. */
static bool is_named(const char *name)
{
	return *name && strcmp(name, "[unknown]") != 0 && !ct_own_jit_is_bare(name);
}

/* Sums over the innermost frames. */
struct sums {
	int64_t total, jit, *unnamed; /* UNNAMED: by mapping */
	int64_t *functions;	      /* those without a name */
	int64_t locks;		      /* time waiting for locks, in a wall profile */
};

static bool waits_for_lock(const struct ct_profile *p, const struct ct_sample *s)
{
	for (uint32_t i = 0; i < s->depth && i < 6; i++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[i]];

		for (uint32_t k = 0; k < l->line_count; k++) {
			uint32_t f = p->lines[l->first_line + k].function;
			const char *name = f == CT_NONE ? "" : ct_text(p, p->functions[f].name);

			if (strstr(name, "pthread_mutex_") || strstr(name, "pthread_rwlock_") ||
			    !strcmp(name, "__lll_lock_wait"))
				return true;
		}
	}
	return false;
}

static void add_unnamed(struct sums *sums, const struct ct_profile *p, const struct ct_location *l,
			int64_t value)
{
	uint32_t f = l->line_count ? p->lines[l->first_line].function : CT_NONE;

	sums->unnamed[l->mapping] = ct_add(sums->unnamed[l->mapping], value);
	if (f != CT_NONE)
		sums->functions[f] = ct_add(sums->functions[f], value);
}

static void sum_up(struct sums *sums, const struct ct_profile *p, size_t type)
{
	bool wall = !strcmp(ct_text(p, p->types[type].type), "wall");

	sums->unnamed = ct_memory_alloc((p->mapping_count + 1) * sizeof(*sums->unnamed));
	sums->functions = ct_memory_alloc((p->function_count + 1) * sizeof(*sums->functions));
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];
		int64_t value = ct_values(p, i)[type];
		const struct ct_location *l = s->depth ? &p->locations[ct_frames(p, s)[0]] : NULL;
		const char *name = l ? name_of(p, l) : "";

		sums->total = ct_add(sums->total, value);
		if (l && !is_named(name) && ct_own_jit_is(p, l, name))
			sums->jit = ct_add(sums->jit, value);
		else if (l && !is_named(name) && l->mapping != CT_NONE)
			add_unnamed(sums, p, l, value);
		if (wall && waits_for_lock(p, s))
			sums->locks = ct_add(sums->locks, value);
	}
}

static bool matters(const struct sums *s, int64_t value)
{
	return s->total > 0 && (double)value >= SHARE * (double)s->total;
}

static void say_hint(const struct sums *s, int64_t value, const char *text)
{
	char share[CT_NUMBER_ROOM];
	const char *percent = ct_numbers_percent(share, value, s->total);

	if (!ct_notes_is_new(text))
		return;
	fprintf(stderr, "cprof: hint: %s ", percent + strspn(percent, " "));
	ct_out_text(stderr, text);
	fputc('\n', stderr);
}

/* Returns how the code of the module at PATH gets names and lines in FILE. */
static char *names_advice(const char *path, const char *file)
{
	char *module = ct_out_word(path), *word = ct_out_word(file), *text;

	text = ct_own_is_in_system(path)
		       ? ct_distribution_debug_files(module, word)
		       : ct_memory_printf(
				 "build with -g, then \"cprof symbolize --in-place %s\"; an "
				 "unstripped copy in DIR serves with -debug-dir DIR",
				 word);
	free(module);
	free(word);
	return text;
}

/* Returns the hottest function of MAPPING without a name, or NULL. */
static const char *hottest_unnamed(const struct ct_profile *p, const struct sums *s, size_t mapping)
{
	const char *module = ct_own_program_name(p, mapping);
	size_t most = 0;

	for (size_t i = 1; i < p->function_count; i++)
		if (s->functions[i] > s->functions[most] &&
		    ct_starts(ct_text(p, p->functions[i].name), module))
			most = i;
	return p->function_count && s->functions[most] ? ct_text(p, p->functions[most].name) : NULL;
}

static unsigned hint_unnamed(const struct ct_profile *p, const struct sums *s, const char *file)
{
	const char *path, *function;
	char *advice, *word, *text;
	size_t most = 0;

	for (size_t i = 1; i < p->mapping_count; i++)
		if (s->unnamed[i] > s->unnamed[most])
			most = i;
	if (!p->mapping_count || !matters(s, s->unnamed[most]))
		return 0;
	path = ct_text(p, p->mappings[most].file);
	function = hottest_unnamed(p, s, most);
	if (*path != '/' || p->mappings[most].is_other)
		return 0;
	advice = names_advice(path, file);
	word = ct_out_word(file);
	text = ct_memory_printf("is in %s, which is stripped: %s%s%s%s%s%s", ct_base_name(path),
				advice, function ? "; \"cprof list -disasm " : "",
				function ? function : "", function ? " " : "", function ? word : "",
				function ? "\" has instructions" : "");
	say_hint(s, s->unnamed[most], text);
	free(advice);
	free(word);
	free(text);
	return 1;
}

/* Returns the number before WHAT in a comment like "5 ring full", 0 if there is none. */
static uint64_t number_before(const char *comment, const char *what)
{
	const char *at = strstr(comment, what);

	if (!at || at == comment)
		return 0;
	at--;
	while (at > comment && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtoull(at, NULL, 10);
}

static unsigned hint_lost(const struct ct_profile *p, const char *file)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *c = ct_notes_comment(p, i);
		uint64_t taken, lost;
		char *word;

		if (!ct_starts(c, "samples: "))
			continue;
		taken = strtoull(c + 9, NULL, 10);
		lost = number_before(c, " ring full") + number_before(c, " no memory");
		if (!lost || lost * 100 < taken)
			continue;
		word = ct_out_word(file);
		fprintf(stderr,
			"cprof: hint: %" PRIu64 " samples were lost, %" PRIu64
			" taken: a lower rate loses none; \"cprof info %s\" says why\n",
			lost, taken, word);
		free(word);
		return 1;
	}
	return 0;
}

/* Some CPU time of a process has no samples, such as that of the kernel's thread of an io_uring
 * (SQPOLL). */
static unsigned hint_unsampled(const struct ct_profile *p, const char *file)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *c = ct_notes_comment(p, i);
		double used, sampled, rest;
		char *word;

		if (sscanf(c, "cpu time: %lf s used by the program, %lf s in samples, %lf s", &used,
			   &sampled, &rest) != 3)
			continue;
		if (rest < UNSAMPLED_SECONDS || rest < SHARE * used)
			return 0;
		word = ct_out_word(file);
		fprintf(stderr,
			"cprof: hint: %.0f%% of the process's CPU time (%.1f of %.1f s) is in no "
			"row: it "
			"was used by a kernel thread of an io_uring, by threads without a clock, "
			"or always "
			"between two ticks; \"cprof info %s\" has more\n",
			100 * rest / used, rest, used, word);
		free(word);
		return 1;
	}
	return 0;
}

/* Each sample comes by itself, so a share of S of N has a relative variance of (1 - S) / (S * N).
 * Shares are of all samples, so nothing is said where filters left out some. */
static unsigned hint_few(const struct ct_profile *p)
{
	double half = CT_SAMPLING_95 / 0.5;
	const char *filter;
	int64_t samples;

	if (ct_filter_active(&filter, 1) || strcmp(ct_text(p, p->types[0].type), "samples") != 0 ||
	    strcmp(ct_text(p, p->types[0].unit), "count") != 0)
		return 0;
	samples = (int64_t)((double)ct_model_total(p, 0) / ct_times_window_thinning());
	if (samples < 1 || samples >= FEW_SAMPLES || ct_load_is_difference())
		return 0;
	fprintf(stderr,
		"cprof: hint: only %" PRId64
		" sample%s: shares under %.0f%% are \302\26150%% and more\n",
		samples, samples == 1 ? "" : "s",
		100 * half * half / ((double)samples + half * half));
	return 1;
}

/* Returns the lock profile of the same run, as `cprof run` names it, or NULL. The caller frees it.
 */
static char *locks_beside(const struct ct_profile *p, const char *wall)
{
	const char *infix = strstr(ct_base_name(wall), ".wall.");
	char *path;

	if (!infix)
		return NULL;
	path = ct_memory_printf("%.*s.lock%s", (int)(infix - wall), wall, infix + strlen(".wall"));
	if (ct_siblings_is_of_run(path, p))
		return path;
	free(path);
	return NULL;
}

/* Is L in a file of the program that may have lines? */
static bool is_in_file(const struct ct_profile *p, const struct ct_location *l)
{
	const char *path = l->mapping == CT_NONE ? "" : ct_text(p, p->mappings[l->mapping].file);

	return path[0] == '/' && path[1] != '/' && !ct_own_jit_is_path(path);
}

/* Returns the path of a module with the user's code if all such code of P lacks lines, else NULL.
 */
static const char *module_without_lines(const struct ct_profile *p, struct ct_own *own)
{
	const char *path = NULL;

	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		int k = is_in_file(p, l) ? ct_own_line(own, l) : -1;

		if (k < 0)
			continue;
		if (l->line_count && p->lines[l->first_line + (uint32_t)k].line > 0)
			return NULL;
		path = path ? path : ct_text(p, p->mappings[l->mapping].file);
	}
	return path;
}

static unsigned hint_lines(const struct ct_profile *p, const char *file, struct ct_own *own)
{
	const char *path = own ? module_without_lines(p, own) : NULL;
	char *advice, *text;

	if (!path)
		return 0;
	advice = names_advice(path, file);
	text = ct_memory_printf("%s has no line numbers of your code: %s", file, advice);
	fputs("cprof: hint: ", stderr);
	ct_out_text(stderr, text);
	fputc('\n', stderr);
	free(text);
	free(advice);
	return 1;
}

/* The CPU time of spans that mostly waited doesn't say why they were slow. */
static unsigned hint_spans(const struct ct_profile *p)
{
	double spans = ct_times_window_in_spans();
	double cpu = (double)ct_model_total(p, ct_model_default_type(p));
	char took[CT_NUMBER_ROOM], used[CT_NUMBER_ROOM];

	if (strcmp(ct_text(p, p->types[ct_model_default_type(p)].type), "cpu") != 0 || spans <= 0 ||
	    cpu >= spans / 2)
		return 0;
	fprintf(stderr,
		"cprof: hint: these spans took %s, of which %s is CPU time: cprof locks, or cprof "
		"waits, with the same options and the lock or wall profile of this run (cprof run "
		"--cpu --lock --wall) say what they waited for\n",
		ct_numbers_format(took, ct_numbers_clamp(spans), "nanoseconds", "auto"),
		ct_numbers_format(used, ct_numbers_clamp(cpu), "nanoseconds", "auto"));
	return 1;
}

/* Is P of a heap of which most isn't seen? */
static bool hint_mapped(const struct ct_profile *p)
{
	struct ct_resident r;

	return !strcmp(ct_text(p, p->types[ct_model_default_type(p)].type), "inuse_space") &&
	       ct_resident_read(p, &r) && ct_resident_hint_mapped(p, &r);
}

void ct_hints_say(const struct ct_profile *p, const char *file, struct ct_own *own)
{
	struct sums s = { 0 };
	unsigned said = 0;

	if (!p->type_count)
		return;
	said += hint_spans(p);
	if (!p->sample_count)
		return;
	sum_up(&s, p, ct_model_default_type(p));
	said += hint_lost(p, file);
	said += hint_unsampled(p, file);
	said += hint_lines(p, file, own);
	said += hint_mapped(p);
	if (matters(&s, s.jit)) {
		char *text =
			ct_memory_printf("is JIT code without names: %s", ct_own_jit_advice(p));

		say_hint(&s, s.jit, text);
		free(text);
		said++;
	}
	if (said < HINTS_MAX)
		said += hint_unnamed(p, &s, file);
	if (said < HINTS_MAX && matters(&s, s.locks)) {
		char *beside = locks_beside(p, file);
		char *word = ct_out_word(beside ? beside : file);
		char *text = beside ? ct_memory_printf("of the threads' time waits for locks: "
						       "cprof locks %s says who holds them",
						       word)
				    : ct_memory_printf("of the threads' time waits for locks: "
						       "cprof waits %s; \"cprof run --lock\" says "
						       "who holds them",
						       word);

		say_hint(&s, s.locks, text);
		free(text);
		free(word);
		free(beside);
		said++;
	}
	if (said < HINTS_MAX)
		hint_few(p);
	free(s.unnamed);
	free(s.functions);
}
