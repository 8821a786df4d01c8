/* SPDX-License-Identifier: BSD-3-Clause */
/* The unwinders: their walks run in handlers, their control halves are here. The session chooses
 * and uses one, outside handlers. */

#include <errno.h>

#include "symbols/symbols.h"
#include "unwind/guess/cfi_insn.h"
#include "unwind/signal/rules.h"
#include "unwind/unwind.h"
#include "base/base.h"
#include "cp-build.h"

_Static_assert(CP_SYMTAB_EXTENT_MORE >= CP_INSN_BYTES, "all of a last instruction can be read");

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
		err = cp_library_libunwind(&lib);
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

/* ---- the choice ---- */

/* By quality: our own CFI reader takes no lock and needs no library; libunwind's stacks are as
 * complete but slow; frame pointers always work. */
static const struct cp_unwinder *const by_quality[] = {
	&cp_unwinder_dwarf,
#ifdef HAVE_LIBUNWIND
	&cp_unwinder_libunwind,
#endif
	&cp_unwinder_fp,
};

static const struct cp_unwinder *wish(enum cp_unwind_choice choice)
{
	switch (choice) {
	case CP_UNWIND_FP: return &cp_unwinder_fp;
	case CP_UNWIND_DWARF: return &cp_unwinder_dwarf;
#ifdef HAVE_LIBUNWIND
	case CP_UNWIND_LIBUNWIND: return &cp_unwinder_libunwind;
#endif
	default: return NULL;
	}
}

static int prepare_unwinder(const struct cp_unwinder *u)
{
	return u->prepare ? u->prepare() : 0;
}

static const char *reason(int err)
{
	return err == -EBUSY ? "the program has an allocator of its own" : cp_log_errno_text(err);
}

const struct cp_unwinder *cp_unwinders_choose(enum cp_unwind_choice choice)
{
	const struct cp_unwinder *u = wish(choice);
	int err = u ? prepare_unwinder(u) : 0;

	cp_symtab_set_extent(cp_cfi_forward_extent);
	if (u && !err)
		return u;
	if (choice != CP_UNWIND_AUTO)
		cp_log("CPROF_UNWIND: %s can't be used here (%s); auto is used instead",
		       u ? u->name : "libunwind", u ? reason(err) : "not built in");
	for (size_t i = 0; i < sizeof(by_quality) / sizeof(*by_quality); i++)
		if (prepare_unwinder(by_quality[i]) == 0)
			return by_quality[i];
	return NULL;
}

bool cp_unwinders_default(void)
{
	const struct cp_unwinder *u = cp_load_acquire(&cp_capture_settings.unwinder);

	if (!u) {
		u = cp_unwinders_choose(CP_UNWIND_AUTO);
		/* Release: who sees the unwinder sees it prepared. */
		cp_store_release(&cp_capture_settings.unwinder, u);
	}
	return u != NULL;
}
