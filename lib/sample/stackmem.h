/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads stack words for unwinders without ever faulting.
 *
 * There are two ways. Memory that must be mapped is read directly: the used part of the thread's
 * own stack and the red zone below it; of a stack that the program made itself, only the page of
 * the stack pointer. Other memory may be unmapped by another thread at that moment (a register of
 * code without frame pointers leads anywhere), so the kernel copies it, a window at a time.
 * Unwinders call this in handlers. One struct lives on the stack of one walk, so nothing is shared
 * and nothing locks.
 *
 * Limit: where the kernel refuses to copy (in some sandboxes), it is asked whether a page is
 * mapped, and another thread may unmap the page before it is read.
 */
#ifndef CP_STACKMEM_H
#define CP_STACKMEM_H

#include <stdbool.h>
#include <stdint.h>

/* The ABI lets leaf functions use this many bytes below sp. Epilogues leave popped registers
 * there, and their unwind rules still point there. */
#define CP_STACKMEM_RED_ZONE 128

struct cp_stackcopy;

/* A buffer for copies of memory that isn't read directly. One copy costs a microsecond or two,
 * regardless of its size. */
struct cp_stackmem_room {
	unsigned char bytes[4096];
};

struct cp_stackmem {
	uint64_t direct_low, direct_size; /* this range is read directly; size 0 = it isn't known */
	uint64_t here;			  /* the stack pointer's page; 0 = it may not be mapped */
	uint64_t had_low; /* range that ROOM is a copy of; with ASKS: mapped range */
	uint32_t had_size;
	bool here_asked, asks;
	struct cp_stackmem_room *room; /* the caller's buffer; NULL: copy word by word */
	struct cp_stackcopy *copy;     /* not NULL: reads another thread's stack */
};

/* SP is the interrupted stack pointer; [low, high) is the thread's stack (both 0 = not known). If
 * SP is outside of it (coroutine, signal stack), only the page of SP is read directly. */
void cp_stackmem_init(struct cp_stackmem *m, uint64_t sp, uint64_t low, uint64_t high);

/* Prepares M for another thread's stack: every word is read through COPY. */
void cp_stackmem_init_copy(struct cp_stackmem *m, struct cp_stackcopy *copy);

/* Returns whether the page of ADDR is mapped. One system call, no effect on the process. */
bool cp_stackmem_probe(uint64_t addr);

bool cp_stackmem_read_elsewhere(struct cp_stackmem *m, uint64_t addr, uint64_t *word);

/* Reads other functions' stack variables, which AddressSanitizer must not report as a bug. */
#define CP_STACKMEM_RAW __attribute__((no_sanitize("address", "alignment")))
typedef uint64_t __attribute__((aligned(1), may_alias)) cp_stackmem_word;

/* Returns whether the word at ADDR is read directly. */
static inline bool cp_stackmem_is_direct(const struct cp_stackmem *m, uint64_t addr)
{
	return __builtin_expect(addr - m->direct_low < m->direct_size, 1);
}

CP_STACKMEM_RAW static inline uint64_t cp_stackmem_read_direct(uint64_t addr)
{
	/* NOLINTNEXTLINE: within the thread's own stack, so not NULL */
	return *(const cp_stackmem_word *)addr;
}

/* Reads the word at ADDR into *WORD. Returns false if ADDR can't be read; *WORD is then
 * unchanged. */
CP_STACKMEM_RAW static inline bool cp_stackmem_read(struct cp_stackmem *m, uint64_t addr,
						    uint64_t *word)
{
	if (!cp_stackmem_is_direct(m, addr))
		return cp_stackmem_read_elsewhere(m, addr, word);
	*word = cp_stackmem_read_direct(addr);
	return true;
}

#endif
