/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the profiles of jemalloc and gperftools, which have addresses and the text of
 * /proc/PID/maps, but no names; see read.h. Called by read.c.
 */
#include "core/read.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "core/report.h"

/* Larger counts are damage: doubles, and products with the period, would not be exact. */
#define COUNT_MAX ((int64_t)1 << 53)
#define HEADER_MAX 100
#define PERIOD_MAX 100000000 /* microseconds */

void (*ct_legacy_names)(struct ct_profile *p);
bool ct_legacy_any_file;

/* Text that is read line by line; END is a NUL. */
struct text {
	char *begin, *at, *end;
};

struct heap {
	struct ct_messages *m;
	size_t depth;	/* frames of the stack that was read last */
	int64_t period; /* 1: every allocation was recorded */
	bool allocated; /* the file has what was allocated in all, too */
};

static int bad(struct ct_messages *m, const char *what)
{
	ct_input_fault_say(m->fault, m->offset, "%s", what);
	return -EBADMSG;
}

static int cut(struct ct_messages *m)
{
	return bad(m, "the data ends in the middle: copy or fetch the file anew");
}

/* Returns word I of a CPU profile. */
static uint64_t word(const char *data, size_t i, size_t width)
{
	uint64_t wide;
	uint32_t narrow;

	if (width == sizeof(narrow)) {
		memcpy(&narrow, data + i * width, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, data + i * width, sizeof(wide));
	return wide;
}

/* Recognizes a CPU profile's header: 0, the number of words that follow, version 0, period, 0.
 * Returns the size of its words, or 0. */
static size_t cpu_width(const char *data, size_t size)
{
	for (size_t w = 4; w <= 8; w += 4)
		if (size >= 5 * w && !word(data, 0, w) && word(data, 1, w) >= 3 &&
		    word(data, 1, w) < HEADER_MAX && !word(data, 2, w) && word(data, 3, w) &&
		    word(data, 3, w) <= PERIOD_MAX && !word(data, 4, w))
			return w;
	return 0;
}

static bool begins(const char *data, size_t size, const char *text)
{
	return size >= strlen(text) && !memcmp(data, text, strlen(text));
}

bool ct_legacy_is(const void *begin, size_t size)
{
	return begins(begin, size, "heap_v2/") || begins(begin, size, "heap profile:") ||
	       cpu_width(begin, size);
}

static void add_type(struct ct_profile *p, const char *type, const char *unit)
{
	ct_model_add_type(p,
			  (struct ct_type){ ct_model_string(p, type), ct_model_string(p, unit) });
}

static uint32_t location_of(struct ct_messages *m, uint64_t address)
{
	uint32_t i = ct_ids_number(&m->location_ids, address);

	if (i == m->p->location_count)
		ct_model_add_location(
			m->p, &(struct ct_location){ .address = address, .mapping = CT_NONE }, NULL,
			0);
	return i;
}

/* Return addresses are those of the next instruction, which may belong to another line. */
static uint32_t call_at(struct ct_messages *m, uint64_t address)
{
	return location_of(m, address - (address > 0));
}

/* Returns the next line that isn't empty, without the blanks at its begin. Returns NULL at the end,
 * or with *E set if the last line has none. */
static char *next_line(struct ct_messages *m, struct text *t, int *e)
{
	char *line, *newline;

	do {
		line = t->at;
		m->offset = (uint64_t)(line - t->begin);
		newline = memchr(line, '\n', (size_t)(t->end - line));
		if (!newline) {
			*e = line < t->end ? cut(m) : 0;
			return NULL;
		}
		*newline = '\0';
		t->at = newline + 1;
		line += strspn(line, " \t\r");
	} while (!*line);
	return line;
}

/* ---- the mappings ---- */

/* Is another file at PATH than the one that was mapped? The formats have no build ids. A build
 * makes a new file; one that is written in place is newer than the profile. */
static bool is_other(const char *path, uint64_t inode, int64_t written)
{
	struct stat st;

	return *path == '/' && (stat(path, &st) || (inode && st.st_ino != inode) ||
				(written && st.st_mtime > written / 1000000000));
}

/* Adds the mapping of LINE if it is of code. Lines of other kinds ("build=...") are left out. */
static void add_mapping(struct ct_profile *p, const char *line, int64_t written)
{
	struct ct_mapping m = { .start = 0 };
	char rights[5];
	uint64_t inode;
	int n = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &m.start,
		   &m.limit, rights, &m.offset, &inode, &n) != 5 ||
	    !n || strlen(rights) < 3 || rights[2] != 'x' || m.start >= m.limit)
		return;
	m.file = ct_model_string(p, line + n);
	m.is_other = !ct_legacy_any_file && is_other(line + n, inode, written);
	ct_model_add_mapping(p, &m);
}

static int by_start(const void *a, const void *b)
{
	const struct ct_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static uint32_t mapping_of(const struct ct_profile *p, uint64_t address)
{
	size_t low = 0, high = p->mapping_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->mappings[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < p->mappings[low - 1].limit ? (uint32_t)(low - 1) : CT_NONE;
}

static int read_mappings(struct ct_messages *m, struct text *t, int64_t written)
{
	struct ct_profile *p = m->p;
	const char *line;
	int e = 0;

	while ((line = next_line(m, t, &e)))
		add_mapping(p, line, written);
	if (!e && !p->mapping_count)
		return bad(m, "the addresses of the program and its libraries are missing: the "
			      "file is cut, or made of another one");
	if (p->mapping_count)
		qsort(p->mappings, p->mapping_count, sizeof(*p->mappings), by_start);
	for (size_t i = 0; i < p->location_count; i++)
		p->locations[i].mapping = mapping_of(p, p->locations[i].address);
	return e;
}

/* ---- heap profiles ---- */

static bool is_jemalloc(const struct ct_profile *p, uint32_t location)
{
	uint32_t m = p->locations[location].mapping;

	return m != CT_NONE &&
	       cp_text_begins(ct_base_name(ct_text(p, p->mappings[m].file)), "libjemalloc.");
}

/* Removes the frames of jemalloc's library from the leaves. It is mostly stripped, so that
 * drop_frames doesn't match them. */
static void drop_jemalloc(struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++) {
		struct ct_sample *s = &p->samples[i];

		for (; s->depth > 1 && is_jemalloc(p, *ct_frames(p, s)); s->depth--)
			s->first_frame++;
	}
}

/* Reads "1: 2 [3: 4]": objects and bytes in use, and allocated in all. Returns what follows, or
 * NULL. */
static const char *counts(const char *line, int64_t v[4])
{
	int n = 0;

	if (sscanf(line, "%" SCNd64 " : %" SCNd64 " [ %" SCNd64 " : %" SCNd64 " ] %n", v, v + 1,
		   v + 2, v + 3, &n) != 4 ||
	    !n)
		return NULL;
	for (unsigned i = 0; i < 4; i++)
		if (v[i] > COUNT_MAX || v[i] < -COUNT_MAX)
			return NULL;
	return line + n;
}

/* Makes an estimate of the allocations of what was sampled of them: an allocation of n bytes is
 * sampled with the probability 1 - e^(-n/period). Returns whether it is a number. */
static bool scale(int64_t v[2], int64_t period)
{
	double chance;

	if (period <= 1 || !v[0] || !v[1])
		return true;
	chance = -expm1(-fabs((double)v[1] / (double)v[0]) / (double)period);
	for (unsigned i = 0; i < 2; i++) {
		if (fabs((double)v[i]) / chance > (double)COUNT_MAX)
			return false;
		v[i] = llround((double)v[i] / chance);
	}
	return true;
}

/* Reads "0x1234 0x5678". */
static int read_stack(struct heap *h, const char *at)
{
	uint64_t address;

	for (h->depth = 0; *(at += strspn(at, " \t\r"));) {
		at += cp_text_begins(at, "0x") ? 2 : 0;
		if (cp_text_parse_u64(&at, 16, &address))
			return bad(h->m, "an address is malformed");
		*CT_PUSH(h->m->frames, h->depth, h->m->frame_room) = call_at(h->m, address);
	}
	return 0;
}

/* Adds the stack that was read last. */
static int add_row(struct heap *h, int64_t v[4])
{
	int64_t values[] = { v[2], v[3], v[0], v[1] };

	if (!scale(values, h->period) || !scale(values + 2, h->period))
		return bad(h->m, "a count is out of range");
	ct_model_add_sample(h->m->p, h->m->frames, h->depth, values + (h->allocated ? 0 : 2), 0);
	return 0;
}

/* V are the totals. Where a file doesn't have what was allocated in all, it repeats what is in use,
 * or has zeros. */
static void set_types(struct heap *h, const int64_t v[4], bool growth)
{
	struct ct_profile *p = h->m->p;

	h->allocated = (v[2] || v[3]) && (v[2] != v[0] || v[3] != v[1]);
	if (h->allocated) {
		add_type(p, "alloc_objects", "count");
		add_type(p, "alloc_space", "bytes");
	}
	add_type(p, growth ? "objects" : "inuse_objects", "count");
	add_type(p, growth ? "space" : "inuse_space", "bytes");
	p->period_type =
		(struct ct_type){ ct_model_string(p, "space"), ct_model_string(p, "bytes") };
	p->period = h->period;
	/* The inside of the allocator, which calls nothing of the program's. */
	p->drop_frames = ct_model_string(
		p, "(je_|_rjem_|tc_|__libc_|__)?(malloc(_default)?|calloc|realloc|reallocarray|"
		   "memalign|valloc"
		   "|pvalloc|posix_memalign|aligned_alloc|mallocx|rallocx|xallocx|new|newarray)"
		   "|operator new(\\[\\])?|__rust_(alloc|realloc|alloc_zeroed)");
}

static int read_period(struct heap *h, const char *digits)
{
	uint64_t period;

	if (cp_text_parse_u64(&digits, 10, &period) || period > COUNT_MAX)
		return bad(h->m, "the interval of sampling is malformed");
	h->period = period ? (int64_t)period : 1;
	return 0;
}

/* Reads jemalloc's heap_v2/PERIOD, totals, and for each stack "@ ADDRESS...", "t*: COUNTS" and the
 * same by thread. */
static int read_jemalloc(struct heap *h, const char *line, struct text *t)
{
	bool stack = false;
	int64_t v[4];
	int e = read_period(h, line + strlen("heap_v2/"));

	while (!e && (line = next_line(h->m, t, &e)) && !cp_text_begins(line, "MAPPED_LIBRARIES")) {
		if (*line == '@') {
			e = h->m->p->type_count ? read_stack(h, line + 1)
						: bad(h->m, "the totals are missing");
			stack = true;
		} else if (!cp_text_begins(line, "t*:")) {
			continue;
		} else if (!counts(line + 3, v)) {
			e = bad(h->m, "the counts are malformed or out of range");
		} else if (stack) {
			e = add_row(h, v);
		} else if (!h->m->p->type_count) {
			set_types(h, v, false);
		}
	}
	return e;
}

/* Reads gperftools' "heap profile: TOTALS @ KIND/PERIOD", and "COUNTS @ ADDRESS..." for each
 * stack. */
static int read_gperftools(struct heap *h, const char *line, struct text *t)
{
	const char *kind;
	int64_t v[4];
	int e = 0;

	kind = counts(line + strlen("heap profile:"), v);
	if (!kind)
		return bad(h->m, "the totals are malformed or out of range");
	kind += *kind == '@';
	kind += *kind == ' ';
	if (cp_text_begins(kind, "heap_v2/") || cp_text_begins(kind, "heapz_v2/"))
		e = read_period(h, strchr(kind, '/') + 1);
	else if (!cp_text_begins(kind, "heapprofile") && !cp_text_begins(kind, "growth"))
		return bad(h->m, "a heap profile of a kind that cprof doesn't read; if Go's pprof "
				 "wrote it: fetch it without debug=1");
	set_types(h, v, cp_text_begins(kind, "growth"));
	while (!e && (line = next_line(h->m, t, &e)) && !cp_text_begins(line, "MAPPED_LIBRARIES")) {
		line = *line == '#' ? "" : counts(line, v);
		if (line && !*line)
			continue;
		if (!line || *line != '@')
			return bad(h->m, "a line is malformed, or a count out of range");
		e = read_stack(h, line + 1);
		e = e ? e : add_row(h, v);
	}
	return e;
}

static int read_heap(struct ct_messages *m, struct text *t)
{
	struct heap h = { .m = m, .period = 1 };
	int e = 0;
	const char *line = next_line(m, t, &e);

	if (!line)
		return e ? e : cut(m);
	return *line && line[4] == '_' ? read_jemalloc(&h, line, t) : read_gperftools(&h, line, t);
}

/* ---- CPU profiles ---- */

/* Reads the samples, each COUNT, DEPTH, ADDRESS..., up to 0, 1, 0. Sets *AT to the word behind
 * them. */
static int read_samples(struct ct_messages *m, const char *data, size_t words, size_t width,
			size_t *at)
{
	for (;;) {
		uint64_t count, depth;
		int64_t values[2];
		const char *stack;

		m->offset = *at * width;
		if (*at >= words || words - *at < 2)
			return cut(m);
		count = word(data, (*at)++, width);
		depth = word(data, (*at)++, width);
		if (!depth || depth > words - *at || count > COUNT_MAX)
			return bad(m, "a sample has more frames than there are, or a count out of "
				      "range: the file is cut or damaged");
		stack = data + *at * width;
		*at += depth;
		if (!count && depth == 1 && !word(stack, 0, width))
			return 0;
		for (size_t i = 0, n = 0; i < depth; i++) {
			uint64_t a = word(stack, i, width);

			*CT_PUSH(m->frames, n, m->frame_room) =
				i ? call_at(m, a) : location_of(m, a);
		}
		values[0] = (int64_t)count;
		if (__builtin_mul_overflow(values[0], m->p->period, &values[1]))
			return bad(m, "a count is out of range");
		ct_model_add_sample(m->p, m->frames, depth, values, 0);
	}
}

static int read_cpu(struct ct_messages *m, struct text *t, size_t width)
{
	struct ct_profile *p = m->p;
	size_t at = 2 + word(t->begin, 1, width);
	int e;

	add_type(p, "samples", "count");
	add_type(p, "cpu", "nanoseconds");
	p->period_type = p->types[1];
	p->period = (int64_t)word(t->begin, 3, width) * 1000;
	e = read_samples(m, t->begin, (size_t)(t->end - t->begin) / width, width, &at);
	if (!e)
		t->at += at * width;
	return e;
}

int ct_legacy_read(struct ct_messages *m, char *data, size_t size, int64_t written)
{
	struct text t = { data, data, data + size };
	size_t width = cpu_width(data, size);
	const char *tool = *data && data[4] == '_' ? "jemalloc" : "gperftools";
	char *note;
	int e = width ? read_cpu(m, &t, width) : read_heap(m, &t);

	e = e ? e : read_mappings(m, &t, written);
	if (e)
		return e;
	drop_jemalloc(m->p);
	m->p->is_nameless = true;
	m->p->time_nanos = written;
	note = ct_memory_printf("%s wrote this without names or build ids: names are those of the "
				"programs and libraries as they were when cprof read it",
				tool);
	ct_notes_add(m->p, note);
	free(note);
	return 0;
}

void ct_legacy_name(struct ct_profile *p, const char *source)
{
	bool *used = ct_memory_alloc(p->mapping_count + 1);
	size_t others = 0, first = 0;
	static char *said; /* the module of the last line: a program's dumps all lack the same */
	const char *file;

	if (p->is_nameless && ct_legacy_names)
		ct_legacy_names(p);
	for (size_t i = 0; i < p->location_count; i++)
		if (p->locations[i].mapping != CT_NONE)
			used[p->locations[i].mapping] = true;
	for (size_t i = p->mapping_count; i--;)
		if (used[i] && p->mappings[i].is_other) {
			others++;
			first = i;
		}
	file = others ? ct_text(p, p->mappings[first].file) : "";
	if (others && (!said || strcmp(said, file))) {
		free(said);
		said = ct_memory_strdup(file);
		fprintf(stderr, "cprof: %s: no names from ", source);
		ct_out_text(stderr, file);
		if (others > 1)
			fprintf(stderr, " and %zu more", others - 1);
		fputs(": the file is missing, or another than the one that ran (its inode, or "
		      "its time); \"cprof symbolize\" takes what is there\n",
		      stderr);
	}
	free(used);
}
