/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the loader's modules; see symbols.h. */
#include "symbols/symbols.h"

#include <limits.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>

#include "base/libc.h"
#include "base/sys.h"
#include "base/text.h"

#define PAGE UINT64_C(4096)

static struct cp_vec maps = { .size = sizeof(struct cp_loader_map) };
static struct cp_arena paths;

void cp_loader_maps_clear(void)
{
	maps.count = 0;
	cp_arena_release(&paths);
}

const struct cp_loader_map *cp_loader_maps_at(size_t i)
{
	return i < maps.count ? CP_VEC_AT(&maps, struct cp_loader_map, i) : NULL;
}

static bool add_map(const struct cp_loader_map *map)
{
	struct cp_loader_map *all;
	size_t i = maps.count;

	if (!cp_vec_add(&maps))
		return false;
	all = maps.items;
	for (; i > 0 && all[i - 1].start > map->start; i--)
		all[i] = all[i - 1];
	all[i] = *map;
	return true;
}

/* Return the path of the program, for which the loader has no name. The path that the program was
 * started with may be relative. */
static const char *program_path(void)
{
	const char *name = (const char *)(uintptr_t)cp_libc_auxval(AT_EXECFN);
	char path[PATH_MAX];
	long n;

	if (!name || *name == '/')
		return name;
	n = cp_sys2(SYS_getcwd, path, sizeof(path));
	if (n <= 0)
		return name;
	n--;
	cp_text_format(path + n, sizeof(path) - (size_t)n, "/%s", name);
	return cp_arena_text(&paths, path, strlen(path));
}

static const char *path_of(const struct dl_phdr_info *info)
{
	if (info->dlpi_addr && info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return "[vdso]";
	if (cp_libc_is_program(info))
		return program_path();
	return cp_arena_text(&paths, info->dlpi_name, strlen(info->dlpi_name));
}

int cp_loader_maps_add(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct cp_loader_map map = { .path = path_of(info) };
	struct stat st;

	(void)size, (void)unused;
	if (!map.path)
		return 0;
	if (!cp_sys4(SYS_newfstatat, AT_FDCWD, map.path, &st, 0)) {
		map.inode = st.st_ino;
		map.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		map.start = start & -PAGE;
		map.limit = (start + p->p_memsz + PAGE - 1) & -PAGE;
		map.offset = p->p_offset & -PAGE;
		map.executable = p->p_flags & PF_X;
		if (!add_map(&map))
			return -1;
	}
	return 0;
}
