/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses to frames, unit by unit; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <stdlib.h>

struct ct_dwarf {
	struct ct_dw_file main, package;
	bool package_tried;
	char *path;
	struct ct_dw_texts texts;
};

int ct_dwarf_open(struct ct_dwarf **to, int fd, const char *path, const char *const *roots)
{
	struct ct_dwarf *d = ct_memory_alloc(sizeof(*d));
	int err;

	d->package.fd = -1;
	d->path = ct_memory_strdup(path);
	err = ct_dwarf_file_load(&d->main, fd, false);
	if (err) {
		ct_dwarf_close(d);
		return err;
	}
	ct_dwarf_file_supplement(&d->main, path, roots);
	*to = d;
	return 0;
}

void ct_dwarf_close(struct ct_dwarf *d)
{
	if (!d)
		return;
	ct_dwarf_file_close(&d->main);
	ct_dwarf_file_close(&d->package);
	ct_dwarf_texts_free(&d->texts);
	free(d->path);
	free(d);
}

/* ---- one unit ---- */

/* The queries that are being answered, all in one unit, and their results. */
struct batch {
	struct ct_dwarf *d;
	struct ct_dw_unit *unit; /* the unit in the file that contains the code */
	struct ct_dw_unit *body; /* the unit with the entries: UNIT, or the split unit whose
				    skeleton UNIT is */
	struct ct_dwarf_query **queries;
	uint64_t *addresses;
	struct ct_dw_scope **scopes;
	struct ct_dw_row *rows;
	size_t count;
	bool is_cxx;		   /* names need the scopes that contain them */
	struct ct_dw_names *names; /* names of this unit */
};

static struct ct_dw_unit *body_of(struct ct_dwarf *d, struct ct_dw_unit *u)
{
	size_t n = strlen(d->path);
	struct ct_dw_unit *split;
	char *path;

	if (!u->dwo_name)
		return u;
	if (!d->package_tried) {
		d->package_tried = true;
		path = malloc(n + 5);
		if (path) {
			memcpy(path, d->path, n);
			strcpy(path + n, ".dwp");
			ct_dwarf_file_open(&d->package, path, true);
		}
		free(path);
	}
	split = ct_dwarf_split_open(u, d->package.elf ? &d->package : NULL, d->path);
	return split ? split : u;
}

static void close_body(const struct batch *b)
{
	struct ct_dw_file *f = b->body->file;

	if (b->body == b->unit)
		return;
	ct_dwarf_file_close(f);
	free(f);
}

static const char *path_of(struct batch *b, const struct ct_dw_unit *u, uint64_t number)
{
	struct ct_dw_lines *l = u ? ct_dwarf_line_of(u) : NULL;

	return l ? ct_dwarf_line_path(l, number, &b->d->texts) : NULL;
}

/* Fills in the function of scope S, and its first line if that is in the frame's own file. Returns
 * true if the frame is at the place where the function is declared, where no call is. */
static bool name_frame(struct batch *b, struct ct_dwarf_frame *f, const struct ct_dw_scope *s)
{
	struct ct_dw_function function;
	const char *path;

	ct_dwarf_walk_function_of(b->body, s->entry, &function);
	if (function.name && !function.is_linkage && b->is_cxx)
		f->name = ct_dwarf_names_of(b->names, &function, &b->d->texts);
	else if (function.name)
		f->name = ct_dwarf_closures_name(&function, &b->d->texts);
	f->declared = (unsigned)function.line;
	path = path_of(b, function.declared_in, function.file);
	if (!path || path != f->file)
		return false;
	f->start_line = (unsigned)function.line;
	return f->line && f->line == function.line && f->column == function.column;
}

static bool is_same(const struct ct_dwarf_frame *a, const struct ct_dwarf_frame *b)
{
	return a->name && b->name && !strcmp(a->name, b->name);
}

/* Fills in Q's frames. GCC splits a function's rare part off and may inline that part into the
 * function again. DWARF then says that the function is inlined into itself, and called from its
 * declaration: that is one frame. */
static void name_frames(struct batch *b, struct ct_dwarf_query *q, const struct ct_dw_scope *s)
{
	struct ct_dwarf_frame *f = q->frames;

	for (; s; s = s->caller) {
		bool at_declaration = name_frame(b, f, s);

		if (at_declaration && f > q->frames && is_same(f - 1, f))
			f--;
		if (!s->caller)
			break;
		*++f = (struct ct_dwarf_frame){ .file = path_of(b, b->unit, s->call_file),
						.line = (unsigned)s->call_line,
						.column = (unsigned)s->call_column,
						.discriminator = (unsigned)s->call_discriminator };
	}
	q->count = (unsigned)(f - q->frames) + 1;
}

static void answer(struct batch *b, size_t i)
{
	struct ct_dwarf_query *q = b->queries[i];
	const struct ct_dw_row *row = &b->rows[i];
	struct ct_dw_scope *s = b->scopes[i];
	struct ct_dwarf_frame *f;
	unsigned n = 0;

	for (struct ct_dw_scope *o = s; o; o = o->caller)
		n++;
	if (!n && !row->found)
		return;
	f = ct_dwarf_texts_room(&b->d->texts, (n ? n : 1) * sizeof(*f));
	if (!f)
		return;
	q->frames = f;
	if (row->found) {
		f->file = path_of(b, b->unit, row->file);
		f->line = row->line;
		f->column = row->column;
		f->discriminator = row->discriminator;
	}
	name_frames(b, q, s);
}

static void read_unit(struct batch *b)
{
	struct ct_dw_texts memory = { 0 };
	struct ct_dw_lines *lines;
	struct ct_dw_names names = { 0 };

	b->body = body_of(b->d, b->unit);
	b->is_cxx = ct_dwarf_names_are_cxx(b->body);
	b->names = &names;
	for (size_t i = 0; i < b->count; i++) {
		b->addresses[i] = b->queries[i]->address;
		b->scopes[i] = NULL;
		b->rows[i] = (struct ct_dw_row){ .address = b->addresses[i] };
	}
	ct_dwarf_walk(b->body, b->addresses, b->scopes, b->count, &memory);
	lines = ct_dwarf_line_of(b->unit);
	if (lines)
		ct_dwarf_rows_find(lines, b->rows, b->count);
	for (size_t i = 0; i < b->count; i++)
		answer(b, i);
	ct_dwarf_names_release(&names);
	ct_dwarf_texts_free(&memory);
	close_body(b);
}

/* ---- all units ---- */

static int by_address(const void *x, const void *y)
{
	const struct ct_dwarf_query *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/* Returns the number of queries without a unit that the root entry of U covers. */
static size_t claimed(const struct ct_dw_unit *u, struct ct_dwarf_query *q, size_t n, char *taken,
		      struct ct_dwarf_query **to)
{
	struct ct_dw_ranges r;
	struct ct_dw_entry e;
	uint64_t low, high;
	size_t count = 0;

	if (!u->is_code || !u->has_ranges || !ct_dwarf_unit_root(u, &e))
		return 0;
	ct_dwarf_ranges_begin(&r, u, &e);
	while (ct_dwarf_ranges_next(&r, &low, &high)) {
		for (size_t i = ct_dw_first(q, n, sizeof(*q), low); i < n && q[i].address < high;
		     i++) {
			if (!taken[i])
				to[count++] = &q[i];
			taken[i] = 1;
		}
	}
	return count;
}

static int by_query(const void *x, const void *y)
{
	const struct ct_dwarf_query *const *a = x, *const *b = y;

	return (*a > *b) - (*a < *b);
}

static void try_unit(struct batch *b, struct ct_dwarf_query *q, size_t n, char *taken)
{
	b->count = claimed(b->unit, q, n, taken, b->queries);
	if (!b->count)
		return;
	qsort(b->queries, b->count, sizeof(*b->queries), by_query);
	read_unit(b);
}

/* Section .debug_aranges: tells which unit holds an address, without reading the units. The section
 * may be missing, and it need not name every unit.
 */

struct ct_dw_aranges {
	const struct ct_dw_file *file;
	struct ct_dw_cursor sets, set;
	uint64_t unit;
	unsigned address_size;
};

static void dwarf_aranges_begin(struct ct_dw_aranges *a, const struct ct_dw_file *f)
{
	struct ct_dw_bytes b = f->section[CT_DW_ARANGES];

	*a = (struct ct_dw_aranges){ .file = f, .sets = ct_dw_cursor(b, 0, b.size) };
	a->set = (struct ct_dw_cursor){ a->sets.p, a->sets.p, false };
	ct_dwarf_elf_will_read(b.data, b.size);
}

/* A set has the ranges of one unit. */
static bool next_set(struct ct_dw_aranges *a)
{
	const uint8_t *start = a->sets.p;
	uint8_t offset_size;
	unsigned version, segment_size;

	if (a->sets.p >= a->sets.end || a->sets.bad)
		return false;
	a->set = ct_dw_sub(&a->sets, &offset_size);
	version = (unsigned)ct_dw_uint(&a->set, 2);
	a->unit = ct_dw_uint(&a->set, offset_size);
	a->address_size = (unsigned)ct_dw_uint(&a->set, 1);
	segment_size = (unsigned)ct_dw_uint(&a->set, 1);
	if (version != 2 || segment_size || (a->address_size != 4 && a->address_size != 8))
		a->set.p = a->set.end;
	else /* The first range is aligned to its own size, from the beginning of the set. */
		ct_dw_skip(&a->set, -(uint64_t)(a->set.p - start) & (2 * a->address_size - 1));
	return true;
}

/* Reads the next range: the code from LOW up to HIGH belongs to the unit whose header is at offset
 * UNIT of .debug_info. UNIT may be wrong in a malformed file. Returns false at the end. */
static bool dwarf_aranges_next(struct ct_dw_aranges *a, uint64_t *unit, uint64_t *low,
			       uint64_t *high)
{
	do {
		while (a->set.p < a->set.end && !a->set.bad) {
			*low = ct_dw_uint(&a->set, a->address_size);
			*high = *low + ct_dw_uint(&a->set, a->address_size);
			*unit = a->unit;
			if (*low < *high && *low >= a->file->text_low && !a->set.bad)
				return true;
		}
	} while (next_set(a));
	return false;
}

/* Reads the units that the file's index names. If they have all addresses, no other unit is read,
 * not even its header: a file may have thousands, each in another page. */
static void read_named_units(struct batch *b, struct ct_dwarf_query *q, size_t n, char *taken)
{
	struct ct_dw_file *f = &b->d->main;
	uint64_t unit, low, high;
	struct ct_dw_aranges a;

	dwarf_aranges_begin(&a, f);
	while (dwarf_aranges_next(&a, &unit, &low, &high)) {
		size_t i = ct_dw_first(q, n, sizeof(*q), low);

		while (i < n && taken[i])
			i++;
		if (i == n || q[i].address >= high)
			continue;
		/* Its line table is cached, and has the unit's address. */
		b->unit = ct_dwarf_texts_room(&b->d->texts, sizeof(*b->unit));
		if (b->unit && ct_dwarf_unit_read_one(f, unit, b->unit))
			try_unit(b, q, n, taken);
	}
}

static void read_units(struct batch *b, struct ct_dwarf_query *q, size_t n, char *taken)
{
	struct ct_dw_file *f = &b->d->main;

	for (size_t i = 0; i < f->unit_count; i++) {
		b->unit = &f->units[i];
		ct_dwarf_unit_begin(b->unit);
		try_unit(b, q, n, taken);
	}
}

static bool is_unanswered(const struct ct_dwarf_query *q, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!q[i].count)
			return true;
	return false;
}

/* Searches the units whose root has no addresses, as some compilers write them, for the addresses
 * that no other unit has. */
static void read_silent_units(struct batch *b, struct ct_dwarf_query *q, size_t n)
{
	struct ct_dw_file *f = &b->d->main;

	for (size_t i = 0; i < f->unit_count; i++) {
		b->unit = &f->units[i];
		if (!b->unit->is_code || b->unit->has_ranges || !b->unit->has_lines)
			continue;
		b->count = 0;
		for (size_t k = 0; k < n; k++)
			if (!q[k].count)
				b->queries[b->count++] = &q[k];
		if (b->count)
			read_unit(b);
	}
}

void ct_dwarf_find(struct ct_dwarf *d, struct ct_dwarf_query *q, size_t n)
{
	struct batch b = { .d = d };
	char *taken = ct_memory_alloc(n + 1);

	qsort(q, n, sizeof(*q), by_address);
	b.queries = ct_memory_alloc((n + 1) * sizeof(*b.queries));
	b.addresses = ct_memory_alloc((n + 1) * sizeof(*b.addresses));
	b.scopes = ct_memory_alloc((n + 1) * sizeof(*b.scopes));
	b.rows = ct_memory_alloc((n + 1) * sizeof(*b.rows));
	read_named_units(&b, q, n, taken);
	if (is_unanswered(q, n)) {
		ct_dwarf_unit_read(&d->main);
		read_units(&b, q, n, taken);
		read_silent_units(&b, q, n);
	}
	free(taken);
	free(b.queries);
	free(b.addresses);
	free(b.scopes);
	free(b.rows);
}

/* ---- variables ---- */

/* 16 MiB take some 100 ms. */
#define MEMBERS_INFO_MAX (16u << 20)

void ct_dwarf_members(struct ct_dwarf *d, struct ct_dwarf_member *m, size_t n)
{
	struct ct_dw_file *f = &d->main;

	if (!n || f->section[CT_DW_INFO].size > MEMBERS_INFO_MAX)
		return;
	ct_dwarf_unit_read(f);
	for (size_t i = 0; i < f->unit_count; i++) {
		ct_dwarf_unit_begin(&f->units[i]);
		ct_dwarf_names_members(&f->units[i], m, n, &d->texts);
	}
}
