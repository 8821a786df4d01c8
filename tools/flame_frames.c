/* Locations and lines become frames. See flame_frames.h. */
#include "flame_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void ct_frames_init(struct ct_frames *frames, enum ct_frames_by by)
{
	*frames = (struct ct_frames){ .pool = ct_profile_new(), .by = by };
}

void ct_frames_release(struct ct_frames *frames)
{
	ct_profile_free(frames->pool);
	free(frames->list);
	ct_flame_map_release(&frames->map);
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Names of the mappings: what the kernel gives them, and perf's for its own code. */
static enum ct_frame_kind kind_of(const char *name, const char *module)
{
	size_t n = strlen(module);

	/* "[truncated]", "[short waits]": said of a stack, and in no module. */
	if (!*module && *name == '[' && name[strlen(name) - 1] == ']' &&
	    strcmp(name, "[unknown]") != 0)
		return strcmp(name, "[kernel]") == 0 ? CT_FRAME_KERNEL : CT_FRAME_MARK;
	if (starts(module, "[kernel") || (n > 3 && strcmp(module + n - 3, ".ko") == 0))
		return CT_FRAME_KERNEL;
	if (starts(module, "//anon") || starts(module, "[anon") || starts(module, "/memfd:") ||
	    starts(module, "[heap]") || starts(module, "/tmp/perf-"))
		return CT_FRAME_JIT;
	return CT_FRAME_USER;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* "[vdso]" and "//anon" are no paths. */
	return slash && slash[1] && path[0] != '[' && !starts(path, "//") ? slash + 1 : path;
}

static uint32_t add(struct ct_frames *frames, const struct ct_frame *f, uint64_t detail)
{
	struct ct_flame_key key = { (uint64_t)f->name << 32 | f->file,
				    (uint64_t)f->module << 32 | f->kind << 1 | f->inlined, detail };
	uint32_t *at;

	if (frames->names_only)
		key = (struct ct_flame_key){ f->name, 0, 0 };
	at = ct_flame_map_at(&frames->map, key);

	if (*at == CT_NONE) {
		*at = frames->count;
		*CT_PUSH(frames->list, frames->count, frames->room) = *f;
	}
	return *at;
}

uint32_t ct_frames_named(struct ct_frames *frames, const char *name)
{
	struct ct_frame f = { .name = ct_profile_string(frames->pool, name) };

	return add(frames, &f, UINT64_MAX);
}

static const char *module_path(const struct ct_profile *p, const struct ct_location *l)
{
	return l->mapping == CT_NONE ? "" : ct_text(p, p->mappings[l->mapping].file);
}

/* A line that varies makes no new frame unless it was asked for; the range is kept instead. */
static void note_line(struct ct_frame *f, int64_t start_line, int64_t line)
{
	if (start_line > 0 && start_line <= UINT32_MAX) {
		f->line = start_line;
		f->last_line = 0;
	} else if (line > 0 && line <= UINT32_MAX) {
		if (f->line == 0 || line < f->line)
			f->line = line;
		if (line > f->last_line)
			f->last_line = line;
	}
}

static uint32_t line_frame(struct ct_frames *frames, const struct ct_profile *p,
			   const struct ct_location *l, const struct ct_line *line, bool inlined)
{
	static const struct ct_function none = { 0 };
	const struct ct_function *fn =
		line->function == CT_NONE ? &none : &p->functions[line->function];
	const char *name = ct_text(p, fn->name), *path = module_path(p, l);
	struct ct_frame f = { .file = ct_profile_string(frames->pool, ct_text(p, fn->filename)),
			      .kind = kind_of(name, path),
			      .inlined = inlined };
	uint64_t detail = frames->by == CT_BY_LINE	? (uint64_t)line->line
			  : frames->by == CT_BY_ADDRESS ? l->address
							: 0;
	uint32_t index;
	char *text = NULL;

	if (!*name)
		name = "(no name)";
	if (frames->by == CT_BY_LINE && line->line > 0)
		name = text = ct_printf("%s:%" PRId64, name, line->line);
	else if (frames->by == CT_BY_ADDRESS)
		name = text = ct_printf("%s %#" PRIx64, name, l->address);
	f.name = ct_profile_string(frames->pool, name);
	f.module = ct_profile_string(frames->pool, base_name(path));
	free(text);
	index = add(frames, &f, detail);
	note_line(&frames->list[index], frames->by == CT_BY_FUNCTION ? fn->start_line : 0,
		  line->line);
	return index;
}

/* Nobody named it. As a function all of its module is one, as pprof has it; as an address its
 * place in the file says most.
 */
static uint32_t bare_frame(struct ct_frames *frames, const struct ct_profile *p,
			   const struct ct_location *l)
{
	const char *path = module_path(p, l), *module = base_name(path);
	struct ct_frame f = { .module = ct_profile_string(frames->pool, module),
			      .kind = kind_of("", path) };
	uint64_t at = l->address;
	char *text;

	if (*module && frames->by != CT_BY_ADDRESS) {
		text = ct_printf("[%s]", module);
	} else if (*module) {
		at = at - p->mappings[l->mapping].start + p->mappings[l->mapping].offset;
		text = ct_printf("%s+%#" PRIx64, module, at);
	} else {
		text = ct_printf("%#" PRIx64, at);
	}
	f.name = ct_profile_string(frames->pool, text);
	free(text);
	return add(frames, &f, frames->by == CT_BY_ADDRESS ? l->address : 0);
}

void ct_frames_take(struct ct_frames *frames, const struct ct_profile *p, struct ct_frames_of *of)
{
	of->profile = p;
	of->line = ct_realloc(NULL, p->line_count + 1, sizeof(*of->line));
	of->location = ct_realloc(NULL, p->location_count + 1, sizeof(*of->location));
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		of->location[i] = l->line_count ? CT_NONE : bare_frame(frames, p, l);
		for (uint32_t j = 0; j < l->line_count; j++)
			of->line[l->first_line + j] = line_frame(
				frames, p, l, &p->lines[l->first_line + j], j + 1 < l->line_count);
	}
}

void ct_frames_of_release(struct ct_frames_of *of)
{
	free(of->line);
	free(of->location);
	*of = (struct ct_frames_of){ 0 };
}

size_t ct_frames_stack(const struct ct_frames_of *of, const struct ct_sample *s, uint32_t **stack,
		       size_t *room)
{
	const struct ct_profile *p = of->profile;
	const uint32_t *locations = ct_frames(p, s);
	size_t n = 0;

	for (size_t i = s->depth; i-- > 0;) {
		const struct ct_location *l = &p->locations[locations[i]];

		if (l->line_count == 0)
			*CT_PUSH(*stack, n, *room) = of->location[locations[i]];
		for (uint32_t j = l->line_count; j-- > 0;)
			*CT_PUSH(*stack, n, *room) = of->line[l->first_line + j];
	}
	return n;
}

const char *ct_frames_label(const struct ct_profile *p, const struct ct_sample *s, const char *key)
{
	const struct ct_label_set *set = &p->label_sets[s->label_set];

	for (uint32_t i = set->first; i < set->first + set->count; i++)
		if (p->labels[i].text && strcmp(ct_text(p, p->labels[i].key), key) == 0)
			return ct_text(p, p->labels[i].text);
	return NULL;
}
