/* Stack words that an unwinder may read without ever faulting.
 *
 * Two ways: what must be mapped (the part of the thread's own stack that is in
 * use, and the red zone under it; of a stack of the program's making the page that
 * the thread stands on) is read at once. Anything else may be memory that another
 * thread unmaps at that moment (a register of code without frame pointers leads
 * anywhere), so the kernel copies it, a window at a time. Called by unwinders, in
 * handlers. One struct lives on the stack of one walk, so nothing is shared and
 * nothing locks.
 *
 * What it can't know: where the kernel refuses to copy (some sandboxes), it is
 * asked whether a page is there, and another thread may unmap it before it is read.
 */
#ifndef CP_STACKMEM_H
#define CP_STACKMEM_H

#include <stdbool.h>
#include <stdint.h>

/* The ABI lets leaf functions use this many bytes below sp; epilogues leave
 * popped registers there, where their unwind rules still point. */
#define CP_STACKMEM_RED_ZONE 128

struct cp_stackcopy;

/* For copies of what is elsewhere. To copy costs a microsecond or two, however little it is. */
struct cp_stackmem_room {
	unsigned char bytes[4096];
};

struct cp_stackmem {
	uint64_t direct_low, direct_size; /* read at once; size 0 = nothing is known */
	uint64_t here;			  /* the stack pointer's page; 0 = it may not be there */
	uint64_t had_low; /* what ROOM is a copy of, or, if it ASKS, what is there */
	uint32_t had_size;
	bool here_asked, asks;
	struct cp_stackmem_room *room; /* set by who has one; NULL: word by word */
	struct cp_stackcopy *copy;     /* not NULL: another thread's stack, read through this */
};

/* SP is the interrupted stack pointer, [low, high) the thread's stack (both 0 =
 * not known). With a foreign sp (coroutine, signal stack) its page only is read directly. */
void cp_stackmem_init(struct cp_stackmem *m, uint64_t sp, uint64_t low, uint64_t high);

/* For another thread's stack: every word is read through COPY. */
void cp_stackmem_init_copy(struct cp_stackmem *m, struct cp_stackcopy *copy);

/* Does the page of ADDR answer? One system call, no effect on the process. */
bool cp_stackmem_probe(uint64_t addr);

bool cp_stackmem_read_elsewhere(struct cp_stackmem *m, uint64_t addr, uint64_t *word);

/* Other functions' stack variables are read here: not a bug to AddressSanitizer. */
#define CP_STACKMEM_RAW __attribute__((no_sanitize("address", "alignment")))
typedef uint64_t __attribute__((aligned(1), may_alias)) cp_stackmem_word;

/* Is the word at ADDR one that is read at once? */
static inline bool cp_stackmem_is_direct(const struct cp_stackmem *m, uint64_t addr)
{
	return __builtin_expect(addr - m->direct_low < m->direct_size, 1);
}

CP_STACKMEM_RAW static inline uint64_t cp_stackmem_read_direct(uint64_t addr)
{
	/* NOLINTNEXTLINE: within the thread's own stack, so not NULL */
	return *(const cp_stackmem_word *)addr;
}

/* The word at ADDR, or false when it can't be read; *WORD untouched then. */
CP_STACKMEM_RAW static inline bool cp_stackmem_read(struct cp_stackmem *m, uint64_t addr,
						    uint64_t *word)
{
	if (!cp_stackmem_is_direct(m, addr))
		return cp_stackmem_read_elsewhere(m, addr, word);
	*word = cp_stackmem_read_direct(addr);
	return true;
}

#endif
