/* One instruction, as far as the stack pointer is concerned: how long it is, what it does to sp and
 * where the code goes on. For cfi_ahead.c, which reads code that has no call frame information.
 * Bytes in, a struct out. What may do anything else to sp is CP_INSN_OTHER, which ends a reading.
 */
#ifndef CP_CFI_INSN_H
#define CP_CFI_INSN_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that cp_insn_read may look at. No instruction has more than 15; what isn't one may seem to.
 */
#define CP_INSN_BYTES 24

enum cp_insn_kind {
	CP_INSN_OTHER,	/* nothing is known of what comes then */
	CP_INSN_PLAIN,	/* leaves sp alone, and goes on behind it, or at its end + by, if that isn't
			   0 */
	CP_INSN_CALLS,	/* the same, if the call returns */
	CP_INSN_MOVES,	/* sp += by */
	CP_INSN_PUSHES, /* sp += by, and what is there then is new: register reg, or other things */
	CP_INSN_POPS,	/* the word at sp goes to register reg, and sp += by */
	CP_INSN_READS,	/* the word at sp + by goes to register reg, which may be sp */
	CP_INSN_STORES, /* the word at sp + by is new: as above */
	CP_INSN_JUMPS,	/* to its end + by */
	CP_INSN_RETURNS,
};

struct cp_insn {
	uint8_t kind; /* enum cp_insn_kind */
	uint8_t size; /* in bytes; of CP_INSN_OTHER, too, unless it is 0 */
	uint8_t reg;  /* DWARF's number; 0 for other things, which is no register that calls keep */
	int32_t by;
};

/* The instruction at CODE. */
struct cp_insn cp_insn_read(const uint8_t *code);
/* Is it one of those that stand between functions: nop, int3? */
bool cp_insn_fills(const uint8_t *code);

#endif
