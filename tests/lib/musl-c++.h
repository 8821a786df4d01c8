/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets a program for musl use the host's C++ library, which was built for glibc. musl-g++.sh
 * includes this file before each source file. */
#ifndef TESTS_LIB_MUSL_CXX_H
#define TESTS_LIB_MUSL_CXX_H

#ifdef __cplusplus
/* The library's headers ask for a version of glibc, and use functions that musl lacks. */
#define __GLIBC_PREREQ(major, minor) 0
#define __locale_t locale_t
#define pvalloc valloc
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK

#include <link.h>
#include <stdint.h>

extern "C" {
#define WEAK __attribute__((weak, visibility("hidden")))

extern WEAK char __libc_single_threaded;
char __libc_single_threaded;

WEAK uint32_t arc4random(void)
{
	return 4;
}

/* As glibc has it: where the unwinder finds a module's tables. */
struct dl_find_object {
	unsigned long long flags;
	void *start, *end, *map, *eh_frame_hdr;
	unsigned long long reserved[7];
};

struct cxx_module_wanted {
	uintptr_t pc;
	struct dl_find_object *result;
};

WEAK int cxx_module_has(struct dl_phdr_info *info, size_t, void *data)
{
	auto *wanted = (struct cxx_module_wanted *)data;
	uintptr_t start = 0, end = 0, tables = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && wanted->pc - at < p->p_memsz)
			start = at, end = at + p->p_memsz;
		if (p->p_type == PT_GNU_EH_FRAME)
			tables = at;
	}
	if (!end || !tables)
		return 0;
	*wanted->result = {};
	wanted->result->start = (void *)start;
	wanted->result->end = (void *)end;
	wanted->result->eh_frame_hdr = (void *)tables;
	return 1;
}

WEAK int _dl_find_object(void *pc, struct dl_find_object *result)
{
	struct cxx_module_wanted wanted = { (uintptr_t)pc, result };

	return dl_iterate_phdr(cxx_module_has, &wanted) ? 0 : -1;
}
}
#endif

#endif
