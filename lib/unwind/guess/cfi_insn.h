/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes one instruction with regard to the stack pointer: its length, its effect on sp, and where
 * execution continues. For cfi_forward.c, which reads code without call frame information. Bytes
 * in, a struct out. An instruction with any other possible effect on sp is CP_INSN_OTHER, which
 * ends the reading. */
#ifndef CP_CFI_INSN_H
#define CP_CFI_INSN_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that cp_cfi_insn_read may look at. No instruction has more than 15; bytes that aren't an
 * instruction may seem to have more. */
#define CP_INSN_BYTES 24

enum cp_insn_kind {
	CP_INSN_OTHER, /* the state after it is unknown */
	CP_INSN_PLAIN, /* leaves sp alone; continues after the instruction or, if BY isn't 0, at its
			  end + BY */
	CP_INSN_CALLS, /* the same, if the call returns */
	CP_INSN_MOVES, /* sp += BY */
	CP_INSN_PUSHES, /* sp += BY, and the word there is new: register REG, or another value */
	CP_INSN_POPS,	/* the word at sp goes to register REG, and sp += BY */
	CP_INSN_READS,	/* the word at sp + BY goes to register REG, which may be sp */
	CP_INSN_STORES, /* the word at sp + BY is new: register REG, or another value */
	CP_INSN_JUMPS,	/* to its end + BY */
	CP_INSN_RETURNS,
};

struct cp_insn {
	uint8_t kind; /* enum cp_insn_kind */
	uint8_t size; /* counts bytes; 0 only for a CP_INSN_OTHER of unknown length */
	uint8_t reg;  /* DWARF number; 0 = another value (register 0 is not preserved by calls) */
	int32_t by;
};

/* Decode the instruction at CODE. */
struct cp_insn cp_cfi_insn_read(const uint8_t *code);
/* Is it a filler between functions: nop, int3? */
bool cp_cfi_insn_fills(const uint8_t *code);

#endif
