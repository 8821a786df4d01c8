/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/unwind/signal/, by the file that implements them. */
#ifndef CP_UNWIND_SIGNAL_UNWIND_SIGNAL_H
#define CP_UNWIND_SIGNAL_UNWIND_SIGNAL_H

#include <string.h>

#include "unwind/signal/cfi_arch.h"
#include "sample/sample.h"

/* Reads call frame information byte by byte, never past its end.
 *
 * A read past the end returns 0, sets BAD and stays at the end, so a parser checks once, when it is
 * done. Any context.
 */

struct cp_cfi_cursor {
	const uint8_t *p, *end;
	uint64_t bias; /* added to the address of *p, gives the byte's address in the module; not 0
			  in a copy */
	bool cut;      /* the bytes after END were not copied */
	bool bad;
};

/* Pointer encodings of .eh_frame: how a value is stored, and what is added to it. */
enum {
	CP_CFI_ENC_OMIT = 0xff,
	CP_CFI_ENC_FORMAT = 0x0f,
	CP_CFI_ENC_SDATA4 = 0x0b,
	CP_CFI_ENC_BASE = 0x70,
	CP_CFI_ENC_PCREL = 0x10,
	CP_CFI_ENC_INDIRECT = 0x80,
};

static inline bool cp_cfi_has(struct cp_cfi_cursor *c, uint64_t n)
{
	if ((uint64_t)(c->end - c->p) >= n)
		return true;
	c->bad = true;
	c->p = c->end;
	return false;
}

static inline void cp_cfi_skip(struct cp_cfi_cursor *c, uint64_t n)
{
	if (cp_cfi_has(c, n))
		c->p += n;
}

static inline uint8_t cp_cfi_u8(struct cp_cfi_cursor *c)
{
	return cp_cfi_has(c, 1) ? *c->p++ : 0;
}

#define CP_CFI_FIXED(name, type)                                                                   \
	static inline type name(struct cp_cfi_cursor *c)                                           \
	{                                                                                          \
		type v = 0;                                                                        \
                                                                                                   \
		if (cp_cfi_has(c, sizeof(v))) {                                                    \
			memcpy(&v, c->p, sizeof(v));                                               \
			c->p += sizeof(v);                                                         \
		}                                                                                  \
		return v;                                                                          \
	}
CP_CFI_FIXED(cp_cfi_u16, uint16_t)
CP_CFI_FIXED(cp_cfi_u32, uint32_t)
CP_CFI_FIXED(cp_cfi_u64, uint64_t)

static inline uint64_t cp_cfi_leb(struct cp_cfi_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = cp_cfi_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (is_signed && b & 0x40 && shift < 64)
		v |= ~UINT64_C(0) << shift;
	return v;
}

static inline uint64_t cp_cfi_uleb(struct cp_cfi_cursor *c)
{
	/* Fast path: nearly all numbers have one byte. */
	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cp_cfi_leb(c, false);
}

static inline int64_t cp_cfi_sleb(struct cp_cfi_cursor *c)
{
	return (int64_t)cp_cfi_leb(c, true);
}

/* Read a pointer in encoding ENC; an indirect pointer isn't followed. The 64-bit ports use no bases
 * but the pointer's own address; other bases set BAD. */
static inline uint64_t cp_cfi_pointer(struct cp_cfi_cursor *c, uint8_t enc)
{
	uint64_t at = (uint64_t)(uintptr_t)c->p + c->bias, v = 0;

	switch (enc & CP_CFI_ENC_FORMAT) {
	case 0x01: v = cp_cfi_uleb(c); break;
	case 0x02: v = cp_cfi_u16(c); break;
	case 0x03: v = cp_cfi_u32(c); break;
	case 0x00:
	case 0x04:
	case 0x0c: v = cp_cfi_u64(c); break;
	case 0x09: v = (uint64_t)cp_cfi_sleb(c); break;
	case 0x0a: v = (uint64_t)(int16_t)cp_cfi_u16(c); break;
	case 0x0b: v = (uint64_t)(int32_t)cp_cfi_u32(c); break;
	default: c->bad = true;
	}
	if ((enc & CP_CFI_ENC_BASE) == CP_CFI_ENC_PCREL)
		return v + at;
	if (enc & CP_CFI_ENC_BASE)
		c->bad = true;
	return v;
}

/* cfi.c
 *
 * Finds the module that contains an address, and its unwind table.
 *
 * Two halves: the search runs in handlers and takes no lock; the control half
 * (lib/unwind/cfi_modules.c) runs before the first walk and when modules change. glibc from 2.35 on
 * answers the search itself (_dl_find_object: lock-free, made for unwinders). Elsewhere a snapshot
 * of the modules, sorted by address, is searched.
 */

/* One function's place in a table, relative to the table's base. */
struct cp_cfi_entry {
	int32_t start, fde;
};

/* A table built by lib/unwind/cfi_build.c, in own pages, for a module whose linker wrote no table,
 * or no sorted one. */
struct cp_cfi_table {
	size_t bytes; /* bytes of the whole mapping */
	uint64_t base, count;
	struct cp_cfi_entry entries[];
};

struct cp_cfi_module {
	uint64_t start, end; /* all its segments: [start, end); only one segment if there are holes
				between them */
	uint64_t hdr; /* address of .eh_frame_hdr, in [tables, tables_end); 0 = the module has none
		       */
	uint64_t tables, tables_end;	  /* the mapped range around .eh_frame_hdr and .eh_frame */
	const struct cp_cfi_table *built; /* used instead of HDR; NULL = no such table */
	/* Results that searches cached to speed up later ones; 0 = unknown yet. For a lasting
	 * module any thread writes them, and all threads write the same values. */
	uint32_t entries;   /* number of entries of HDR's table, if that table can be searched */
	uint32_t usual_cie; /* offset from TABLES of the CIE that most functions have */
};

/* Sorted by start; never changed once published. */
struct cp_cfi_snapshot {
	size_t count, bytes; /* bytes: of the whole mapping */
	struct cp_cfi_module modules[];
};

/* The part of glibc's struct dl_find_object that is the same on all ports, and room for the rest.
 */
struct cp_cfi_dlfo {
	unsigned long long flags;
	void *map_start, *map_end, *link_map, *eh_frame;
	unsigned long long rest[11];
};

#define CP_CFI_LASTING 2

/* Only the control half writes this struct; it stores SNAPSHOT with release. */
extern struct cp_cfi_finder {
	int (*find)(void *addr, struct cp_cfi_dlfo *result); /* NULL: the snapshot is used */
	/* All modules; or, if FIND is set, only those for which libcprof built a table. NULL: no
	 * modules. */
	struct cp_cfi_snapshot *snapshot;
	uint32_t missed; /* a handler has found no module, or no table, for an address */
	/* The program's segment that contains .eh_frame_hdr. The kernel, unlike the loader, leaves
	 * holes between segments (ports with large pages), and glibc then answers with one segment.
	 */
	uint64_t main_tables, main_tables_end;
	/* Modules that stay until the end: the program and libc. Those that have a table and no
	 * holes are found here at once. HDR is 0 in the others. */
	struct cp_cfi_module lasting[CP_CFI_LASTING];
	/* The modules that the loader never unloads, because the program began with them. NULL
	 * before the end of the first dlclose: only walks during a dlclose need them. */
	struct cp_cfi_snapshot *kept;
} cp_cfi_finder;

/* Returns the lasting module that contains PC. NULL doesn't mean that no module contains PC. */
static inline struct cp_cfi_module *cp_cfi_lasting(uint64_t pc)
{
	for (unsigned i = 0; i < CP_CFI_LASTING; i++) {
		struct cp_cfi_module *m = &cp_cfi_finder.lasting[i];

		if (pc - m->start < m->end - m->start)
			return m;
	}
	return NULL;
}

/* Finds the module that contains PC. Returns false, and leaves *M alone, if no module does. */
bool cp_cfi_module_find(uint64_t pc, struct cp_cfi_module *m);

/* Does the module that contains PC stay until the end? Returns false if that isn't known. */
bool cp_cfi_module_stays(uint64_t pc);

/* Called when a handler found no module or no table: asks the control half to look. */
static inline void cp_cfi_module_missed(void)
{
	if (!cp_load_relaxed(&cp_cfi_finder.missed))
		cp_store_relaxed(&cp_cfi_finder.missed, 1);
}

/* Control half. Ordinary context, no walk in progress. Returns 0 or -ENOMEM. */
int cp_cfi_modules_prepare(void);
void cp_cfi_modules_refresh(void);
/* Note which modules stay, at the first dlclose. Several threads may do so at once. */
void cp_cfi_modules_note_kept(void);
/* Called on the collector's thread about once a second: looks for newly loaded modules if a handler
 * missed one. Takes none of the program's locks. */
void cp_cfi_poll(void);
/* Call in a fork child. */
void cp_cfi_modules_fork_child(void);

/* clang-format off */
/* Call frame information: computes the registers of a frame's caller from its pc.
 *
 *     module → .eh_frame_hdr → FDE and CIE                 cfi_table.c
 *     FDE, pc → row: where the caller's registers are      cfi_row.c
 *     row, registers, stack → the caller's registers       cfi.c, cfi_expr.c
 *     code without an FDE, or with a wrong one             cfi_guess.c, cfi_quirks.c
 *     the epilogue of such code                            cfi_epilogue.c
 *     reading such code forward to its end                 cfi_forward.c, cfi_insn.c
 *     the code's bytes                                     cfi_code.c
 *     a frame pointer that no frame has saved              cfi_base.c
 *
 * All of it runs in handlers: no lock, no memory but the caller's stack, no read beyond the
 * module's bounds and the readable stack. Nothing is trusted to be well formed: bad input ends in
 * "lost", never in a fault.
 */
/* clang-format on */

/* One function's information. The cursors point into the module, or into a copy. */
struct cp_cfi_fde {
	uint64_t start;			   /* address of the code */
	struct cp_cfi_cursor cie, program; /* instructions: the CIE's, then the FDE's */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointers;  /* encoding of DW_CFA_set_loc's operand */
	uint8_t ra_column; /* < CP_CFI_COLUMNS */
	bool sized;	   /* augmentation data is preceded by its length */
	bool signal;	   /* the frame of a signal trampoline */
};

/* Room for the needed parts of one FDE and its CIE. With this buffer, the kernel copies module
 * memory, which can't fault during a dlclose; without it, memory is read directly. */
struct cp_cfi_copy {
	uint8_t fde[192], cie[64];
};

/* Find the FDE of PC. Returns false if there is none. COPY NULL: read the module directly. */
bool cp_cfi_table_find(const struct cp_cfi_module *m, uint64_t pc, struct cp_cfi_copy *copy,
		       struct cp_cfi_fde *fde);

/* Parse the FDE at ADDR, and set *SIZE to the size of the code that it covers. */
bool cp_cfi_table_parse(const struct cp_cfi_module *m, uint64_t addr, struct cp_cfi_copy *copy,
			struct cp_cfi_fde *fde, uint64_t *size);

/* The beginning of the CIE, after its length, that compilers write for all languages without
 * exceptions: "zR", addresses of 4 bytes relative to their own position. */
#define CP_CFI_USUAL_CIE "\0\0\0\0\x01zR\0" CP_CFI_USUAL_UNITS "\x01\x1b" CP_CFI_USUAL_BEGIN

/* Returns the start of the last function that has an FDE and starts at or before PC; 0 = no such
 * function. */
uint64_t cp_cfi_table_start_before(const struct cp_cfi_module *m, uint64_t pc, bool copy);

/* Where a register of the caller is: kind and value in one word. */
enum {
	CP_CFI_UNSET,	   /* no rule: the ABI decides */
	CP_CFI_UNDEFINED,  /* lost; for the return address: this is the outermost frame */
	CP_CFI_SAME,	   /* still in the register */
	CP_CFI_OFFSET,	   /* in memory at CFA + value */
	CP_CFI_VAL_OFFSET, /* equals CFA + value */
	CP_CFI_REGISTER,   /* in register number value */
	CP_CFI_EXPR,	   /* in memory at the address that the expression at value gives */
	CP_CFI_VAL_EXPR,   /* equals the result of the expression at value */
};

/* bits 0-2 kind, bit 3 the expression is in the CIE, bits 4-31 value, signed; for an expression:
 * the position of its length in the program */
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

/* Compute the row of PC, which fde covers, and the range of code [from, to) for which it holds; TO
 * is UINT64_MAX for the last row. SPAN may be NULL. Returns 0 or -EINVAL (malformed, or nested too
 * deep). */
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
	/* A return address that no call has left, but that frame records confirm; or 0. */
	uint64_t jumped_from;
	/* The pc that reading a leaf's code forward reached last; or 0. */
	uint64_t read_to;
	struct cp_stackmem stack;
};

#define CP_CFI_ALL_KNOWN ((UINT64_C(1) << CP_REGS) - 1)

enum cp_cfi_result {
	CP_CFI_STEPPED, /* the frame is now the caller's; its pc is a return address */
	CP_CFI_RESUMED, /* the same, but the caller was interrupted by a signal: its pc is exact */
	CP_CFI_OUTERMOST, /* there is no caller */
	CP_CFI_LOST,	  /* no rule, or the rule led nowhere */
	CP_CFI_UNKNOWN,	  /* the rule needs a register whose value is unknown */
};

/* Move F to the caller by ROW. F is unchanged unless the result is stepped or resumed. */
enum cp_cfi_result cp_cfi_step(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde,
			       const struct cp_cfi_row *row);

/* Evaluate the expression whose length is at EXPR. FIRST, unless NULL, is on the expression's stack
 * at the start. Returns CP_CFI_STEPPED and sets *RESULT, or returns CP_CFI_LOST or CP_CFI_UNKNOWN.
 */
enum cp_cfi_result cp_cfi_expr(struct cp_cfi_cursor expr, struct cp_cfi_frame *f,
			       const uint64_t *first, uint64_t *result);

/* Move F, at a signal's trampoline, to the frame that the signal interrupted, by the kernel's
 * signal frame. Returns CP_CFI_RESUMED, or CP_CFI_LOST if F is not at a trampoline. EXACT: F was
 * interrupted. COPY: the kernel copies code bytes. */
enum cp_cfi_result cp_cfi_guess_resume(struct cp_cfi_frame *f, bool exact, bool copy);

/* Move F, whose code has no FDE, to its caller: by a return address near sp or by the frame
 * pointer. */
enum cp_cfi_result cp_cfi_guess(struct cp_cfi_frame *f, bool exact, bool copy);

/* Is F, interrupted in code without an FDE, about to return, so that the return address is in a
 * register, or the frame pointer is already the caller's although F's frame still exists? Then sets
 * *RA to that address and *SP to the sp after the return. */
bool cp_cfi_epilogue_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp);

/* The place where code without an FDE returns to, and the registers that it restores until then. */
struct cp_cfi_forward {
	uint64_t ra, sp; /* sp: the caller's */
	uint64_t values[CP_CFI_COLUMNS];
	uint8_t restored,
		lost; /* columns: restored from the stack; those of them whose word is unknown */
	bool leaf;    /* set by the caller: only accept a path without calls */
};

/* Does reading F's code forward, from its pc, reach a return? Then sets *TO. */
bool cp_cfi_forward_reads_on(struct cp_cfi_frame *f, bool copy, struct cp_cfi_forward *to);
void cp_cfi_forward_take_restored(struct cp_cfi_frame *f, const struct cp_cfi_forward *from);
/* Can PC be in the function that begins at FROM? Returns false if that function ends before PC. */
bool cp_cfi_forward_reaches(uint64_t from, uint64_t pc, bool copy);
/* Does the code at PC lead straight to a call that doesn't return, which is followed by an
 * instruction that no program may run? */
bool cp_cfi_forward_never_returns(uint64_t pc, bool copy);
/* Returns how many of the N bytes at CODE, where a function begins, are surely the function's.
 * CP_INSN_BYTES more may be read. */
uint64_t cp_cfi_forward_extent(const uint8_t *code, uint64_t n);

/* Do no more instructions follow? */
static inline bool cp_cfi_is_padding(const struct cp_cfi_cursor *c)
{
	const uint8_t *p = c->p;

	while (p < c->end && *p == 0)
		p++;
	return p == c->end;
}

/* Has the FDE no instructions besides those of the CIE? */
static inline bool cp_cfi_says_nothing(const struct cp_cfi_fde *fde)
{
	return cp_cfi_is_padding(&fde->program) && !fde->signal;
}

/* Handles hand-written code whose FDE has no instructions, although the code begins with pushes.
 * glibc's multi-precision arithmetic is such code; it is hot in printf and strtod of floating
 * point. Returns STEPPED after undoing the pushes, or LOST with F unchanged if FDE is not of this
 * kind. */
enum cp_cfi_result cp_cfi_quirks_pushes(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde,
					bool copy);

/* Find a frame pointer that F's rule counts from but that is unknown, because the stack belongs to
 * another thread and the functions below kept the frame pointer in its register. Uses the
 * function's prologue, or the words on the stack. Returns true after setting the register in
 * f->regs and f->known. */
bool cp_cfi_base(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde, const struct cp_cfi_row *row,
		 bool copy);
/* clang moves the end of a frame (add $n, %rsp) up over a comparison and a jump, but doesn't move
 * its description. Corrects ROW, the row of PC, which was interrupted. Returns false if there is
 * nothing to correct. */
bool cp_cfi_quirks_freed_early(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row,
			       bool copy);

/* May the end of the frame have been moved up in this way, in the function at START and at PC, if
 * its CFA counts from sp? */
bool cp_cfi_quirks_frees(uint64_t start, uint64_t pc);

/* Read N bytes of code at ADDR, or return false. COPY as above. */
bool cp_cfi_code_read(uint64_t addr, void *to, size_t n, bool copy);
/* Read as many of them as there are before a page that can't be read, and return the number. N must
 * be below a page. */
size_t cp_cfi_code_read_some(uint64_t addr, void *to, size_t n, bool copy);

/* Forget which pages of modules can be read. Call after modules went away. */
void cp_cfi_code_forget(void);

/* The next three are called for each frame. For code in no module, an answer may be half a second
 * old. */

/* Is the instruction before RA a call? Also false if it can't be read. */
bool cp_cfi_code_behind_call(uint64_t ra, bool copy);
/* Is PC the code that signal handlers return to? */
bool cp_cfi_code_at_sigreturn(uint64_t pc, bool copy);
/* Can code be read at PC? */
bool cp_cfi_code_is_there(uint64_t pc, bool copy);

/* Returns where a jump to TO ends, followed through PLT stubs and functions that only jump on. */
uint64_t cp_cfi_code_behind_jumps(uint64_t to, bool copy);

/* Returns the target of the call before RA, followed through PLT stubs and functions that only jump
 * on. 0 = unknown. */
uint64_t cp_cfi_code_called(uint64_t ra, bool copy);

/* Can RA, in no module, be a return address into generated code? Always false for an address on F's
 * stack. */
bool cp_cfi_guess_is_generated(const struct cp_cfi_frame *f, uint64_t ra, bool copy);

/* unwind_libunwind.c
 *
 * The functions of libunwind that unwind_libunwind.c needs; lib/unwind/library.c fills
 * them in.
 */

#ifdef HAVE_CONFIG_H
#include "cp-build.h"
#endif

#ifdef HAVE_LIBUNWIND

#if defined(__x86_64__)
#include <libunwind-x86_64.h>
#elif defined(__aarch64__)
#include <libunwind-aarch64.h>
#endif

struct cp_libunwind {
	unw_addr_space_t (*create_addr_space)(unw_accessors_t *, int);
	int (*set_caching_policy)(unw_addr_space_t, unw_caching_policy_t);
	void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
	int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
	int (*search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
				   unw_proc_info_t *, int, void *);
};

/* Create the address space. Call outside handlers, once. Returns 0 or -ENOMEM. */
int cp_unwind_libunwind_start(const struct cp_libunwind *loaded);
/* Flush libunwind's cache. Call after start, while no walk is in progress. */
void cp_unwind_libunwind_flush(void);

/* Control half: load the library privately. Call outside handlers, once. Returns 0, -ENOENT if
 * there is no library, -ENOSYS if it lacks a function. */
int cp_library_libunwind(struct cp_libunwind *to);

#endif

/* The walk functions, which run in handlers, of the unwinders in sample.h. lib/unwind/unwinders.c
 * has the tables of these functions. */

unsigned cp_unwind_fp_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			   enum cp_unwind_end *end);
unsigned cp_unwind_dwarf_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *end);
/* The same walk if rules.h has a rule for every frame; returns 0 if not. Reads no module's memory
 * except that of modules that stay to the end, and no list of modules. So it needs no gate while
 * modules may go away, except modules on the stack itself. */
unsigned cp_unwind_dwarf_by_rules(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);
unsigned cp_unwind_libunwind_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);

#endif
