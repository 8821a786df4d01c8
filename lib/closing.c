/* The gate and dlclose; see closing.h. */
#include "closing.h"

#include <stdbool.h>
#include <stdint.h>

#include "heap.h"
#include "sigsafe/capture.h"
#include "sigsafe/gate.h"
#include "sigsafe/thread.h"

static bool is_on_own_stack(uint64_t address)
{
	const struct cp_thread *t = cp_self.thread;

	return t && address >= t->stack_low && address < t->stack_high;
}

/* No function that the outermost one called can be at FRAME: stacks grow down. On a stack of the
 * program's own making (a coroutine's) nothing is told by that. */
static bool was_left(uint64_t frame)
{
	return cp_self.in_dlclose && frame >= cp_self.dlclose_frame && is_on_own_stack(frame) &&
	       is_on_own_stack(cp_self.dlclose_frame);
}

unsigned cp_closing_begin(const void *frame)
{
	unsigned before;

	if (was_left((uint64_t)frame))
		cp_closing_abandon();
	before = cp_self.in_dlclose;
	if (!before)
		cp_self.dlclose_frame = (uint64_t)frame;
	cp_gate_close();
	cp_self.in_dlclose++;
	return before;
}

void cp_closing_end(unsigned before, struct cp_unloaded *unloaded)
{
	if (cp_capture_settings.unwinder && cp_capture_settings.unwinder->modules_changed)
		cp_capture_settings.unwinder->modules_changed();
	/* The wall clock walks with this one whatever was chosen. */
	if (cp_capture_settings.unwinder != &cp_unwinder_dwarf)
		cp_unwinder_dwarf.modules_changed();
	/* Before the gate opens: what is kept of the old module isn't used for a new one. */
	cp_heap_after_unload(unloaded);
	while (cp_self.in_dlclose > before) {
		cp_self.in_dlclose--;
		cp_gate_open();
	}
}

void cp_closing_abandon(void)
{
	if (cp_self.in_dlclose)
		cp_closing_end(0, NULL);
}
