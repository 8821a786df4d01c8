/* SPDX-License-Identifier: BSD-3-Clause */
/* Locations and lines become frames. See flame.h. */
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

void ct_flame_frames_init(struct ct_frames *frames, enum ct_frames_by by)
{
	*frames = (struct ct_frames){ .pool = ct_model_new(), .by = by };
}

void ct_flame_frames_release(struct ct_frames *frames)
{
	ct_model_free(frames->pool);
	free(frames->list);
	ct_flame_map_release(&frames->map);
}

static const struct ct_function no_function = { 0 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* "[vdso]" and "//anon" are not paths. */
	return slash && slash[1] && path[0] != '[' && !ct_starts(path, "//") ? slash + 1 : path;
}

static const char *program_path(const struct ct_profile *p)
{
	return p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
}

static enum ct_frame_kind code_kind(const struct ct_profile *p, const struct ct_function *f,
				    const char *path)
{
	if (ct_own_is_runtime_module(path) ||
	    ct_own_is_library_function(ct_text(p, f->name), ct_text(p, f->system_name),
				       ct_text(p, f->filename)))
		return CT_FRAME_RUNTIME;
	return !*path || ct_own_is_beside(path, program_path(p)) ? CT_FRAME_PROGRAM
								 : CT_FRAME_LIBRARY;
}

/* Returns the kind of a mapping name that the kernel gives, or of perf's name for the kernel's
 * code. */
static enum ct_frame_kind kind_of(const struct ct_profile *p, const struct ct_location *l,
				  const struct ct_function *f, const char *module)
{
	const char *name = ct_text(p, f->name);
	size_t n = strlen(module);

	/* "[truncated]" and "[short waits]" describe a stack, and belong to no module. */
	if (!*module && *name == '[' && name[strlen(name) - 1] == ']' &&
	    strcmp(name, "[unknown]") != 0)
		return strcmp(name, "[kernel]") == 0 ? CT_FRAME_KERNEL : CT_FRAME_MARK;
	if (ct_starts(module, "[kernel") || (n > 3 && strcmp(module + n - 3, ".ko") == 0))
		return CT_FRAME_KERNEL;
	if (ct_own_jit_is(p, l, name))
		return CT_FRAME_JIT;
	return code_kind(p, f, module);
}

static const char *module_path(const struct ct_profile *p, const struct ct_location *l)
{
	return l->mapping == CT_NONE ? "" : ct_text(p, p->mappings[l->mapping].file);
}

/* Returns a number that is the same for the module of L in all builds: the name is "" for a
 * program, and ends at ".so" for a library. */
static uint32_t module_of_builds(struct ct_frames *frames, const struct ct_profile *p,
				 const struct ct_location *l)
{
	const char *path = module_path(p, l), *name = base_name(path),
		   *version = strstr(name, ".so.");
	char *text;
	uint32_t string;

	if (!*path || strcmp(path, program_path(p)) == 0)
		return 0;
	text = ct_memory_printf("%.*s", version ? (int)(version + 3 - name) : (int)strlen(name),
				name);
	string = ct_model_string(frames->pool, text);
	free(text);
	return string;
}

static uint32_t add_frame(struct ct_frames *frames, const struct ct_frame *f, uint64_t detail,
			  uint32_t module)
{
	struct ct_flame_key key = { (uint64_t)f->name << 32 | f->file,
				    (uint64_t)f->module << 32 | f->kind << 1 | f->inlined, detail };
	uint32_t *at;

	if (frames->builds_are_one)
		key = (struct ct_flame_key){ f->name, module, detail };
	if (frames->names_only)
		key = (struct ct_flame_key){ f->name, 0, 0 };
	at = ct_flame_map_at(&frames->map, key);

	if (*at == CT_NONE) {
		*at = frames->count;
		*CT_PUSH(frames->list, frames->count, frames->room) = *f;
	}
	return *at;
}

uint32_t ct_flame_frames_named(struct ct_frames *frames, const char *name)
{
	struct ct_frame f = { .name = ct_model_string(frames->pool, name) };

	return add_frame(frames, &f, UINT64_MAX, 0);
}

/* Lines of one function make no new frame unless frames are wanted by line; the range of lines is
 * kept instead. */
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
	const struct ct_function *fn =
		line->function == CT_NONE ? &no_function : &p->functions[line->function];
	const char *name = ct_text(p, fn->name), *path = module_path(p, l);
	const char *file = ct_text(p, fn->filename);
	struct ct_frame f = { .file = ct_model_string(frames->pool, file),
			      .kind = kind_of(p, l, fn, path),
			      .inlined = inlined };
	uint64_t detail = frames->by == CT_BY_LINE	? (uint64_t)line->line
			  : frames->by == CT_BY_ADDRESS ? l->address
							: 0;
	uint32_t index;
	char *text = NULL;

	if (!*name)
		name = "(no name)";
	if (frames->by == CT_BY_LINE && line->line > 0)
		name = text = ct_memory_printf("%s:%" PRId64, name, line->line);
	else if (frames->by == CT_BY_ADDRESS)
		name = text = ct_memory_printf("%s %#" PRIx64, name, l->address);
	f.name = ct_model_string(frames->pool, name);
	f.module = ct_model_string(frames->pool, base_name(path));
	free(text);
	index = add_frame(frames, &f, detail, module_of_builds(frames, p, l));
	note_line(&frames->list[index], frames->by == CT_BY_FUNCTION ? fn->start_line : 0,
		  line->line);
	return index;
}

/* Returns the frame of a location without a name. By function, all such locations of a module are
 * one frame, as in pprof; by address, the frame is the place in the module's file.
 */
static uint32_t bare_frame(struct ct_frames *frames, const struct ct_profile *p,
			   const struct ct_location *l)
{
	const char *path = module_path(p, l), *module = base_name(path);
	struct ct_frame f = { .module = ct_model_string(frames->pool, module),
			      .kind = kind_of(p, l, &no_function, path) };
	uint64_t at = l->address;
	char *text;

	if (*module && frames->by != CT_BY_ADDRESS) {
		text = ct_memory_printf("[%s]", module);
	} else if (*module) {
		at = at - p->mappings[l->mapping].start + p->mappings[l->mapping].offset;
		text = ct_memory_printf("%s+%#" PRIx64, module, at);
	} else {
		text = ct_memory_printf("%#" PRIx64, at);
	}
	f.name = ct_model_string(frames->pool, text);
	free(text);
	return add_frame(frames, &f, frames->by == CT_BY_ADDRESS ? l->address : 0,
			 module_of_builds(frames, p, l));
}

void ct_flame_frames_take(struct ct_frames *frames, const struct ct_profile *p,
			  struct ct_frames_of *of)
{
	uint32_t mark = frames->builds_are_one ? CT_FRAME_INLINED : 0, n = 0;

	of->profile = p;
	of->frames =
		ct_memory_realloc(NULL, p->line_count + p->location_count + 1, sizeof(*of->frames));
	of->first = ct_memory_realloc(NULL, p->location_count + 1, sizeof(*of->first));
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		of->first[i] = n;
		if (!l->line_count)
			of->frames[n++] = bare_frame(frames, p, l);
		for (uint32_t j = 0; j < l->line_count; j++) {
			bool inlined = j + 1 < l->line_count;

			of->frames[n++] =
				line_frame(frames, p, l, &p->lines[l->first_line + j], inlined) |
				(inlined ? mark : 0);
		}
	}
	of->first[p->location_count] = n;
}

void ct_flame_frames_of_release(struct ct_frames_of *of)
{
	free(of->frames);
	free(of->first);
	*of = (struct ct_frames_of){ 0 };
}

size_t ct_flame_frames_stack(const struct ct_frames_of *of, const struct ct_sample *s,
			     uint32_t **stack, size_t *room)
{
	const uint32_t *locations = ct_frames(of->profile, s);
	size_t n = 0;

	for (size_t i = s->depth; i-- > 0;)
		for (uint32_t j = of->first[locations[i] + 1]; j-- > of->first[locations[i]];)
			*CT_PUSH(*stack, n, *room) = of->frames[j];
	return n;
}

const char *ct_flame_frames_label(const struct ct_profile *p, const struct ct_sample *s,
				  const char *key)
{
	const struct ct_label *l = ct_model_label(p, s->label_set, key);

	return l && l->text ? ct_text(p, l->text) : NULL;
}
