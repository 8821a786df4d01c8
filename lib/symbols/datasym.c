/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables by address; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#define CHUNK 512 /* symbols read at once: 12 KiB of the dump's stack */
#define LONGEST_NAME 1024
/* Steps allowed per symbol and query. Variables don't overlap, so only a malicious table exceeds
 * the limit. */
#define STEPS 64

_Static_assert(offsetof(struct cp_datasym_query, vaddr) == 0, "sort key");

struct scan {
	const struct cp_elf *e;
	const struct cp_elf_symtab *t;
	struct cp_datasym_query *q;
	size_t n;
	struct cp_arena *names;
	uint64_t steps; /* steps left */
};

static int keep_name(const struct scan *s, uint32_t name, const char **to)
{
	char text[LONGEST_NAME];
	long n = cp_elf_read_string(s->e, s->t->names_off + name,
				    s->t->names_off + s->t->names_size, text, sizeof(text));
	const char *copy;

	if (n <= 0)
		return 0;
	copy = cp_arena_text(s->names, text, strcspn(text, "@"));
	if (!copy)
		return -ENOMEM;
	*to = copy;
	return 0;
}

/* Take the innermost of several variables: a struct's member has no symbol, but aliases may differ
 * in size. */
static int offer(struct scan *s, const Elf64_Sym *sym)
{
	size_t i = cp_sort_first(s->q, s->n, sizeof(*s->q), sym->st_value);
	int err = 0;

	for (; i < s->n && s->q[i].vaddr - sym->st_value < sym->st_size && !err && s->steps; i++) {
		struct cp_datasym_query *q = &s->q[i];

		s->steps--;
		if (q->name && q->size <= sym->st_size)
			continue;
		err = keep_name(s, sym->st_name, &q->name);
		q->start = sym->st_value;
		q->size = sym->st_size;
	}
	return err;
}

static bool is_variable(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx != SHN_UNDEF &&
	       sym->st_name && sym->st_size;
}

static int pass(struct scan *s)
{
	Elf64_Sym chunk[CHUNK];
	uint64_t part;

	s->steps = STEPS * (s->t->count + s->n);
	for (uint64_t i = 0; i < s->t->count && s->steps; i += part) {
		int err;

		part = s->t->count - i < CHUNK ? s->t->count - i : CHUNK;
		err = cp_elf_read(s->e, s->t->off + i * sizeof(*chunk), chunk,
				  part * sizeof(*chunk));
		for (uint64_t k = 0; k < part && !err; k++)
			if (is_variable(&chunk[k]))
				err = offer(s, &chunk[k]);
		if (err)
			return err;
	}
	return 0;
}

int cp_datasym_find(const struct cp_elf *e, struct cp_datasym_query *q, size_t n,
		    struct cp_arena *names)
{
	struct cp_elf_symtab t;
	struct scan s = { .e = e, .t = &t, .q = q, .n = n, .names = names };

	for (size_t i = 0; i < n; i++)
		q[i].name = NULL;
	cp_sort(q, n, sizeof(*q));
	if (!cp_elf_find_symtab(e, SHT_SYMTAB, &t))
		return pass(&s);
	if (!cp_elf_find_symtab(e, SHT_DYNSYM, &t) || !cp_dynsym_find(e, &t))
		return pass(&s);
	return 0;
}
