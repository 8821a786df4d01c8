/* SPDX-License-Identifier: BSD-3-Clause */
/* Catches the program's calls by the import tables of the loaded modules; see unwind.h. */
#include "unwind/unwind.h"

#include <errno.h>
#include <sys/auxv.h>

#include "base/base.h"
#include "base/futex_lock.h"
#include "base/sys.h"

#ifdef __aarch64__
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#define IN_DATA R_AARCH64_ABS64
#else
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#define IN_DATA R_X86_64_64
#endif

/* A function that the program's modules may import. Some have two versions, each with a row. */
struct import {
	const char *name;
	uint32_t hash;
	bool oldest;  /* ORIGINAL is the oldest version, not the default one */
	bool first;   /* no module comes before ORIGINAL's with that name: the program has none */
	uint64_t own; /* address of libcprof's function */
	uint64_t original;
};

#define IMPORTS_MOST 400u
#define INDEX_BITS 10
#define SEEN_BITS 12
#define MODULES_MOST 4096u

static struct import imports[IMPORTS_MOST];
static unsigned count;
static uint16_t index_of[1 << INDEX_BITS]; /* by hash of the name: number of the import + 1 */
/* By hash of the address: is it perhaps an original? Nearly all entries end at this test. */
static uint8_t seen[1 << SEEN_BITS];
static struct cp_loaded_object own; /* where libcprof is */

static struct cp_futex_lock lock;
static uint32_t on;    /* the tables are libcprof's */
static uint32_t again; /* modules were loaded while another thread had the lock */

/* The modules that were looked at: the lowest address of each. They are forgotten as soon as a
 * module has been unloaded, because another one may then have its place. */
static uint64_t done[MODULES_MOST];
static unsigned done_count;
static unsigned long long loads, unloads;
static uint32_t refused; /* entries that the kernel didn't let be changed */
static bool any_rpath;	 /* a module other than the program has an RPATH */
static uint64_t page_size;

static unsigned slot_of_address(uint64_t a)
{
	return (unsigned)(a * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SEEN_BITS));
}

/* ---- the functions ---- */

void cp_imports_add(const char *name, bool oldest, void *function)
{
	struct import *i = &imports[count];
	uint32_t at;

	if (count == IMPORTS_MOST)
		return;
	*i = (struct import){ .name = name,
			      .hash = cp_loaded_hash(name),
			      .oldest = oldest,
			      .own = (uintptr_t)function };
	at = i->hash;
	while (index_of[at & ((1 << INDEX_BITS) - 1)])
		at++;
	index_of[at & ((1 << INDEX_BITS) - 1)] = (uint16_t)++count;
}

static void add_own(const char *name, void *function)
{
	cp_imports_add(name, false, function);
}

/* Look up the originals, or with NEW those that were not found before: a C++ library may come late.
 * The program itself is not asked: what it exports may have libc's name and do something else, and
 * a preloaded libcprof would not see it either. */
static void find_originals(bool new)
{
	static struct cp_loaded_name names[IMPORTS_MOST];
	static unsigned number[IMPORTS_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		if (new &&imports[i].original)
			continue;
		names[n] = (struct cp_loaded_name){ .name = imports[i].name,
						    .oldest = imports[i].oldest };
		number[n++] = i;
	}
	cp_loaded_next(names, n);
	for (unsigned i = 0; i < n; i++) {
		imports[number[i]].original = (uintptr_t)names[i].next;
		imports[number[i]].first = cp_loaded_first(names[i].name) == names[i].next;
		seen[slot_of_address((uintptr_t)names[i].next)] = 1;
	}
}

/* Return the import NAME for which FITS is true, or NULL. */
static const struct import *find_import(const char *name, uint64_t value,
					bool (*fits)(const struct import *, uint64_t value))
{
	uint32_t hash = cp_loaded_hash(name), n;

	for (uint32_t at = hash; (n = index_of[at & ((1 << INDEX_BITS) - 1)]) != 0; at++) {
		const struct import *i = &imports[n - 1];

		if (i->hash == hash && !strcmp(i->name, name) && i->original && fits(i, value))
			return i;
	}
	return NULL;
}

static bool is_original(const struct import *i, uint64_t value)
{
	return i->original == value;
}

static bool is_own(const struct import *i, uint64_t value)
{
	return i->own == value;
}

/* Not for a name with two versions: either may be meant. */
static bool is_only(const struct import *i, uint64_t unused)
{
	const struct import *next = i + 1 < imports + count ? i + 1 : i;
	const struct import *before = i > imports ? i - 1 : i;

	return i->first && (next == i || strcmp(next->name, i->name) != 0) &&
	       (before == i || strcmp(before->name, i->name) != 0);
}

/* ---- one module ---- */

struct module {
	uint64_t bias, low, high;
	uint64_t relro, relro_end; /* whole pages that the loader makes read-only; may be none */
	uint64_t data, data_end;   /* around its segments that are writable */
	uint64_t page;		   /* the page that is writable, by our mprotect if OPENED */
	uint64_t readable;	   /* a page of its data */
	bool opened;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions;
	const ElfW(Rela) * tables[2];
	size_t sizes[2]; /* in bytes */
	bool in_code;	 /* the loader has changed its code, too */
	bool rpath, runpath;
};

static void read_dynamic(struct module *m, const ElfW(Dyn) * d)
{
	for (; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)(d->d_un.d_ptr < m->bias ? m->bias + d->d_un.d_ptr
									: d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: m->symbols = at; break;
		case DT_STRTAB: m->names = at; break;
		case DT_VERSYM: m->versions = at; break;
		case DT_JMPREL: m->tables[0] = at; break;
		case DT_PLTRELSZ: m->sizes[0] = d->d_un.d_val; break;
		case DT_RELA: m->tables[1] = at; break;
		case DT_RELASZ: m->sizes[1] = d->d_un.d_val; break;
		case DT_TEXTREL: m->in_code = true; break;
		case DT_FLAGS: m->in_code |= (d->d_un.d_val & DF_TEXTREL) != 0; break;
		case DT_RPATH: m->rpath = true; break;
		case DT_RUNPATH: m->runpath = true; break;
		}
	}
}

static bool read_module(struct module *m, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	*m = (struct module){ .bias = info->dlpi_addr, .low = UINT64_MAX, .data = UINT64_MAX };
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = m->bias + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)start;
		if (p->p_type == PT_GNU_RELRO) {
			m->relro = start & -page_size;
			m->relro_end = end & -page_size;
		}
		if (p->p_type != PT_LOAD)
			continue;
		m->low = start < m->low ? start : m->low;
		m->high = end > m->high ? end : m->high;
		if (p->p_flags & PF_W) {
			m->data = start < m->data ? start : m->data;
			m->data_end = end > m->data_end ? end : m->data_end;
		}
	}
	if (dynamic)
		read_dynamic(m, dynamic);
	return m->symbols && m->names;
}

/* Return whether the page of WORD, of a table, is writable, without a change of it: the kernel adds
 * no bit. */
static bool is_writable(const void *word)
{
	static uint32_t unused;
	const int no_bit = FUTEX_OP_OR << 28 | FUTEX_OP_CMP_EQ << 24;

	return cp_syscall6(SYS_futex, (long)&unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
			   (long)word, no_bit) != -EFAULT;
}

/* Return whether the loader has relocated the module, as far as can be told: it makes the module's
 * tables read-only then. Until then nobody else may touch them. */
static bool is_ready(const struct module *m)
{
	return m->relro >= m->relro_end || !is_writable((const void *)m->relro);
}

static void close_page(struct module *m)
{
	if (m->opened)
		cp_sys3(SYS_mprotect, m->page, page_size, PROT_READ);
	m->opened = false;
	m->page = 0;
}

/* Make the page of SLOT writable. Returns false if the kernel refuses. */
static bool open_page(struct module *m, uint64_t *slot)
{
	uint64_t page = (uintptr_t)slot & -page_size;

	if (m->page == page)
		return true;
	close_page(m);
	if (!is_writable(slot)) {
		if (cp_sys3(SYS_mprotect, page, page_size, PROT_READ | PROT_WRITE) < 0)
			return false;
		m->opened = true;
	}
	m->page = page;
	return true;
}

/* Other threads call through the entry meanwhile, and the loader may bind it. */
static void set_slot(struct module *m, uint64_t *slot, uint64_t from, uint64_t to)
{
	if (!open_page(m, slot))
		cp_add_relaxed(&refused, 1);
	else
		cp_cas_acqrel(slot, &from, to);
}

/* Return whether symbol NUMBER, which the loader has not bound yet (its entry leads to the module's
 * own stub), will be bound to the first function of that name. A module that was linked with libc
 * names libc's version, and has no function of that name itself, which DT_SYMBOLIC would prefer.
 * Others may be bound to a library of their own, and are looked at once they are bound. */
static bool is_versioned(const struct module *m, size_t number)
{
	return m->versions && (m->versions[number] & 0x7fff) > 1;
}

/* Return whether the word of R is a variable that the loader has given the address of another
 * module's function, such as an entry of a table of functions. Those are the program's, which may
 * have taken away the right to read them. */
static bool is_in_data(struct module *m, const ElfW(Rela) * r)
{
	uint64_t at = m->bias + r->r_offset, unused;

	if (ELF64_R_TYPE(r->r_info) != IN_DATA || r->r_addend || m->in_code ||
	    at - m->data >= m->data_end - m->data ||
	    m->symbols[ELF64_R_SYM(r->r_info)].st_shndx != SHN_UNDEF)
		return false;
	if (m->readable != (at & -page_size) && cp_sys_peek(&unused, at, sizeof(unused)) > 0)
		m->readable = at & -page_size;
	return m->readable == (at & -page_size);
}

static void catch_slot(struct module *m, const ElfW(Rela) * r)
{
	uint64_t *slot = (uint64_t *)(m->bias + r->r_offset), value = cp_load_relaxed(slot);
	bool unbound = ELF64_R_TYPE(r->r_info) == JUMP_SLOT && value - m->low < m->high - m->low;
	size_t number = ELF64_R_SYM(r->r_info);
	const struct import *i;

	unbound = unbound && m->symbols[number].st_shndx == SHN_UNDEF && is_versioned(m, number);
	if (!unbound && !seen[slot_of_address(value)])
		return;
	i = find_import(m->names + m->symbols[number].st_name, value,
			unbound ? is_only : is_original);
	if (i)
		set_slot(m, slot, value, i->own);
}

static void release_slot(struct module *m, const ElfW(Rela) * r)
{
	uint64_t *slot = (uint64_t *)(m->bias + r->r_offset), value = cp_load_relaxed(slot);
	const struct import *i;

	if (value - own.low >= own.high - own.low)
		return;
	i = find_import(m->names + m->symbols[ELF64_R_SYM(r->r_info)].st_name, value, is_own);
	if (i)
		set_slot(m, slot, value, i->original);
}

static void change_module(struct module *m, void (*change)(struct module *, const ElfW(Rela) *))
{
	for (unsigned t = 0; t < 2; t++)
		for (size_t i = 0; i < m->sizes[t] / sizeof(ElfW(Rela)) && m->tables[t]; i++) {
			const ElfW(Rela) *r = &m->tables[t][i];
			unsigned type = ELF64_R_TYPE(r->r_info);

			if ((type == JUMP_SLOT || type == GLOB_DAT || is_in_data(m, r)) &&
			    !(r->r_offset & 7))
				change(m, r);
		}
	close_page(m);
}

/* ---- all modules ---- */

/* One module is changed in each walk of the loader's list, so that nobody waits long for the
 * list. */
struct walk {
	unsigned at, next;
	void (*change)(struct module *, const ElfW(Rela) *);
	unsigned long long loads, unloads; /* the loader's counts */
	bool incomplete;		   /* a module is being loaded */
};

static bool is_done(uint64_t low)
{
	for (unsigned i = 0; i < done_count; i++)
		if (done[i] == low)
			return true;
	return false;
}

/* libcprof's own tables lead to the originals, and so do the loader's, which libc gives its
 * allocator in another way. */
static bool is_left_alone(const struct module *m)
{
	return m->low == own.low || _r_debug.r_ldbase == m->bias;
}

static void change_whole(struct walk *w, struct module *m)
{
	bool catches = w->change == catch_slot;

	if (catches && is_done(m->low))
		return;
	if (!is_ready(m)) {
		w->incomplete = true;
		return;
	}
	change_module(m, w->change);
	/* Without read-only pages nothing tells when the module is complete, so it is looked at
	 * each time. */
	if (catches && m->relro < m->relro_end && done_count < MODULES_MOST)
		done[done_count++] = m->low;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct module m;

	if (w->at++ != w->next)
		return 0;
	if (info->dlpi_adds != w->loads || info->dlpi_subs != w->unloads)
		return 2;
	if (!read_module(&m, info) || is_left_alone(&m))
		return 1;
	/* The program comes first. */
	any_rpath |= m.rpath && w->next;
	change_whole(w, &m);
	return 1;
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;

	w->loads = info->dlpi_adds;
	w->unloads = info->dlpi_subs;
	return 1;
}

/* Returns false if modules came or went meanwhile: one may have been passed over. */
static bool walk_once(struct walk *w)
{
	int result = 1;

	w->incomplete = false;
	cp_module_list_of_libc(read_counts, w);
	if (w->unloads != unloads)
		done_count = 0;
	unloads = w->unloads;
	for (w->next = 0; result == 1; w->next++) {
		w->at = 0;
		result = cp_module_list_of_libc(visit_module, w);
	}
	return !result;
}

#define WALKS_MOST 16

static void walk_all(void (*change)(struct module *, const ElfW(Rela) *))
{
	struct walk w = { .change = change };
	bool whole = false;

	for (unsigned n = 0; n < WALKS_MOST && !whole; n++)
		whole = walk_once(&w);
	loads = whole && !w.incomplete ? w.loads : 0;
}

static bool has_news(void)
{
	struct walk w = { 0 };

	cp_module_list_of_libc(read_counts, &w);
	return w.loads != loads || w.unloads != unloads;
}

static void catch_new(void)
{
	struct walk w = { 0 };

	cp_module_list_of_libc(read_counts, &w);
	find_originals(w.unloads == unloads);
	walk_all(catch_slot);
}

bool cp_imports_are_caught(void)
{
	return cp_load_acquire(&on);
}

void cp_imports_look(void)
{
	if (!cp_load_acquire(&on) || !has_news())
		return;
	cp_store_seqcst(&again, 1);
	/* Another thread that has the lock looks again before it releases the lock, or this one
	 * gets it. */
	while (cp_load_seqcst(&again) && cp_futex_lock_try(&lock)) {
		if (cp_exchange_acqrel(&again, 0) && cp_load_acquire(&on))
			catch_new();
		cp_futex_lock_release(&lock);
	}
}

void cp_imports_begin(void)
{
	cp_futex_lock_acquire(&lock);
	page_size = getauxval(AT_PAGESZ);
	if (!own.high) {
		cp_loaded_at((const void *)(uintptr_t)&cp_imports_begin, &own);
		cp_loaded_own_functions(add_own);
	}
	done_count = 0;
	cp_store_relaxed(&refused, 0);
	cp_store_release(&on, 1);
	catch_new();
	cp_futex_lock_release(&lock);
}

void cp_imports_end(void)
{
	cp_futex_lock_acquire(&lock);
	cp_store_release(&on, 0);
	walk_all(release_slot);
	cp_futex_lock_release(&lock);
}

bool cp_imports_catch(const char *name, const void *f)
{
	return cp_load_acquire(&on) && find_import(name, (uintptr_t)f, is_original);
}

unsigned cp_imports_refused(void)
{
	return cp_load_relaxed(&refused);
}

struct asked {
	uintptr_t address;
	bool runpath;
};

static int ask_caller(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct asked *a = arg;
	struct module m;

	if (!read_module(&m, info) || a->address - m.low >= m.high - m.low)
		return 0;
	a->runpath = m.rpath || m.runpath;
	return 1;
}

/* An RPATH holds for all that its module loads, and for what that loads. A RUNPATH holds for names
 * without a slash. That of the program is one of these, too. */
bool cp_imports_depends(const char *file, const void *caller)
{
	struct asked a = { (uintptr_t)caller, true };

	if (any_rpath || strchr(file, '$'))
		return true;
	if (strchr(file, '/'))
		return false;
	cp_module_list_of_libc(ask_caller, &a);
	return a.runpath;
}

void cp_imports_fork_child(void)
{
	cp_futex_lock_reset(&lock);
	cp_store_relaxed(&again, 0);
}
