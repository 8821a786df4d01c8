/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of Rust's closures; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <stdio.h>

/* "{{closure}}" in a mangled name, with its length before it. */
#define CLOSURE "28_$u7b$$u7b$closure$u7d$$u7d$"
#define CLOSURE_SIZE (sizeof(CLOSURE) - 1)
/* Closures in closures whose numbers are told. */
#define NESTED_MAX 8
#define NAME_ROOM 4096

/* Returns the number N of the entry at OFFSET, which is called "{closure#N}<...>"; -1: it is no
 * closure. */
static long number_of(const struct ct_dw_unit *u, uint64_t offset)
{
	struct ct_dw_entry e;
	const char *name;
	unsigned number;
	uint16_t tag;

	if (!ct_dwarf_walk_entry(u, offset, &e, &tag) || !e.at[CT_DW_NAME].form)
		return -1;
	name = ct_dwarf_form_text(u, &e.at[CT_DW_NAME]);
	return name && sscanf(name, "{closure#%5u}", &number) == 1 ? (long)number : -1;
}

/* Gets the numbers of the closure at OFFSET and of those that it is in, the innermost first. */
static int numbers_of(const struct ct_dw_unit *u, uint64_t offset, long *numbers)
{
	const struct ct_dw_parents *parents = ct_dwarf_parents_of(u);
	int n = 0;

	while (n < NESTED_MAX) {
		long number = number_of(u, offset);
		uint32_t around;

		if (number >= 0)
			numbers[n++] = number;
		around = parents ? ct_dwarf_parents_find(parents, offset) : CT_DW_NO_PARENT;
		if (around == CT_DW_NO_PARENT || parents->list[around].entry >= offset)
			break;
		offset = parents->list[around].entry;
	}
	return n;
}

/* Returns the last CLOSURE in the N bytes at NAME, or NULL. */
static const char *last_closure(const char *name, size_t n)
{
	const char *found = NULL, *at = name;

	while ((at = memmem(at, (size_t)(name + n - at), CLOSURE, CLOSURE_SIZE)))
		found = at++;
	return found;
}

const char *ct_dwarf_closures_name(const struct ct_dw_function *f, struct ct_dw_texts *texts)
{
	char name[NAME_ROOM], *to = name + sizeof(name);
	size_t left = strlen(f->name);
	long numbers[NESTED_MAX];
	const char *at = last_closure(f->name, left);
	int count = at ? numbers_of(f->unit, f->entry, numbers) : 0;

	if (!count || left + NESTED_MAX * CLOSURE_SIZE > sizeof(name))
		return ct_dwarf_texts_keep(texts, f->name, left);
	for (int i = 0; i < count && at; i++, at = last_closure(f->name, left)) {
		char part[CLOSURE_SIZE + 8];
		size_t after = (size_t)(f->name + left - at) - CLOSURE_SIZE;
		int n = snprintf(part, sizeof(part), "_$u7b$closure$u23$%ld$u7d$", numbers[i]);

		to -= after;
		memcpy(to, at + CLOSURE_SIZE, after);
		n = snprintf(part, sizeof(part), "%d_$u7b$closure$u23$%ld$u7d$", n, numbers[i]);
		to -= n;
		memcpy(to, part, (size_t)n);
		left = (size_t)(at - f->name);
	}
	to -= left;
	memcpy(to, f->name, left);
	return ct_dwarf_texts_keep(texts, to, (size_t)(name + sizeof(name) - to));
}
