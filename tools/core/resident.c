/* SPDX-License-Identifier: BSD-3-Clause */
/* Resident memory by kind; see report.h. The library writes the comment that is read here in
 * lib/modes/heap/heap_mode.c:
 *
 *     resident memory: 912 kB; heap in use: 200 kB, heap not in use: 600 kB, ...
 */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

/* Less memory than this needs no advice. */
#define HINT_LEAST (INT64_C(32) << 20)

/* Reads "name: N kB" at *S and moves *S after it, and after the separator that follows. */
static bool read_row(const char **s, char *name, size_t size, int64_t *bytes)
{
	const char *colon = strchr(*s, ':');
	char *end;
	long long kb;

	if (!colon || (size_t)(colon - *s) >= size)
		return false;
	kb = strtoll(colon + 1, &end, 10);
	if (end == colon + 1 || strncmp(end, " kB", 3) != 0 || kb < 0 || kb > INT64_MAX >> 10)
		return false;
	snprintf(name, size, "%.*s", (int)(colon - *s), *s);
	*bytes = kb << 10;
	*s = end + 3;
	*s += strspn(*s, ",; ");
	return true;
}

static bool read_comment(const char *s, struct ct_resident *to)
{
	char name[sizeof(to->rows[0].name)];

	if (!read_row(&s, name, sizeof(name), &to->all) || strcmp(name, "resident memory") != 0)
		return false;
	while (to->count < CT_RESIDENT_ROWS &&
	       read_row(&s, to->rows[to->count].name, sizeof(to->rows[0].name),
			&to->rows[to->count].bytes))
		to->count++;
	return true;
}

bool ct_resident_read(const struct ct_profile *p, struct ct_resident *to)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		*to = (struct ct_resident){ 0 };
		if (read_comment(ct_notes_comment(p, i), to))
			return true;
	}
	return false;
}

/* The second name exists if the census is on. */
static const char *const names[] = { "heap not in use", "free on its pages" };

static int by_size(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a < b) - (a > b);
}

/* The unused memory is the rest, so its error is that of the used memory. It has none where blocks
 * from before the profile are in it. Blocks that nobody has written to are in use, but not
 * resident. */
static void put_name(const struct ct_resident_row *row, double variance)
{
	bool used = !strcmp(row->name, "heap in use");
	char error[CT_NUMBER_ROOM] = "";

	ct_out_text(stdout, row->name);
	if (used)
		fputs(", as far as resident", stdout);
	if (used || !strcmp(row->name, names[0]))
		ct_sampling_format(error, sizeof(error), (double)row->bytes, variance);
	printf("%s%s\n", *error ? ", " : "", error);
}

void ct_resident_print(const struct ct_resident *r, double variance)
{
	char all[CT_NUMBER_ROOM], bytes[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];
	int64_t order[CT_RESIDENT_ROWS];
	bool done[CT_RESIDENT_ROWS] = { false };

	printf("%sResident memory%s of the process: %s\n", ct_out_paint(CT_BOLD),
	       ct_out_paint(CT_PLAIN), ct_numbers_format(all, r->all, "bytes", "auto"));
	for (size_t i = 0; i < r->count; i++)
		order[i] = r->rows[i].bytes;
	qsort(order, r->count, sizeof(*order), by_size);
	for (size_t i = 0; i < r->count && order[i]; i++)
		for (size_t k = 0; k < r->count; k++) {
			if (done[k] || r->rows[k].bytes != order[i])
				continue;
			done[k] = true;
			printf("%10s %s  ",
			       ct_numbers_format(bytes, r->rows[k].bytes, "bytes", "auto"),
			       ct_numbers_percent(share, r->rows[k].bytes, r->all));
			put_name(&r->rows[k], variance);
			break;
		}
}

static int64_t bytes_of(const struct ct_resident *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->rows[i].name, name))
			return r->rows[i].bytes;
	return -1;
}

bool ct_resident_hint_mapped(const struct ct_profile *p, const struct ct_resident *r)
{
	int64_t mapped = bytes_of(r, "other anonymous memory");
	char share[CT_NUMBER_ROOM];
	const char *percent;
	bool python = false;

	if (mapped < HINT_LEAST || mapped < r->all / 3 || mapped < bytes_of(r, "heap in use"))
		return false;
	for (size_t i = 0; i < p->mapping_count; i++) {
		const char *name = ct_base_name(ct_text(p, p->mappings[i].file));

		python |= ct_starts(name, "python") || ct_starts(name, "libpython");
	}
	percent = ct_numbers_percent(share, mapped, r->all);
	fprintf(stderr, "cprof: hint: %s is memory that the program maps by itself: %s\n",
		percent + strspn(percent, " "),
		python ? "run it with PYTHONMALLOC=malloc in the environment, and Python's objects "
			 "are in the heap profile"
		       : "CPROF_HEAP_VIEWS=mmap records who maps it");
	return true;
}

void ct_resident_hint(const struct ct_profile *p, const struct ct_resident *r)
{
	int64_t unused = bytes_of(r, names[0]);
	char share[CT_NUMBER_ROOM];
	const char *percent;

	ct_resident_hint_mapped(p, r);
	if (unused < HINT_LEAST || unused < r->all / 2 || bytes_of(r, names[1]) >= 0)
		return;
	percent = ct_numbers_percent(share, unused, r->all);
	fprintf(stderr,
		"cprof: hint: %s is heap that is not in use: CPROF_HEAP_VIEWS=fragmentation says "
		"how much of "
		"it lies on pages with blocks, and whose\n",
		percent + strspn(percent, " "));
}
