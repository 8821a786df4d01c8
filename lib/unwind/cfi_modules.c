/* SPDX-License-Identifier: BSD-3-Clause */
/* Control half of unwind/signal/unwind_signal.h: prepares the data by which handlers find modules.
 * Called by the unwinders' prepare and modules_changed, outside handlers. cfi_poll.c looks for
 * modules loaded since. */
#include "unwind/unwind.h"

#include <errno.h>

#include "base/futex_lock.h"
#include "base/libc.h"

struct filling {
	struct cp_cfi_snapshot *to; /* NULL: only count */
	size_t count;
};

/* Held only while a snapshot is replaced; a thread that holds it never waits. */
static struct cp_futex_lock publishing;
static uint64_t published; /* version of the newest published snapshot */

static struct cp_cfi_module module_of(const struct dl_phdr_info *info)
{
	struct cp_cfi_module m = { .start = UINT64_MAX };

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			m.hdr = at;
		if (p->p_type != PT_LOAD)
			continue;
		if (at < m.start)
			m.start = at;
		if (at + p->p_memsz > m.end)
			m.end = at + p->p_memsz;
	}
	if (m.hdr < m.start || m.hdr >= m.end)
		m.hdr = 0;
	m.start &= -CP_CFI_PAGE;
	m.tables = m.start;
	m.tables_end = m.end;
	return m;
}

void cp_cfi_modules_build(struct cp_cfi_module *m, struct cp_cfi_place *p, const ElfW(Phdr) * h,
			  bool copy)
{
	struct cp_cfi_module in = *m;

	if (m->built || h->p_type != PT_LOAD || !(h->p_flags & PF_R) || h->p_flags & PF_W)
		return;
	/* Memory in the holes between segments must not be read. */
	in.tables = p->segment = p->bias + h->p_vaddr;
	in.tables_end = p->segment_end = in.tables + h->p_filesz;
	in.built = cp_cfi_build(&in, p, copy);
	if (in.built)
		*m = in;
}

/* The loader's lock is held, so no module goes away meanwhile. */
static void build(struct cp_cfi_module *m, const struct dl_phdr_info *info)
{
	bool main = cp_libc_is_program(info);
	struct cp_cfi_place p = { .bias = info->dlpi_addr,
				  .path = main ? cp_libc_program_file() : info->dlpi_name };

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		p.code |= info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		cp_cfi_modules_build(m, &p, &info->dlpi_phdr[i], false);
}

bool cp_cfi_modules_snapshot_add(struct cp_cfi_snapshot *s, const struct cp_cfi_module *m)
{
	size_t i = s->count;

	if ((s->bytes - sizeof(*s)) / sizeof(s->modules[0]) == i)
		return false;
	s->count++;
	for (; i > 0 && s->modules[i - 1].start > m->start; i--)
		s->modules[i] = s->modules[i - 1];
	s->modules[i] = *m;
	return true;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct filling *f = arg;
	struct cp_cfi_module m = module_of(info);
	bool lacking = m.start < m.end && !cp_cfi_build_has_table(&m, false);

	if (m.start >= m.end || (cp_cfi_finder.find && !lacking))
		return 0;
	f->count++;
	if (!f->to)
		return 0;
	if (lacking)
		build(&m, info);
	if ((cp_cfi_finder.find && !m.built) || !cp_cfi_modules_snapshot_add(f->to, &m))
		cp_cfi_build_release(m.built);
	return 0;
}

struct cp_cfi_snapshot *cp_cfi_modules_snapshot_make(size_t room)
{
	size_t bytes = sizeof(struct cp_cfi_snapshot) + room * sizeof(struct cp_cfi_module);
	struct cp_cfi_snapshot *s = cp_sys_map(bytes);

	if (s)
		s->bytes = bytes;
	return s;
}

void cp_cfi_modules_snapshot_release(struct cp_cfi_snapshot *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		cp_cfi_build_release(s->modules[i].built);
	cp_sys_unmap(s, s->bytes);
}

/* Counts how often modules were loaded and unloaded. */
static int version_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

static struct cp_cfi_snapshot *take_snapshot(uint64_t *version)
{
	struct filling f = { 0 };

	*version = 0;
	cp_module_list(version_of, version);
	cp_module_list(add_module, &f);
	if (!f.count)
		return NULL;
	f.to = cp_cfi_modules_snapshot_make(
		f.count + 16); /* more modules may be loaded before the second round */
	if (f.to)
		cp_module_list(add_module, &f);
	return f.to;
}

bool cp_cfi_modules_snapshot_publish(struct cp_cfi_snapshot *new, const uint64_t *version,
				     struct cp_cfi_snapshot *expected, struct cp_cfi_snapshot **old)
{
	bool done;

	cp_futex_lock_acquire(&publishing);
	*old = cp_cfi_finder.snapshot;
	done = version ? *version >= published : *old == expected;
	if (done && version)
		published = *version;
	if (done) /* Pairs with the acquire in unwind/signal/cfi.c. */
		cp_store_release(&cp_cfi_finder.snapshot, new);
	cp_futex_lock_release(&publishing);
	return done;
}

/* The modules that stay are the beginning of the loader's list: it loads the program, preloaded
 * modules and those that they need, and adds what dlopen loads at the end. So all modules before
 * libc or the loader, which every program needs, are kept; a few after both may be, too. */
struct keeping {
	struct cp_cfi_snapshot *to; /* NULL: only count */
	uint64_t libc, loader;	    /* addresses in libc and in the loader */
	size_t count, kept; /* number of modules seen, and of those up to libc and the loader */
};

static int keep_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cp_cfi_module m = module_of(info);
	struct keeping *k = arg;

	/* In a namespace of dlmopen the first module is not the program, and all modules may go
	 * away. */
	if (!k->count++ && !cp_libc_is_program(info))
		return 1;
	if (k->to && (k->count > k->kept || !cp_cfi_modules_snapshot_add(k->to, &m)))
		return 1;
	if (k->libc - m.start < m.end - m.start || k->loader - m.start < m.end - m.start)
		k->kept = k->to ? k->kept : k->count;
	return 0;
}

void cp_cfi_modules_note_kept(void)
{
	struct cp_cfi_snapshot *none = NULL;
	struct keeping k = { 0 };

	if (cp_load_acquire(&cp_cfi_finder.kept))
		return;
	k.libc = (uint64_t)(uintptr_t)cp_loaded_first(CP_LIBC_SYMBOL);
	k.loader = (uint64_t)(uintptr_t)cp_loaded_first("__tls_get_addr");
	cp_module_list(keep_module, &k);
	k.to = k.kept ? cp_cfi_modules_snapshot_make(k.kept) : NULL;
	if (!k.to)
		return;
	k.count = 0;
	cp_module_list(keep_module, &k);
	/* Pairs with the acquire in unwind/signal/cfi.c. */
	if (!cp_cas_acqrel(&cp_cfi_finder.kept, &none, k.to))
		cp_cfi_modules_snapshot_release(k.to);
}

/* The list is made before the lock is taken: making it needs the loader's lock, which may be held
 * by a thread that comes here from a destructor. If there is no memory, an empty list is safe; an
 * outdated one is not. Captures go on while a module goes away. Those that may read the old list,
 * or a built table in it, have ended when it is released. */
void cp_cfi_modules_refresh(void)
{
	struct cp_cfi_snapshot *new, *old;
	uint64_t version;

	new = take_snapshot(&version);
	if (!new && !cp_load_acquire(&cp_cfi_finder.snapshot))
		return; /* mostly: the linker made all tables */
	if (!cp_cfi_modules_snapshot_publish(new, &version, NULL, &old))
		old = new;
	else if (old)
		cp_gate_wait();
	cp_cfi_modules_snapshot_release(old);
}

/* Note that the module that contains PC stays to the end. From now on it is found at once, if
 * handlers would find the same result each time: not if it has a built table, which may be made
 * anew. If libc knows it by segments, because there are gaps between them (as in most programs for
 * aarch64, where segments are aligned to 64 KiB), it is the segment of PC that is found at once, if
 * that has the table. */
static void note_lasting(unsigned i, uint64_t pc)
{
	struct cp_cfi_module *l = &cp_cfi_finder.lasting[i], m;

	if (l->hdr || !cp_cfi_module_find(pc, &m))
		return;
	if (l->end &&
	    (l->start != m.start || (l->end != m.end && m.hdr - m.start >= m.end - m.start)))
		return;
	if (m.built || !cp_cfi_build_has_table(&m, false))
		m.hdr = 0;
	*l = m;
}

/* The first module is the program. */
static int find_main_tables(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cp_cfi_module m = module_of(info);

	if (!cp_cfi_finder.lasting[0].end)
		cp_cfi_finder.lasting[0] = (struct cp_cfi_module){ .start = m.start, .end = m.end };
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && m.hdr - at < p->p_filesz) {
			cp_cfi_finder.main_tables = at;
			cp_cfi_finder.main_tables_end = at + p->p_filesz;
		}
	}
	return 1;
}

int cp_cfi_modules_prepare(void)
{
	cp_module_list(find_main_tables, NULL);
	*(void **)&cp_cfi_finder.find = cp_loaded_first("_dl_find_object");
	cp_cfi_modules_refresh();
	note_lasting(0, cp_cfi_finder.lasting[0].start);
	note_lasting(1, (uint64_t)(uintptr_t)cp_loaded_first(CP_LIBC_SYMBOL));
	return cp_cfi_finder.find || cp_cfi_finder.snapshot ? 0 : -ENOMEM;
}

void cp_cfi_modules_fork_child(void)
{
	cp_futex_lock_reset(&publishing);
}
