/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses an unwinder; see unwind.h. */
#include "unwind/unwind.h"

#include "cp-build.h"

#include <errno.h>
#include "base/atomic.h"
#include "base/base.h"
#include "sample/sample.h"

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

static int prepare(const struct cp_unwinder *u)
{
	return u->prepare ? u->prepare() : 0;
}

static const char *reason(int err)
{
	return err == -EBUSY ? "the program has an allocator of its own" : cp_log_errno_text(err);
}

const struct cp_unwinder *cp_unwinder_choice_make(enum cp_unwind_choice choice)
{
	const struct cp_unwinder *u = wish(choice);
	int err = u ? prepare(u) : 0;

	if (u && !err)
		return u;
	if (choice != CP_UNWIND_AUTO)
		cp_log("CPROF_UNWIND: %s can't be used here (%s); auto is used instead",
		       u ? u->name : "libunwind", u ? reason(err) : "not built in");
	for (size_t i = 0; i < sizeof(by_quality) / sizeof(*by_quality); i++)
		if (prepare(by_quality[i]) == 0)
			return by_quality[i];
	return NULL;
}

bool cp_unwinder_choice_default(void)
{
	const struct cp_unwinder *u = cp_load_acquire(&cp_capture_settings.unwinder);

	if (!u) {
		u = cp_unwinder_choice_make(CP_UNWIND_AUTO);
		/* Release: who sees the unwinder sees it prepared. */
		cp_store_release(&cp_capture_settings.unwinder, u);
	}
	return u != NULL;
}
