/* Call frame information: from a pc to the registers of its caller.
 *
 *     module → .eh_frame_hdr → FDE and CIE        cfi_table.c
 *     FDE, pc → row: where the caller's registers are      cfi_row.c
 *     row, registers, stack → the caller's registers       cfi_step.c, cfi_expr.c
 *     code without an FDE, or with one that lies           cfi_guess.c, cfi_lies.c
 *     the end of such code                                 cfi_leaving.c
 *     such code read on to its end                         cfi_ahead.c, cfi_insn.c
 *     what stands in the code                              cfi_code.c
 *     a frame pointer that nobody has kept                 cfi_base.c
 *
 * All of it runs in handlers: no lock, no memory but the caller's stack, no read
 * beyond the module's bounds and the readable stack. Nothing is trusted to be well
 * formed: bad input ends in "lost", never in a fault.
 */
#ifndef CP_CFI_H
#define CP_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/arch.h"
#include "sigsafe/cfi_arch.h"
#include "sigsafe/cfi_cursor.h"
#include "sigsafe/cfi_module.h"
#include "sigsafe/stackmem.h"

/* One function's information. The cursors point into the module, or into a copy. */
struct cp_cfi_fde {
	uint64_t start;			   /* of the code */
	struct cp_cfi_cursor cie, program; /* instructions: common ones, then its own */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointers;  /* encoding of DW_CFA_set_loc's operand */
	uint8_t ra_column; /* < CP_CFI_COLUMNS */
	bool sized;	   /* augmentation data has a length before it */
	bool signal;	   /* the frame of a signal trampoline */
};

/* Room for what is needed of one FDE and its CIE. With it, module memory is copied by
 * the kernel instead of read, which can't fault while a dlclose is going on. */
struct cp_cfi_copy {
	uint8_t fde[192], cie[64];
};

/* The FDE of PC, or false. COPY NULL: read the module directly. */
bool cp_cfi_find(const struct cp_cfi_module *m, uint64_t pc, struct cp_cfi_copy *copy,
		 struct cp_cfi_fde *fde);

/* The FDE at ADDR, and how much code it covers. */
bool cp_cfi_parse(const struct cp_cfi_module *m, uint64_t addr, struct cp_cfi_copy *copy,
		  struct cp_cfi_fde *fde, uint64_t *size);

/* How the CIE begins that compilers write but for languages with exceptions, behind its length:
 * "zR", addresses 4 bytes from here. */
#define CP_CFI_USUAL_CIE "\0\0\0\0\x01zR\0" CP_CFI_USUAL_UNITS "\x01\x1b" CP_CFI_USUAL_BEGIN

/* Where the last function that has an FDE and starts at or before PC starts; 0 = none. */
uint64_t cp_cfi_start_before(const struct cp_cfi_module *m, uint64_t pc, bool copy);

/* Where a register of the caller is: kind and value in one word. */
enum {
	CP_CFI_UNSET,	   /* nothing said: as by the ABI */
	CP_CFI_UNDEFINED,  /* gone; a return address: this is the outermost frame */
	CP_CFI_SAME,	   /* still in the register */
	CP_CFI_OFFSET,	   /* in memory at CFA + value */
	CP_CFI_VAL_OFFSET, /* is CFA + value */
	CP_CFI_REGISTER,   /* in register number value */
	CP_CFI_EXPR,	   /* in memory where the expression at value says */
	CP_CFI_VAL_EXPR,   /* what the expression at value gives */
};

/* bits 0-2 kind, bit 3 an expression stands in the CIE, bits 4-31 value, signed: an
 * expression's is its place in the program, at its length. */
#define CP_CFI_RULE(kind, in_cie, value)                                                           \
	((uint32_t)(kind) | (uint32_t)(in_cie) << 3 | (uint32_t)(value) << 4)
#define CP_CFI_KIND(rule) ((rule)&7)
#define CP_CFI_IN_CIE(rule) ((rule) >> 3 & 1)
#define CP_CFI_VALUE(rule) ((int32_t)(rule) >> 4)

struct cp_cfi_row {
	uint32_t cfa; /* CP_CFI_REGISTER (plus cfa_offset) or CP_CFI_VAL_EXPR */
	int32_t cfa_offset;
	uint32_t rules[CP_CFI_COLUMNS];
};

/* The row of PC, which fde covers, and for which code it holds: [from, to); TO is UINT64_MAX for
 * the last row. SPAN may be NULL. 0 or -EINVAL (malformed, or nested too deep). */
struct cp_cfi_span {
	uint64_t from, to;
};
int cp_cfi_row_and_span(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row,
			struct cp_cfi_span *span);
static inline int cp_cfi_row(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row)
{
	return cp_cfi_row_and_span(fde, pc, row, NULL);
}

/* The registers of the frame that is being unwound, and the stack they point to. */
struct cp_cfi_frame {
	struct cp_regs regs;
	uint64_t known; /* bit n: regs.r[n] holds this frame's value */
	/* A return address that no call has left, but that frame records bear out; or 0. */
	uint64_t jumped_from;
	/* The pc that reading a leaf's code on has led to last; or 0. */
	uint64_t read_to;
	struct cp_stackmem stack;
};

#define CP_CFI_ALL_KNOWN ((UINT64_C(1) << CP_REGS) - 1)

enum cp_cfi_result {
	CP_CFI_STEPPED,	  /* the frame is now the caller's; its pc is a return address */
	CP_CFI_RESUMED,	  /* the same, but a signal interrupted it: its pc is exact */
	CP_CFI_OUTERMOST, /* there is no caller */
	CP_CFI_LOST,	  /* no rule, or it led nowhere */
	CP_CFI_UNKNOWN,	  /* the rule needs a register that is not known */
};

/* Move F to the caller by ROW. F is unchanged unless stepped or resumed. */
enum cp_cfi_result cp_cfi_step(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde,
			       const struct cp_cfi_row *row);

/* Evaluate the expression whose length stands at EXPR. FIRST, unless NULL, is on the
 * stack at the start. CP_CFI_STEPPED sets *RESULT; else CP_CFI_LOST, CP_CFI_UNKNOWN. */
enum cp_cfi_result cp_cfi_expr(struct cp_cfi_cursor expr, struct cp_cfi_frame *f,
			       const uint64_t *first, uint64_t *result);

/* Move F, at a signal's trampoline, to what the signal interrupted, by the kernel's own
 * frame: CP_CFI_RESUMED, or CP_CFI_LOST when it is no trampoline. COPY: code is read by
 * the kernel. */
enum cp_cfi_result cp_cfi_resume(struct cp_cfi_frame *f, bool copy);

/* Move F, whose code has no FDE, to its caller: by a return address near sp or by the
 * frame pointer. */
enum cp_cfi_result cp_cfi_guess(struct cp_cfi_frame *f, bool exact, bool copy);

/* Is F, interrupted in code without an FDE, about to leave, so that its return address is in a
 * register, or its frame pointer the caller's although its frame is there? Then that address and
 * the sp behind it are in *RA and *SP. */
bool cp_cfi_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp);

/* Where code without an FDE returns to, and what of the registers it gives back until then. */
struct cp_cfi_ahead {
	uint64_t ra, sp; /* sp: the caller's */
	uint64_t values[CP_CFI_COLUMNS];
	uint8_t restored, lost; /* columns: taken from the stack; of those: the word is not known */
	bool leaf;		/* only if nothing is called before; given */
};

/* Does reading F's code on, from its pc, lead to a return? */
bool cp_cfi_reads_on(struct cp_cfi_frame *f, bool copy, struct cp_cfi_ahead *to);
void cp_cfi_take_restored(struct cp_cfi_frame *f, const struct cp_cfi_ahead *from);
/* Can PC be in the function that begins at FROM? Not if it has ended before. */
bool cp_cfi_reaches(uint64_t from, uint64_t pc, bool copy);

/* No instructions follow. */
static inline bool cp_cfi_is_padding(const struct cp_cfi_cursor *c)
{
	const uint8_t *p = c->p;

	while (p < c->end && *p == 0)
		p++;
	return p == c->end;
}

/* No instructions but those of the CIE. */
static inline bool cp_cfi_says_nothing(const struct cp_cfi_fde *fde)
{
	return cp_cfi_is_padding(&fde->program) && !fde->signal;
}

/* Hand-written code whose FDE says nothing, although the code begins with pushes: such
 * is glibc's multi-precision arithmetic, hot in printf and strtod of floating point.
 * STEPPED by the pushes, or LOST: FDE is not one of these, and F unchanged. */
enum cp_cfi_result cp_cfi_pushes(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde, bool copy);

/* F's rule counts from a frame pointer that is not known, because the stack is another thread's
 * and the functions below kept it in its register: find it by what the function's begin does to
 * the stack, or by the words there. True: f->regs has it, and f->known says so. */
bool cp_cfi_base(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde, const struct cp_cfi_row *row,
		 bool copy);
/* clang moves the end of a frame (add $n, %rsp) up over a comparison and a jump, but not its
 * description. Corrects ROW, of PC, which was interrupted. False: there is nothing to correct. */
bool cp_cfi_freed_early(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row,
			bool copy);

/* May that be so in the function at START, with a CFA that counts from sp? */
bool cp_cfi_frees(uint64_t start, uint64_t pc);

/* N bytes of code at ADDR, or false. COPY as above. */
bool cp_cfi_read_code(uint64_t addr, void *to, size_t n, bool copy);
/* As many of them as there are before a page that can't be read. N is below a page. */
size_t cp_cfi_read_some(uint64_t addr, void *to, size_t n, bool copy);

/* Modules have gone: forget which of their pages can be read. */
void cp_cfi_code_forget(void);

/* These three are asked of each frame: of code in no module an answer may be half a second old. */

/* Does the instruction before RA call? False also when it can't be read. */
bool cp_cfi_behind_call(uint64_t ra, bool copy);
/* Is PC where signal handlers return to? */
bool cp_cfi_at_sigreturn(uint64_t pc, bool copy);
/* Can anything be read at PC? */
bool cp_cfi_is_there(uint64_t pc, bool copy);

/* Where the call before RA went, through a PLT stub too. 0 = that can't be told. */
uint64_t cp_cfi_called(uint64_t ra, bool copy);

/* Can RA, in no module, be a return address into generated code? Never on F's stack. */
bool cp_cfi_is_generated(const struct cp_cfi_frame *f, uint64_t ra, bool copy);

#endif
