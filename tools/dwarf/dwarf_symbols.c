/* SPDX-License-Identifier: BSD-3-Clause */
/* Names from symbol tables; see dwarf_symbols.h. */
#include "dwarf/dwarf_symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static size_t first_at(const struct ct_dwarf_symbol_query *q, size_t n, uint64_t address)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (q[middle].address < address)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Of two names for the same code, the one with fewer leading underscores is better, because a
 * programmer wrote it: "memcpy", not "__memcpy_alias". */
static int underscores(const char *name)
{
	return (int)strspn(name, "_");
}

static void offer(struct ct_dwarf_symbol_query *q, const char *name)
{
	if (q->name && underscores(q->name) <= underscores(name))
		return;
	free(q->name);
	q->name = ct_memory_strdup(name);
	q->name[strcspn(q->name, "@")] = '\0';
}

static bool is_function(const GElf_Sym *s)
{
	return s->st_shndx != SHN_UNDEF && s->st_size &&
	       (GELF_ST_TYPE(s->st_info) == STT_FUNC || GELF_ST_TYPE(s->st_info) == STT_GNU_IFUNC);
}

static void take(Elf *elf, Elf_Data *data, const GElf_Shdr *h, struct ct_dwarf_symbol_query *q,
		 size_t n, const char *had)
{
	size_t count = h->sh_entsize ? data->d_size / h->sh_entsize : 0;

	for (size_t i = 0; i < count; i++) {
		GElf_Sym s;

		if (!gelf_getsym(data, (int)i, &s) || !is_function(&s))
			continue;
		for (size_t k = first_at(q, n, s.st_value);
		     k < n && q[k].address - s.st_value < s.st_size; k++) {
			const char *name = had[k] ? NULL : elf_strptr(elf, h->sh_link, s.st_name);

			if (name && *name)
				offer(&q[k], name);
		}
	}
}

static void take_tables(Elf *elf, GElf_Word type, struct ct_dwarf_symbol_query *q, size_t n)
{
	char *had = ct_memory_alloc(n + 1);
	Elf_Scn *scn = NULL;

	for (size_t i = 0; i < n; i++)
		had[i] = q[i].name != NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &h) || h.sh_type != type)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			take(elf, data, &h, q, n, had);
	}
	free(had);
}

void ct_dwarf_symbols_find(int fd, struct ct_dwarf_symbol_query *q, size_t n)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = n ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (!elf)
		return;
	take_tables(elf, SHT_SYMTAB, q, n);
	take_tables(elf, SHT_DYNSYM, q, n);
	elf_end(elf);
}
