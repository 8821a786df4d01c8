/* Another thread's stack, read through the kernel.
 *
 * That thread may wake up and give its stack back to the kernel at any moment, so not a
 * byte is read directly: a window is copied around what is asked for. Whether the thread slept
 * all along, so that the windows fit together, is for the caller to find out afterwards. Used by
 * the wall clock's pacer; one struct a walk, nothing is shared.
 */
#ifndef CP_STACKCOPY_H
#define CP_STACKCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most stacks of waiting threads fit into one or two. */
#define CP_STACKCOPY_WINDOW ((size_t)8192)

struct cp_stackcopy {
	uint64_t low, size; /* what DATA is a copy of; size 0 = nothing yet */
	int mem;	    /* /proc/.../mem, where the copying call is denied; -1 = not opened */
	bool denied;
	unsigned char data[CP_STACKCOPY_WINDOW];
};

void cp_stackcopy_begin(struct cp_stackcopy *c);
void cp_stackcopy_end(struct cp_stackcopy *c);

/* The word at ADDR, or false when it can't be read; *WORD untouched then. */
bool cp_stackcopy_read(struct cp_stackcopy *c, uint64_t addr, uint64_t *word);

#endif
