/* Control half of sigsafe/cfi_module.h: what it takes to find modules in a handler.
 * Called by the unwinders' prepare and modules_changed, outside handlers.
 */
#include "sigsafe/cfi_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

struct filling {
	struct cp_cfi_snapshot *to; /* NULL: only count */
	size_t count, room;
};

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
	m.tables = m.start;
	m.tables_end = m.end;
	return m;
}

static int add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct filling *f = arg;
	struct cp_cfi_module m = module_of(info);
	size_t i;

	f->count++;
	if (!f->to || f->to->count == f->room || m.start >= m.end)
		return 0;
	for (i = f->to->count++; i > 0 && f->to->modules[i - 1].start > m.start; i--)
		f->to->modules[i] = f->to->modules[i - 1];
	f->to->modules[i] = m;
	return 0;
}

static struct cp_cfi_snapshot *take(void)
{
	struct filling f = { 0 };
	size_t bytes;

	dl_iterate_phdr(add, &f);
	f.room = f.count + 16; /* more may come before the second round */
	f.count = 0;
	bytes = sizeof(*f.to) + f.room * sizeof(f.to->modules[0]);
	f.to = cp_sys_map(bytes);
	if (!f.to)
		return NULL;
	f.to->bytes = bytes;
	dl_iterate_phdr(add, &f);
	return f.to;
}

void cp_cfi_modules_refresh(void)
{
	struct cp_cfi_snapshot *old = cp_cfi_finder.snapshot, *new;

	if (cp_cfi_finder.find)
		return;
	new = take();
	/* Without memory an empty list is safe, an outdated one is not.
	 * Pairs with the acquire in cfi_module.c. */
	cp_store_release(&cp_cfi_finder.snapshot, new);
	if (old)
		cp_sys_unmap(old, old->bytes);
}

/* The first module is the program. */
static int find_main_tables(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cp_cfi_module m = module_of(info);

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
	void *find = dlsym(RTLD_DEFAULT, "_dl_find_object");

	dl_iterate_phdr(find_main_tables, NULL);
	*(void **)&cp_cfi_finder.find = find;
	if (find || cp_cfi_finder.snapshot)
		return 0;
	cp_cfi_modules_refresh();
	return cp_cfi_finder.snapshot ? 0 : -ENOMEM;
}
