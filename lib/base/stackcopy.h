/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads another thread's stack through the kernel.
 *
 * That thread may wake up and unmap its stack at any moment, so no byte is read directly. The
 * kernel copies a window around the requested address. The caller must find out afterwards whether
 * the thread slept all along; only then do the windows fit together. The wall clock's pacer uses
 * this, with one struct per walk; nothing is shared.
 */
#ifndef CP_STACKCOPY_H
#define CP_STACKCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most stacks of waiting threads fit into one or two windows. */
#define CP_STACKCOPY_WINDOW ((size_t)8192)

struct cp_stackcopy {
	uint64_t low, size; /* the range that DATA is a copy of; size 0 = no copy yet */
	int mem; /* /proc/.../mem, used when process_vm_readv is denied; -1 = not opened */
	bool denied;
	unsigned char data[CP_STACKCOPY_WINDOW];
};

void cp_stackcopy_begin(struct cp_stackcopy *c);
void cp_stackcopy_end(struct cp_stackcopy *c);

/* Reads the word at ADDR into *WORD. Returns false if ADDR can't be read; *WORD is then
 * unchanged. */
bool cp_stackcopy_read(struct cp_stackcopy *c, uint64_t addr, uint64_t *word);

#endif
