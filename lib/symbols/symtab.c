/* SPDX-License-Identifier: BSD-3-Clause */
/* One streaming pass over a symbol table; see symbols.h.
 *
 * A symbol with a size names the addresses that it covers. A symbol without a size (assembly, crt
 * code) names addresses that no sized symbol covers: those that are in one FDE with it. Where no
 * FDE covers the code, it reaches to the next symbol, to the next function of the unwind table, or
 * to the end of its section. It does so only in a table that has local symbols, too: in a stripped
 * library it would claim the code of all functions whose symbols are gone. There the function's
 * instructions tell where it ends.
 */
#include "symbols/symbols.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/text.h"

#define CHUNK 512 /* symbols read at once: three pages */
/* Parts of the address range, to find a target quickly. */
#define PARTS 1024u
#define FEW 4u		   /* few enough targets in a part to search them one by one */
#define LONGEST_NAME 16384 /* longer names are cut; cp_demangle accepts none longer */
#define TIE_NAME_MAX 512   /* bytes of two aliases' names that are compared */
/* Steps allowed per symbol and target: nested functions are a few deep at most, so only a table
 * made to be slow exceeds the limit. */
#define STEPS 64
#define LONGEST_MEASURED 1024 /* bytes of code that are read to find a function's end */

static uint64_t (*extent_of)(const uint8_t *code, uint64_t n);

void cp_symtab_set_extent(uint64_t (*extent)(const uint8_t *code, uint64_t n))
{
	cp_store_release(&extent_of, extent);
}

struct scan {
	const struct cp_elf *e;
	const struct cp_elf_symtab *t;
	struct cp_ehfunc *fdes; /* unwind table of the module, or NULL */
	struct cp_symtab_target *targets;
	size_t n;
	uint64_t steps;
	bool locals;		   /* the table has local symbols of code: it was not stripped */
	unsigned shift;		   /* shifts the distance from the first target, to get its part */
	uint32_t first[PARTS + 1]; /* for each part: its first target, or the first one after it */
	Elf64_Sym chunk[CHUNK];
	char name[2][LONGEST_NAME];
};

static long read_name(struct scan *s, uint32_t name, char *to, size_t room)
{
	return cp_elf_read_string(s->e, s->t->names_off + name, s->t->names_off + s->t->names_size,
				  to, room);
}

static void divide_scan(struct scan *s)
{
	uint64_t low = s->n ? s->targets[0].vaddr : 0, part = 0;

	while (s->n && (s->targets[s->n - 1].vaddr - low) >> s->shift >= PARTS)
		s->shift++;
	for (size_t i = 0; i < s->n; i++)
		for (; part <= (s->targets[i].vaddr - low) >> s->shift; part++)
			s->first[part] = (uint32_t)i;
	for (; part <= PARTS; part++)
		s->first[part] = (uint32_t)s->n;
}

/* Returns the first target at or above VADDR. Called for every symbol. There are few targets
 * compared with symbols, so most parts contain none or one. */
static inline size_t first_at(const struct scan *s, uint64_t vaddr)
{
	uint64_t part;
	uint32_t at, end;

	if (!s->n || vaddr <= s->targets[0].vaddr)
		return 0;
	part = (vaddr - s->targets[0].vaddr) >> s->shift;
	if (part >= PARTS)
		return s->n;
	at = s->first[part];
	end = s->first[part + 1];
	if (end - at > FEW)
		return at + cp_sort_first(s->targets + at, end - at, sizeof(*s->targets), vaddr);
	while (at < end && s->targets[at].vaddr < vaddr)
		at++;
	return at;
}

#define RANK_WEAK 2
#define RANK_GLOBAL 3

/* Functions rank above symbols without a type; then global, weak, local. 0: not code. */
static uint8_t rank_of(const struct scan *s, const Elf64_Sym *sym)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info);
	uint8_t rank = bind == STB_LOCAL ? 1 : bind == STB_WEAK ? RANK_WEAK : RANK_GLOBAL;

	if (sym->st_shndx == SHN_UNDEF || !sym->st_name)
		return 0;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC: return rank + 4;
	case STT_NOTYPE: return cp_elf_code_at(s->e, sym->st_value) ? rank : 0;
	default: return 0;
	}
}

/* glibc's internal aliases (__GI_memcpy) are the last choice, as is free's old name cfree. The
 * vdso's clock_gettime is a weak alias, too; its global name, as on aarch64, tells it from libc's
 * function that calls it. */
static size_t leading_underscores(const char *s)
{
	if (cp_text_begins(s, "__GI_") || !strcmp(s, "cfree"))
		return SIZE_MAX;
	return cp_text_begins(s, "__vdso_") || cp_text_begins(s, "__kernel_") ? 0 : strspn(s, "_");
}

/* Of two aliases, prefer the one that people write (fewest leading underscores): pthread_mutex_lock
 * of old libcs is weak, like most of the names of POSIX, and __pthread_mutex_lock global. Then
 * binding; then an arbitrary but stable choice. */
static bool reads_better(struct scan *s, const struct cp_symtab_entry *x,
			 const struct cp_symtab_entry *than)
{
	char *a = s->name[0], *b = s->name[1];
	size_t ua, ub;

	if (x->name == than->name || read_name(s, x->name, a, TIE_NAME_MAX) < 0)
		return false;
	if (read_name(s, than->name, b, TIE_NAME_MAX) < 0)
		return true;
	ua = leading_underscores(a);
	ub = leading_underscores(b);
	if (ua != ub)
		return ua < ub;
	return x->rank != than->rank ? x->rank > than->rank : strcmp(a, b) < 0;
}

static bool is_local(const struct cp_symtab_entry *a)
{
	return (a->rank & 3) < RANK_WEAK;
}

/* Compare kind first, then the start (the highest is the innermost); local symbols come last; then
 * the name. */
static bool better_cover(struct scan *s, const struct cp_symtab_entry *a,
			 const struct cp_symtab_entry *b)
{
	if ((a->rank & 4) != (b->rank & 4))
		return a->rank & 4;
	if (a->value != b->value)
		return a->value > b->value;
	if (is_local(a) != is_local(b))
		return is_local(b);
	return reads_better(s, a, b);
}

/* Does the symbol mark a place instead of code: aarch64's mapping symbols ($x, $d), annobin's
 * marks, nasm's local labels (sad.loop)? A symbol whose name can't be read counts as code;
 * otherwise the symbol below would reach over it. */
static bool marks_a_place(struct scan *s, const struct cp_symtab_entry *a)
{
	char *name = s->name[0];
	long len;

	if (a->rank & 4)
		return false;
	len = read_name(s, a->name, name, TIE_NAME_MAX);
	if (len <= 0)
		return !len;
	return name[0] == '$' || !strncmp(name, ".annobin", 8) || !strncmp(name, ".L", 2) ||
	       (is_local(a) && strchr(name + 1, '.'));
}

/* A sized symbol at the same start hides an unsized one: the bytes after its end are padding. */
static bool better_below(struct scan *s, const struct cp_symtab_entry *a,
			 const struct cp_symtab_entry *b)
{
	if (a->value != b->value)
		return a->value > b->value;
	if (!a->size != !b->size)
		return a->size;
	return !a->size && better_cover(s, a, b);
}

static void offer_cover(struct scan *s, const struct cp_symtab_entry *a, size_t i, uint64_t size)
{
	for (; i < s->n && s->targets[i].vaddr - a->value < size && s->steps; i++, s->steps--)
		if (!s->targets[i].cover.rank || better_cover(s, a, &s->targets[i].cover))
			s->targets[i].cover = *a;
}

/* Can the symbol be skipped? Most symbols cover no target, and are further below the next target
 * than the best symbol so far. */
static inline bool is_for_nobody(const struct cp_symtab_target *next, const Elf64_Sym *sym)
{
	return next->vaddr - sym->st_value >= sym->st_size && next->below.rank &&
	       sym->st_value < next->below.value;
}

static inline void consider(struct scan *s, const Elf64_Sym *sym)
{
	struct cp_symtab_entry a = { sym->st_value, sym->st_size, sym->st_name, 0 };
	size_t i = first_at(s, a.value);
	struct cp_symtab_entry *below;

	if (i == s->n || is_for_nobody(&s->targets[i], sym))
		return;
	a.rank = rank_of(s, sym);
	if (!a.rank)
		return;
	offer_cover(s, &a, i, sym->st_size);
	below = &s->targets[i].below;
	if ((!below->rank || better_below(s, &a, below)) && !marks_a_place(s, &a))
		*below = a;
}

/* Looks for a local symbol of code among the N symbols of the chunk. Local symbols come first in a
 * table. */
static void look_for_locals(struct scan *s, uint64_t n)
{
	for (uint64_t k = 0; k < n && !s->locals; k++) {
		const Elf64_Sym *sym = &s->chunk[k];

		if (ELF64_ST_BIND(sym->st_info) != STB_LOCAL)
			return;
		s->locals = rank_of(s, sym) != 0;
	}
}

static int read_all(struct scan *s)
{
	uint64_t part;

	s->steps = STEPS * (s->t->count + s->n);
	for (uint64_t i = 0; i < s->t->count && s->steps; i += part) {
		int r;

		part = s->t->count - i < CHUNK ? s->t->count - i : CHUNK;
		r = cp_elf_read(s->e, s->t->off + i * sizeof(Elf64_Sym), s->chunk,
				part * sizeof(Elf64_Sym));
		if (r)
			return r;
		if (!s->locals)
			look_for_locals(s, part);
		for (uint64_t k = 0; k < part; k++)
			consider(s, &s->chunk[k]);
	}
	return 0;
}

/* Copy the name to *TEXT without its version ("@@V1"); NULL if it can't be read. */
static int keep_name(struct scan *s, uint32_t name, struct cp_arena *names, const char **text)
{
	char *read = s->name[0];
	long len = read_name(s, name, read, LONGEST_NAME);
	const char *at = len > 1 ? memchr(read + 1, '@', (size_t)len - 1) : NULL;

	*text = NULL;
	if (len <= 0)
		return 0;
	*text = cp_arena_text(names, read, at ? (size_t)(at - read) : (size_t)len);
	return *text ? 0 : -ENOMEM;
}

/* Does the code at VADDR belong to symbol A, which has no size? */
static bool reaches(const struct scan *s, const struct cp_symtab_entry *a, uint64_t vaddr)
{
	const struct cp_elf_range *code = cp_elf_code_at(s->e, a->value);
	enum cp_ehfunc_reach r = CP_EHFUNC_NO_FDE;

	if (!code || vaddr >= code->end)
		return false;
	if (s->fdes)
		r = cp_ehfunc_reach(s->fdes, a->value, vaddr);
	return r == CP_EHFUNC_SAME || (r == CP_EHFUNC_NO_FDE && (s->locals || vaddr == a->value));
}

/* Returns true if only function A's instructions can tell its size: neither the symbol itself nor
 * the next one nor an FDE does. */
static bool is_measured(const struct scan *s, const struct cp_symtab_entry *a)
{
	return !a->size && a->rank & 4 && !s->locals &&
	       !(s->fdes && cp_ehfunc_reach(s->fdes, a->value, a->value) != CP_EHFUNC_NO_FDE);
}

/* Finds the size of function A by its instructions. */
static void measure(const struct scan *s, struct cp_symtab_entry *a)
{
	uint64_t (*extent)(const uint8_t *, uint64_t) = cp_load_acquire(&extent_of), off, n;
	const struct cp_elf_range *code = extent ? cp_elf_code_at(s->e, a->value) : NULL;
	uint8_t bytes[LONGEST_MEASURED + CP_SYMTAB_EXTENT_MORE] = { 0 };

	if (!code)
		return;
	n = code->end - a->value;
	if (n > LONGEST_MEASURED)
		n = LONGEST_MEASURED;
	if (!cp_elf_locate(s->e, a->value, n, &off) && !cp_elf_read(s->e, off, bytes, n))
		a->size = extent(bytes, n);
}

/* Returns the symbol for target I: its cover, or the unsized symbol that starts last below it. */
static const struct cp_symtab_entry *winner(const struct scan *s, size_t i,
					    const struct cp_symtab_entry *below)
{
	const struct cp_symtab_target *t = &s->targets[i];

	if (t->cover.rank)
		return &t->cover;
	if (!below->rank)
		return NULL;
	return (below->size ? t->vaddr - below->value < below->size : reaches(s, below, t->vaddr))
		       ? below
		       : NULL;
}

static int name_targets(struct scan *s, struct cp_arena *names)
{
	struct cp_symtab_entry below = { 0 }, last = { 0 };
	const struct cp_symtab_entry *w;
	const char *name = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct cp_symbol_query *q = s->targets[i].query;

		if (s->targets[i].below.rank) {
			below = s->targets[i].below;
			if (is_measured(s, &below))
				measure(s, &below);
		}
		s->targets[i].below = below;
		w = winner(s, i, &below);
		if (!w)
			continue;
		/* Targets are sorted by address, so those of one function are adjacent. */
		if (w->name != last.name && keep_name(s, w->name, names, &name))
			return -ENOMEM;
		last = *w;
		q->name = name;
		q->start = w->value;
	}
	return 0;
}

int cp_symtab_pass(const struct cp_elf *e, const struct cp_elf_symtab *t, struct cp_ehfunc *fdes,
		   struct cp_symtab_target *targets, size_t n, struct cp_arena *names)
{
	/* The collector's stack has room for this, and its pages are used for the next table, too.
	 */
	struct scan s;
	int r;

	s.e = e;
	s.t = t;
	s.fdes = fdes;
	s.locals = false;
	s.targets = targets;
	s.n = n;
	s.shift = 0;
	for (size_t i = 0; i < n; i++)
		targets[i].cover = targets[i].below = (struct cp_symtab_entry){ 0 };
	divide_scan(&s);
	r = read_all(&s);
	return r ? r : name_targets(&s, names);
}
