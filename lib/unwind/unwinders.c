/* SPDX-License-Identifier: BSD-3-Clause */
/* The unwinders: their walks run in handlers, their control halves are here. The session chooses
 * and uses one, outside handlers. */
#include "sample/sample.h"

#include <errno.h>

#include "unwind/signal/unwind_signal.h"
#include "unwind/signal/rules.h"

const struct cp_unwinder cp_unwinder_fp = {
	.name = "fp",
	.walk = cp_unwind_fp_walk,
};

static void dwarf_modules_changed(void)
{
	cp_cfi_modules_refresh();
	cp_cfi_modules_note_kept();
	cp_rules_clear();
	cp_cfi_code_forget();
}

const struct cp_unwinder cp_unwinder_dwarf = {
	.name = "dwarf",
	.prepare = cp_cfi_modules_prepare,
	.walk = cp_unwind_dwarf_walk,
	.modules_changed = dwarf_modules_changed,
};

#ifdef HAVE_LIBUNWIND

static bool libunwind_started;

static int libunwind_prepare(void)
{
	struct cp_libunwind lib;
	int err;

	if (libunwind_started)
		return 0;
	err = cp_cfi_modules_prepare();
	if (!err)
		err = cp_libunwind_private_load(&lib);
	if (!err)
		err = cp_unwind_libunwind_start(&lib);
	libunwind_started = !err;
	return err;
}

static void libunwind_modules_changed(void)
{
	cp_cfi_modules_refresh();
	if (libunwind_started)
		cp_unwind_libunwind_flush();
}

#else

static int libunwind_prepare(void)
{
	return -ENOSYS;
}

#define libunwind_modules_changed NULL

#endif

const struct cp_unwinder cp_unwinder_libunwind = {
	.name = "libunwind",
	.prepare = libunwind_prepare,
	.walk = cp_unwind_libunwind_walk,
	.modules_changed = libunwind_modules_changed,
};
