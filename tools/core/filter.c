/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes samples and frames from a profile; see model.h.
 *
 * Each name is matched once and each location is judged once; then the samples are walked with
 * these results.
 */
#include "core/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

static struct {
	const char *focus, *ignore, *hide, *show, *show_from, *tagfocus, *tagignore;
} asked;

const struct ct_option ct_filter_options[] = {
	CT_TEXT("focus", "REGEX", &asked.focus,
		"only stacks with a matching function, file or module"),
	CT_TEXT("ignore", "REGEX", &asked.ignore, "no stacks with a match"),
	CT_TEXT("hide", "REGEX", &asked.hide, "leave matching frames out of the stacks"),
	CT_TEXT("show", "REGEX", &asked.show, "only matching frames"),
	CT_TEXT("show_from", "REGEX", &asked.show_from,
		"leave out the frames above the first match"),
	CT_TEXT("tagfocus", "TAG", &asked.tagfocus,
		"only samples with this label: [KEY=]REGEX or a range, [KEY=]4kb:1mb"),
	CT_TEXT("tagignore", "TAG", &asked.tagignore, "no samples with this label"),
	CT_END
};

size_t ct_filter_active(const char **lines, size_t room)
{
	static char *made[7];
	size_t n = 0;

	for (const struct ct_option *o = ct_filter_options; o->name && n < room && n < 7; o++) {
		const char *text = *(const char **)o->to;

		if (!text || !*text)
			continue;
		free(made[n]);
		made[n] = ct_memory_printf("%s=%s", o->name, text);
		lines[n] = made[n];
		n++;
	}
	return n;
}

/* Results of matching the names of a location. */
enum verdict { FOCUSED = 1, IGNORED = 2, HIDDEN = 4, FROM_HERE = 8 };

struct filters {
	struct ct_regex *focus, *ignore, *hide, *show, *show_from;
	struct ct_tag_filter *tagfocus, *tagignore;
	bool focus_seen, ignore_seen, hide_seen, show_seen, from_seen, tagfocus_seen,
		tagignore_seen;
};

static bool module_matches(const struct ct_profile *p, const struct ct_location *l,
			   struct ct_regex *r)
{
	return l->mapping != CT_NONE && ct_regex_match_string(r, p, p->mappings[l->mapping].file);
}

static bool line_matches(const struct ct_profile *p, const struct ct_line *l, struct ct_regex *r)
{
	const struct ct_function *f = &p->functions[l->function];

	return ct_regex_match_string(r, p, f->name) || ct_regex_match_string(r, p, f->filename);
}

static bool location_matches(const struct ct_profile *p, const struct ct_location *l,
			     struct ct_regex *r)
{
	for (uint32_t i = 0; i < l->line_count; i++)
		if (line_matches(p, &p->lines[l->first_line + i], r))
			return true;
	return module_matches(p, l, r);
}

/* Keeps only the lines whose match is WANTED. */
static void keep_lines(struct ct_profile *p, struct ct_location *l, struct ct_regex *r, bool wanted)
{
	struct ct_line *lines = p->lines + l->first_line;
	bool module = module_matches(p, l, r);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->line_count; i++)
		if ((module || line_matches(p, &lines[i], r)) == wanted)
			lines[kept++] = lines[i];
	l->line_count = kept;
}

static unsigned judge_name(struct filters *f, const struct ct_profile *p,
			   const struct ct_location *l)
{
	if (f->ignore && location_matches(p, l, f->ignore)) {
		f->ignore_seen = true;
		return IGNORED;
	}
	if (f->focus && !location_matches(p, l, f->focus))
		return 0;
	f->focus_seen = true;
	return FOCUSED;
}

static unsigned judge_hiding(struct filters *f, struct ct_profile *p, struct ct_location *l)
{
	unsigned v = 0;

	if (f->hide && location_matches(p, l, f->hide)) {
		f->hide_seen = true;
		keep_lines(p, l, f->hide, false);
		v |= l->line_count ? 0 : HIDDEN;
	}
	if (f->show) {
		keep_lines(p, l, f->show, true);
		v |= l->line_count ? 0 : HIDDEN;
		f->show_seen = f->show_seen || l->line_count;
	}
	return v;
}

/* Finds the outermost match. Its callers within the same location are removed. */
static unsigned judge_from(struct filters *f, struct ct_profile *p, struct ct_location *l)
{
	if (!f->show_from)
		return 0;
	if (module_matches(p, l, f->show_from))
		return FROM_HERE;
	for (uint32_t i = l->line_count; i--;) {
		if (line_matches(p, &p->lines[l->first_line + i], f->show_from)) {
			l->line_count = i + 1;
			return FROM_HERE;
		}
	}
	return 0;
}

static bool is_wanted(const struct ct_profile *p, const struct ct_sample *s,
		      const unsigned char *verdicts)
{
	bool focused = false;

	for (uint32_t i = 0; i < s->depth; i++) {
		unsigned v = verdicts[ct_frames(p, s)[i]];

		if (v & IGNORED)
			return false;
		focused = focused || v & FOCUSED;
	}
	return focused;
}

static void hide_frames(struct ct_profile *p, struct ct_sample *s, const unsigned char *verdicts)
{
	uint32_t *frames = p->frames + s->first_frame, kept = 0;

	for (uint32_t i = 0; i < s->depth; i++)
		if (!(verdicts[frames[i]] & HIDDEN))
			frames[kept++] = frames[i];
	s->depth = kept;
}

/* Removes the frames outside of the outermost match. */
static void start_from(const struct ct_profile *p, struct ct_sample *s,
		       const unsigned char *verdicts)
{
	while (s->depth && !(verdicts[ct_frames(p, s)[s->depth - 1]] & FROM_HERE))
		s->depth--;
}

static bool judge_tags(struct filters *f, const struct ct_profile *p, uint32_t set,
		       const struct ct_label_units *units)
{
	bool focused = !f->tagfocus || ct_filter_tags_match(f->tagfocus, p, set, units);
	bool ignored = f->tagignore && ct_filter_tags_match(f->tagignore, p, set, units);

	f->tagfocus_seen = f->tagfocus_seen || focused;
	f->tagignore_seen = f->tagignore_seen || ignored;
	return focused && !ignored;
}

static void filter_samples(struct filters *f, struct ct_profile *p, const unsigned char *verdicts,
			   const bool *tags)
{
	bool names = f->focus || f->ignore || f->hide || f->show;
	uint32_t *map = ct_memory_alloc(p->sample_count * sizeof(*map));
	size_t kept = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		struct ct_sample s = p->samples[i];

		map[i] = CT_NONE;
		if ((names && !is_wanted(p, &s, verdicts)) || !tags[s.label_set])
			continue;
		if (f->hide || f->show)
			hide_frames(p, &s, verdicts);
		if (f->show_from)
			start_from(p, &s, verdicts);
		if (!s.depth && (f->hide || f->show || f->show_from))
			continue;
		if (p->type_count)
			memmove(ct_values(p, kept), ct_values(p, i),
				p->type_count * sizeof(*p->values));
		map[i] = (uint32_t)kept;
		p->samples[kept++] = s;
	}
	ct_times_map(p, map, p->sample_count, kept);
	free(map);
	p->sample_count = kept;
}

static void apply(struct filters *f, struct ct_profile *p, const struct ct_label_units *units)
{
	unsigned char *verdicts = ct_memory_alloc(p->location_count);
	bool *tags = ct_memory_alloc(p->label_set_count * sizeof(*tags));

	for (size_t i = 0; i < p->location_count; i++) {
		struct ct_location *l = &p->locations[i];
		unsigned v = judge_name(f, p, l);

		v |= judge_hiding(f, p, l);
		v |= judge_from(f, p, l);
		f->from_seen = f->from_seen || v & FROM_HERE;
		verdicts[i] = (unsigned char)v;
	}
	for (size_t i = 0; i < p->label_set_count; i++)
		tags[i] = judge_tags(f, p, (uint32_t)i, units);
	filter_samples(f, p, verdicts, tags);
	free(verdicts);
	free(tags);
}

/* Compiles TEXT unless it is NULL or empty. Returns false if it is no valid expression. */
static bool compile(struct ct_regex **r, const char *option, const char *text)
{
	if (text && *text)
		*r = ct_regex_new(option, text);
	return !text || !*text || *r;
}

static bool compile_tag(struct ct_tag_filter **f, const char *option, const char *text)
{
	if (text && *text)
		*f = ct_filter_tags_new(option, text);
	return !text || !*text || *f;
}

static bool compile_all(struct filters *f)
{
	return compile(&f->focus, "focus", asked.focus) &&
	       compile(&f->ignore, "ignore", asked.ignore) &&
	       compile(&f->hide, "hide", asked.hide) && compile(&f->show, "show", asked.show) &&
	       compile(&f->show_from, "show_from", asked.show_from) &&
	       compile_tag(&f->tagfocus, "tagfocus", asked.tagfocus) &&
	       compile_tag(&f->tagignore, "tagignore", asked.tagignore);
}

static void warn(bool given, bool seen, const char *option)
{
	if (given && !seen)
		fprintf(stderr, "cprof: -%s matched nothing\n", option);
}

static void warn_all(const struct filters *f)
{
	warn(f->focus, f->focus_seen, "focus");
	warn(f->ignore, f->ignore_seen, "ignore");
	warn(f->hide, f->hide_seen, "hide");
	warn(f->show, f->show_seen, "show");
	warn(f->show_from, f->from_seen, "show_from");
	warn(f->tagfocus, f->tagfocus_seen, "tagfocus");
	warn(f->tagignore, f->tagignore_seen, "tagignore");
}

static void release_filters(struct filters *f)
{
	ct_regex_free(f->focus);
	ct_regex_free(f->ignore);
	ct_regex_free(f->hide);
	ct_regex_free(f->show);
	ct_regex_free(f->show_from);
	ct_filter_tags_free(f->tagfocus);
	ct_filter_tags_free(f->tagignore);
}

int ct_filter(struct ct_profile *p, const struct ct_label_units *units)
{
	struct filters f = { 0 };
	const char *lines[1];
	bool fine = compile_all(&f);

	if (fine && ct_filter_active(lines, 1)) {
		ct_idle_learn(p);
		apply(&f, p, units);
		warn_all(&f);
	}
	release_filters(&f);
	return fine ? 0 : -1;
}

int ct_filter_alone(struct ct_profile *p)
{
	struct ct_label_units units;
	int answer;

	ct_filter_tags_units_init(&units, p);
	answer = ct_filter(p, &units);
	ct_filter_tags_units_release(&units);
	return answer;
}
