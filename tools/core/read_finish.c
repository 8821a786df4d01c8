/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of reading: turns ids into indices, and checks every index; see read.h. */
#include "core/read.h"

#include <errno.h>

static int bad(struct ct_messages *m, const char *what)
{
	ct_input_fault_say(m->fault, m->offset, "%s", what);
	return -EBADMSG;
}

/* Returns the index for NUMBER, or CT_NONE. */
static uint32_t resolve(const uint32_t *at, size_t room, uint32_t number)
{
	return number < room && at[number] ? at[number] - 1 : CT_NONE;
}

static int resolve_ids(struct ct_messages *m)
{
	struct ct_profile *p = m->p;

	for (size_t i = 0; i < p->frame_count; i++) {
		p->frames[i] = resolve(m->location_at, m->location_room, p->frames[i]);
		if (p->frames[i] == CT_NONE)
			return bad(m, "a sample has a location that is not there");
	}
	for (size_t i = 0; i < p->line_count; i++) {
		struct ct_line *l = &p->lines[i];

		l->function = resolve(m->function_at, m->function_room, l->function);
		if (l->function == CT_NONE)
			return bad(m, "a line has a function that is not there");
	}
	for (size_t i = 0; i < p->location_count; i++)
		if (p->locations[i].mapping != CT_NONE)
			p->locations[i].mapping =
				resolve(m->mapping_at, m->mapping_room, p->locations[i].mapping);
	return 0;
}

static bool strings_are_there(const struct ct_profile *p)
{
	uint32_t most = 0;

#define SEE(index) (most = (index) > most ? (index) : most)
	for (size_t i = 0; i < p->type_count; i++)
		SEE(p->types[i].type), SEE(p->types[i].unit);
	for (size_t i = 0; i < p->label_count; i++)
		SEE(p->labels[i].key), SEE(p->labels[i].text), SEE(p->labels[i].unit);
	for (size_t i = 0; i < p->mapping_count; i++)
		SEE(p->mappings[i].file), SEE(p->mappings[i].build_id);
	for (size_t i = 0; i < p->function_count; i++)
		SEE(p->functions[i].name), SEE(p->functions[i].system_name),
			SEE(p->functions[i].filename);
	for (size_t i = 0; i < p->comment_count; i++)
		SEE(p->comments[i]);
	SEE(p->period_type.type), SEE(p->period_type.unit), SEE(p->default_type);
	SEE(p->drop_frames), SEE(p->keep_frames), SEE(p->doc_url);
#undef SEE
	return most < p->string_count;
}

int ct_read_finish(struct ct_messages *m)
{
	if (m->p->sample_count && !m->types_seen)
		return bad(m, "there are samples but no sample types");
	if (m->types_seen < m->p->type_count)
		return bad(m, "there are fewer sample types than values of a sample");
	if (!strings_are_there(m->p))
		return bad(m, "a string index is out of range");
	return resolve_ids(m);
}
