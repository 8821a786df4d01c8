/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the dynamic symbol table as the loader does; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#define DYNAMIC_MAX 1024 /* entries; real files have under 50 */
#define BUCKETS 512	 /* hash buckets read at once */
#define CHAIN_MAX 65536	 /* symbols of one hash bucket; real files have under 100 */

struct tags {
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
	bool sized;
};

static void take_tag(struct tags *t, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_SYMTAB: t->symtab = d->d_un.d_ptr; break;
	case DT_STRTAB: t->strtab = d->d_un.d_ptr; break;
	case DT_STRSZ: t->strsz = d->d_un.d_val; break;
	case DT_HASH: t->hash = d->d_un.d_ptr; break;
	case DT_GNU_HASH: t->gnu_hash = d->d_un.d_ptr; break;
	case DT_SYMENT: t->sized = d->d_un.d_val == sizeof(Elf64_Sym); break;
	}
}

static int read_tags(const struct cp_elf *e, const Elf64_Phdr *p, struct tags *t)
{
	uint64_t n = p->p_memsz / sizeof(Elf64_Dyn), off;
	Elf64_Dyn d;

	if (n > DYNAMIC_MAX)
		n = DYNAMIC_MAX;
	for (uint64_t i = 0; i < n; i++) {
		if (cp_elf_locate(e, p->p_vaddr + i * sizeof(d), sizeof(d), &off))
			return -ENOENT;
		if (cp_elf_read(e, off, &d, sizeof(d)))
			return -EIO;
		if (d.d_tag == DT_NULL)
			break;
		take_tag(t, &d);
	}
	return t->symtab && t->strtab && t->sized ? 0 : -ENOENT;
}

/* glibc writes absolute addresses over the vaddrs of a loaded module's dynamic section;
 * musl does not, and the vdso's is read-only. */
static int locate(const struct cp_elf *e, uint64_t pointer, uint64_t *off)
{
	if (e->image && pointer - e->src.base < e->src.size) {
		*off = pointer - e->src.base;
		return 0;
	}
	return cp_elf_locate(e, pointer, 1, off);
}

/* DT_HASH has the number of symbols as the length of its chains. */
static int count_by_hash(const struct cp_elf *e, uint64_t hash, uint64_t *count)
{
	uint32_t head[2];
	uint64_t off;

	if (!hash || locate(e, hash, &off) || cp_elf_read(e, off, head, sizeof(head)))
		return -ENOENT;
	*count = head[1];
	return 0;
}

static int highest_bucket(const struct cp_elf *e, uint64_t off, uint32_t n, uint32_t *highest)
{
	uint32_t buckets[BUCKETS], part;

	*highest = 0;
	for (; n; n -= part, off += part * sizeof(*buckets)) {
		part = n < BUCKETS ? n : BUCKETS;
		if (cp_elf_read(e, off, buckets, part * sizeof(*buckets)))
			return -EIO;
		for (uint32_t i = 0; i < part; i++)
			if (buckets[i] > *highest)
				*highest = buckets[i];
	}
	return 0;
}

/* DT_GNU_HASH: symbols are sorted by bucket, so the last symbol ends the chain of the bucket that
 * starts highest. A set bit 0 marks the end of a chain. */
static int count_by_gnu_hash(const struct cp_elf *e, uint64_t hash, uint64_t *count)
{
	uint32_t head[4] /* number of buckets, first symbol, bloom words, shift */, last, link = 0;
	uint64_t off;

	if (!hash || locate(e, hash, &off) || cp_elf_read(e, off, head, sizeof(head)))
		return -ENOENT;
	off += sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
	if (highest_bucket(e, off, head[0], &last))
		return -ENOENT;
	if (last < head[1]) { /* the module exports nothing */
		*count = head[1];
		return 0;
	}
	off += (uint64_t)head[0] * sizeof(uint32_t);
	for (uint32_t n = 0; !(link & 1); last++)
		if (n++ == CHAIN_MAX ||
		    cp_elf_read(e, off + (uint64_t)(last - head[1]) * 4, &link, 4))
			return -ENOENT;
	*count = last;
	return 0;
}

static int place_tables(const struct cp_elf *e, const struct tags *tags, struct cp_elf_symtab *t)
{
	struct cp_elf_symtab found;

	if (count_by_hash(e, tags->hash, &found.count) &&
	    count_by_gnu_hash(e, tags->gnu_hash, &found.count))
		return -ENOENT;
	if (locate(e, tags->symtab, &found.off) || locate(e, tags->strtab, &found.names_off))
		return -ENOENT;
	found.names_size = tags->strsz;
	if (found.count > (e->src.size - found.off) / sizeof(Elf64_Sym))
		found.count = (e->src.size - found.off) / sizeof(Elf64_Sym);
	if (found.names_size > e->src.size - found.names_off)
		found.names_size = e->src.size - found.names_off;
	if (!found.count || !found.names_size)
		return -ENOENT;
	*t = found;
	return 0;
}

int cp_dynsym_find(const struct cp_elf *e, struct cp_elf_symtab *t)
{
	Elf64_Phdr p;

	for (unsigned i = 0; !cp_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_DYNAMIC) {
			struct tags tags = { 0 };
			int r = read_tags(e, &p, &tags);

			return r ? r : place_tables(e, &tags, t);
		}
	return -ENOENT;
}
