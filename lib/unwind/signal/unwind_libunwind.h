/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of libunwind that unwind_libunwind.c needs; lib/unwind/libunwind_private.c fills
 * them in. */
#ifndef CP_UNWIND_LIBUNWIND_H
#define CP_UNWIND_LIBUNWIND_H

#include <stdbool.h>

#ifdef HAVE_CONFIG_H
#include "cp-build.h"
#endif

#ifdef HAVE_LIBUNWIND

#if defined(__x86_64__)
#include <libunwind-x86_64.h>
#elif defined(__aarch64__)
#include <libunwind-aarch64.h>
#endif

struct cp_libunwind {
	unw_addr_space_t (*create_addr_space)(unw_accessors_t *, int);
	int (*set_caching_policy)(unw_addr_space_t, unw_caching_policy_t);
	void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
	int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
	int (*search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
				   unw_proc_info_t *, int, void *);
};

/* Create the address space. Call outside handlers, once. Returns 0 or -ENOMEM. */
int cp_unwind_libunwind_start(const struct cp_libunwind *loaded);
/* Flush libunwind's cache. Call after start, while no walk is in progress. */
void cp_unwind_libunwind_flush(void);

/* Control half: load the library privately. Call outside handlers, once. Returns 0, -ENOENT if
 * there is no library, -ENOSYS if it lacks a function. */
int cp_libunwind_private_load(struct cp_libunwind *to);

#endif
#endif
