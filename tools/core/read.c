/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the top level of a profile's bytes; see read.h. read_messages.c reads the contents of the
 * messages.
 *
 * A window of the input is kept, just big enough for the current message.
 */
#include "core/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "core/times.h"

#define WINDOW ((size_t)256 << 10)
/* A stack of a million frames fits; unpacked it takes 8 to 32 times as much. */
#define MESSAGE_MAX ((size_t)4 << 20)
#define STRING_MAX ((size_t)64 << 20)
/* Other tools' files, which are larger than ours. */
#define LEGACY_MAX ((size_t)1 << 30)
#define FIELD_MAX ((1 << 29) - 1)

#define NOT_OURS "not a pprof profile"

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

enum field {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	DROP_FRAMES = 7,
	KEEP_FRAMES = 8,
	TIME_NANOS = 9,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	COMMENT = 13,
	DEFAULT_SAMPLE_TYPE = 14,
	DOC_URL = 15,
	TIMES = CT_TIMES_FIELD,
};

struct reader {
	struct ct_input *in;
	struct ct_fault *fault;
	uint8_t *window;
	size_t room, at, end; /* bytes that are not yet read: window[at .. end - 1] */
	uint64_t before;      /* bytes of the input before the window */
	bool ended;
	struct ct_messages m;
};

static uint64_t offset(const struct reader *r)
{
	return r->before + r->at;
}

static int bad(struct reader *r, const char *what)
{
	ct_input_fault_say(r->fault, offset(r), "%s", what);
	return -EBADMSG;
}

/* Makes sure that the window has N bytes if the input has them. The window grows with the bytes
 * that arrive, not by the value of a length field. */
static int fill_window(struct reader *r, size_t n)
{
	if (r->at) {
		memmove(r->window, r->window + r->at, r->end - r->at);
		r->before += r->at;
		r->end -= r->at;
		r->at = 0;
	}
	while (r->end < n && !r->ended) {
		long got;

		if (r->end == r->room)
			r->window = ct_memory_grow(r->window, &r->room, r->room + 1, 1);
		got = ct_input_read(r->in, r->window + r->end, r->room - r->end, r->fault);
		if (got < 0)
			return (int)got;
		r->ended = !got;
		r->end += (size_t)got;
	}
	return 0;
}

static int need(struct reader *r, size_t n)
{
	int e = r->end - r->at < n ? fill_window(r, n) : 0;

	if (!e && r->end - r->at < n)
		return bad(r, "the data ends in the middle: copy or fetch the file anew");
	return e;
}

static int varint(struct reader *r, uint64_t *value)
{
	uint64_t v = 0;

	for (unsigned n = 0; n < 10; n++) {
		int e = r->at < r->end ? 0 : need(r, 1);
		uint8_t c;

		if (e)
			return e;
		c = r->window[r->at++];
		v |= (uint64_t)(c & 0x7f) << 7 * n;
		if (!(c & 0x80)) {
			*value = v;
			return 0;
		}
	}
	return bad(r, "a number has more than ten bytes");
}

static int message(struct reader *r, uint64_t field, const uint8_t *data, size_t size)
{
	switch (field) {
	case SAMPLE_TYPE: return ct_read_messages_type(&r->m, data, size);
	case SAMPLE: return ct_read_messages_sample(&r->m, data, size);
	case MAPPING: return ct_read_messages_mapping(&r->m, data, size);
	case LOCATION: return ct_read_messages_location(&r->m, data, size);
	case FUNCTION: return ct_read_messages_function(&r->m, data, size);
	case STRING: return ct_read_messages_string(&r->m, data, size);
	case PERIOD_TYPE: return ct_read_messages_period_type(&r->m, data, size);
	default: return 0; /* a field of a later version of the format */
	}
}

static int take_number(struct reader *r, uint64_t field, uint64_t value)
{
	struct ct_profile *p = r->m.p;

	switch (field) {
	case DROP_FRAMES: return ct_read_messages_index(&r->m, value, &p->drop_frames);
	case KEEP_FRAMES: return ct_read_messages_index(&r->m, value, &p->keep_frames);
	case DEFAULT_SAMPLE_TYPE: return ct_read_messages_index(&r->m, value, &p->default_type);
	case DOC_URL: return ct_read_messages_index(&r->m, value, &p->doc_url);
	case COMMENT: return ct_read_messages_comment(&r->m, value);
	case TIME_NANOS: p->time_nanos = (int64_t)value; return 0;
	case DURATION_NANOS: p->duration_nanos = (int64_t)value; return 0;
	case PERIOD: p->period = (int64_t)value; return 0;
	case SAMPLE_TYPE:
	case SAMPLE:
	case MAPPING:
	case LOCATION:
	case FUNCTION:
	case STRING:
	case PERIOD_TYPE: return bad(r, "a number stands where a message belongs");
	default: return 0;
	}
}

/* Comments may be packed. */
static int packed_comments(struct reader *r, size_t size)
{
	uint64_t end = offset(r) + size, value;
	int e = 0;

	while (!e && offset(r) < end) {
		e = varint(r, &value);
		e = e ? e : take_number(r, COMMENT, value);
	}
	return e || offset(r) == end ? e : bad(r, "the comments are malformed");
}

/* The index is what a profile can do without: one that is too long is passed over, and if the data
 * end within it, what came before is a profile. */
static int times(struct reader *r, uint64_t size)
{
	struct ct_fault kept = *r->fault;

	if (size <= CT_TIMES_MAX && !need(r, size)) {
		ct_times_read(r->m.p, r->window + r->at, size);
		r->at += size;
		return 0;
	}
	while (size && r->at < r->end) {
		size_t part = r->end - r->at < size ? r->end - r->at : size;

		r->at += part;
		size -= part;
		if (size && fill_window(r, 1))
			r->at = r->end, r->ended = true;
	}
	*r->fault = kept;
	ct_times_refuse(r->m.p,
			size ? "is cut: the data ends in the middle of it" : "has too many bytes");
	return 0;
}

static int bytes(struct reader *r, uint64_t field)
{
	uint64_t size;
	int e = varint(r, &size);

	if (e)
		return e;
	if (field == TIMES)
		return times(r, size);
	if (size > (field == STRING ? STRING_MAX : MESSAGE_MAX)) {
		bad(r, field == STRING ? "a string is too long" : "a message is too long");
		return -EFBIG;
	}
	e = need(r, size);
	if (e)
		return e;
	if (field == COMMENT)
		return packed_comments(r, size);
	e = message(r, field, r->window + r->at, size);
	r->at += size;
	return e;
}

static int skip(struct reader *r, size_t size)
{
	int e = need(r, size);

	r->at += e ? 0 : size;
	return e;
}

static int field(struct reader *r)
{
	uint64_t tag, value;
	int e;

	r->m.offset = offset(r);
	e = varint(r, &tag);
	if (e)
		return e;
	if (!(tag >> 3) || tag >> 3 > FIELD_MAX)
		return bad(r, r->m.offset ? "no field has this number" : NOT_OURS);
	switch (tag & 7) {
	case VARINT: e = varint(r, &value); return e ? e : take_number(r, tag >> 3, value);
	case BYTES: return bytes(r, tag >> 3);
	case FIXED64: return skip(r, 8);
	case FIXED32: return skip(r, 4);
	default: return bad(r, r->m.offset ? "no field is of this kind" : NOT_OURS);
	}
}

static int fields(struct reader *r)
{
	int e = 0;

	while (!e) {
		if (r->at == r->end)
			e = fill_window(r, 1);
		if (e || r->at == r->end)
			return e;
		e = field(r);
	}
	return e;
}

static bool nothing_known(const struct ct_profile *p)
{
	return !p->type_count && !p->sample_count && p->string_count == 1;
}

/* The input is text, or another tool's file, described by DESCRIBED. A message about its first
 * bytes would not help. */
static void call_it_foreign(struct ct_fault *fault, const char *described)
{
	char why[sizeof(fault->text)];

	if (*described)
		ct_input_fault_say(fault, 0, NOT_OURS ", %s", described);
	else if (!strcmp(fault->text, NOT_OURS))
		ct_input_fault_say(fault, 0,
				   NOT_OURS ", but binary data of an unknown kind: cprof "
					    "reads " CT_FOREIGN_READS);
	else
		ct_input_fault_say(fault, fault->offset,
				   NOT_OURS ": %.110s; cprof reads " CT_FOREIGN_READS,
				   strcpy(why, fault->text));
}

/* Removes what isn't part of a word from the names of types and units, which are printed within
 * lines. */
static void make_word(struct ct_profile *p, uint32_t *index)
{
	const char *text = ct_text(p, *index);
	size_t left = strlen(text), n;
	char *word = ct_memory_alloc(left + 1);
	bool safe, all = true;

	for (size_t to = 0; left; text += n, left -= n) {
		n = cp_text_character(text, left, &safe);
		n += !n;
		all &= safe;
		memcpy(word + to, safe ? text : "?", safe ? n : 1);
		to += safe ? n : 1;
	}
	if (!all)
		*index = ct_model_string(p, word);
	free(word);
}

static void make_words(struct ct_profile *p)
{
	for (size_t i = 0; i < p->type_count; i++) {
		make_word(p, &p->types[i].type);
		make_word(p, &p->types[i].unit);
	}
	make_word(p, &p->period_type.type);
	make_word(p, &p->period_type.unit);
	make_word(p, &p->default_type);
}

/* ---- the end of reading: ids become indices, and every index is checked ---- */

static int bad_end(struct ct_messages *m, const char *what)
{
	ct_input_fault_say(m->fault, m->offset, "%s", what);
	return -EBADMSG;
}

/* Returns the index for NUMBER, or CT_NONE. */
static uint32_t resolve_number(const uint32_t *at, size_t room, uint32_t number)
{
	return number < room && at[number] ? at[number] - 1 : CT_NONE;
}

static int resolve_ids(struct ct_messages *m)
{
	struct ct_profile *p = m->p;

	for (size_t i = 0; i < p->frame_count; i++) {
		p->frames[i] = resolve_number(m->location_at, m->location_room, p->frames[i]);
		if (p->frames[i] == CT_NONE)
			return bad_end(m, "a sample has a location that is not there");
	}
	for (size_t i = 0; i < p->line_count; i++) {
		struct ct_line *l = &p->lines[i];

		l->function = resolve_number(m->function_at, m->function_room, l->function);
		if (l->function == CT_NONE)
			return bad_end(m, "a line has a function that is not there");
	}
	for (size_t i = 0; i < p->location_count; i++)
		if (p->locations[i].mapping != CT_NONE)
			p->locations[i].mapping = resolve_number(m->mapping_at, m->mapping_room,
								 p->locations[i].mapping);
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

/* Ends the reading: turns ids into indices, and checks every index. */
static int finish(struct ct_messages *m)
{
	if (m->p->sample_count && !m->types_seen)
		return bad_end(m, "there are samples but no sample types");
	if (m->types_seen < m->p->type_count)
		return bad_end(m, "there are fewer sample types than values of a sample");
	if (!strings_are_there(m->p))
		return bad_end(m, "a string index is out of range");
	ct_times_finish(m->p);
	return resolve_ids(m);
}

/* Another tool's profile is read as a whole. */
static int legacy(struct reader *r)
{
	int e = fill_window(r, LEGACY_MAX);

	if (!e && !r->ended) {
		bad(r, "the file is too long");
		return -EFBIG;
	}
	if (r->end == r->room)
		r->window = ct_memory_grow(r->window, &r->room, r->room + 1, 1);
	r->window[r->end] = '\0';
	r->at = r->end;
	return e ? e : ct_legacy_read(&r->m, (char *)r->window, r->end, ct_input_written(r->in));
}

int ct_read(struct ct_profile **p, struct ct_input *in, struct ct_fault *fault)
{
	struct reader r = { .in = in, .fault = fault };
	struct ct_profile *made = ct_model_new();
	char foreign[sizeof(fault->text)] = "";
	bool is_legacy;
	int e;

	r.window = ct_memory_realloc(NULL, WINDOW, 1);
	r.room = WINDOW;
	ct_read_messages_init(&r.m, made, fault);
	e = fill_window(&r, 1);
	is_legacy = !e && ct_legacy_is(r.window, r.end);
	if (is_legacy) {
		e = legacy(&r);
	} else if (!e) {
		ct_foreign_describe(foreign, sizeof(foreign), r.window, r.end);
		e = fields(&r);
	}
	if (!e && !offset(&r))
		e = bad(&r, "is empty: the process that was to write it was ended before, or had "
			    "no room");
	if (!e && !is_legacy)
		e = finish(&r.m);
	if (e == -EBADMSG && offset(&r) && nothing_known(made))
		call_it_foreign(fault, foreign);
	ct_read_messages_release(&r.m);
	free(r.window);
	if (e) {
		ct_model_free(made);
		return e;
	}
	make_words(made);
	*p = made;
	return 0;
}

/* A source that is read, perhaps by a thread. */
struct reading {
	struct ct_input *in;
	struct ct_profile *p;
	struct ct_fault fault;
	int error;
	bool is_begun, has_thread;
	pthread_t thread;
};

static void *read_on(void *reading)
{
	struct reading *r = reading;

	r->error = ct_read(&r->p, r->in, &r->fault);
	return NULL;
}

static void begin_reading(struct reading *r, const char *source, bool threaded)
{
	r->is_begun = true;
	r->error = ct_input_open(&r->in, source, &r->fault);
	if (r->error)
		return;
	r->has_thread = threaded && !pthread_create(&r->thread, NULL, read_on, r);
	if (!r->has_thread)
		read_on(r);
}

static struct ct_profile *end_reading(struct reading *r, const char *source)
{
	if (r->has_thread)
		pthread_join(r->thread, NULL);
	ct_input_close(r->in);
	if (r->error && r->fault.offset)
		fprintf(stderr, "cprof: %s: %s (at byte %llu of the uncompressed data)\n", source,
			r->fault.text, (unsigned long long)r->fault.offset);
	else if (r->error)
		fprintf(stderr, "cprof: %s: %s\n", source, r->fault.text);
	if (r->p)
		ct_legacy_name(r->p, source);
	if (r->p && r->p->times_fault)
		fprintf(stderr, "cprof: %s: its time index is not used: it %s\n", source,
			r->p->times_fault);
	return r->p;
}

struct ct_profile *ct_read_source(const char *source)
{
	struct reading r = { 0 };

	begin_reading(&r, source, false);
	return end_reading(&r, source);
}

/* May SOURCE be read before it is its turn? A pipe's writer may have to be waited for. */
static bool is_file(const char *source)
{
	struct stat st;

	return !ct_input_is_url(source) && !stat(source, &st) && S_ISREG(st.st_mode);
}

int ct_read_sources(struct ct_profile **p, const char *const *sources, size_t count)
{
	struct reading *all = ct_memory_alloc(count * sizeof(*all));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t ahead = processors < 1 ? 1 : (size_t)processors, done = 0;

	while (done < count) {
		for (size_t i = done; i < count && i < done + ahead; i++)
			if (!all[i].is_begun && (i == done || is_file(sources[i])))
				begin_reading(&all[i], sources[i], ahead > 1 && count > 1);
		p[done] = end_reading(&all[done], sources[done]);
		if (!p[done])
			break;
		done++;
	}
	for (size_t i = done + 1; i < count && done < count; i++) {
		if (all[i].has_thread)
			pthread_join(all[i].thread, NULL);
		ct_input_close(all[i].in);
		ct_model_free(all[i].p);
	}
	for (size_t i = 0; i < done && done < count; i++)
		ct_model_free(p[i]);
	free(all);
	return done < count ? -1 : 0;
}
