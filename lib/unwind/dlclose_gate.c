/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate around dlclose; see unwind.h. */
#include "unwind/unwind.h"

void (*cp_dlclose_gate_unloaded)(struct cp_module_diff *u);

static bool is_on_own_stack(uint64_t address)
{
	const struct cp_thread *t = cp_self.thread;

	return t && address >= t->stack_low && address < t->stack_high;
}

/* Was the outermost dlclose left without a return? Stacks grow down, so no function that it called
 * can have a frame at FRAME or above. On a stack that the program made (a coroutine's) this can't
 * be decided. */
static bool was_left(uint64_t frame)
{
	return cp_self.in_dlclose && frame >= cp_self.dlclose_frame && is_on_own_stack(frame) &&
	       is_on_own_stack(cp_self.dlclose_frame);
}

unsigned cp_dlclose_gate_begin(const void *frame)
{
	unsigned before;

	if (was_left((uint64_t)frame))
		cp_dlclose_gate_abandon();
	before = cp_self.in_dlclose;
	if (!before)
		cp_self.dlclose_frame = (uint64_t)frame;
	cp_gate_close();
	cp_self.in_dlclose++;
	return before;
}

void cp_dlclose_gate_end(unsigned before, struct cp_module_diff *unloaded)
{
	if (cp_capture_settings.unwinder && cp_capture_settings.unwinder->modules_changed)
		cp_capture_settings.unwinder->modules_changed();
	/* The wall clock uses this unwinder even if another one is chosen. */
	if (cp_capture_settings.unwinder != &cp_unwinder_dwarf)
		cp_unwinder_dwarf.modules_changed();
	/* Retire entries before the gate opens, so that those of the old module aren't used for a
	 * new one. */
	if (cp_dlclose_gate_unloaded)
		cp_dlclose_gate_unloaded(unloaded);
	while (cp_self.in_dlclose > before) {
		cp_self.in_dlclose--;
		cp_gate_open();
	}
}

void cp_dlclose_gate_abandon(void)
{
	if (cp_self.in_dlclose)
		cp_dlclose_gate_end(0, NULL);
}
