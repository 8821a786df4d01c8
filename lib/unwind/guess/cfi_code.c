/* SPDX-License-Identifier: BSD-3-Clause */
/* Code as the unwinder sees it: is the instruction before an address a call, and where does the
 * call go? See unwind_signal.h.
 *
 * A page of a module that could be read once stays readable until a module goes away, so each page
 * is tested once. Other memory is read by a system call each time. Stacks of generated code
 * (Java's) would need a thousand of these, so a verdict on such an address is reused for a moment.
 */
#include "unwind/signal/unwind_signal.h"

#include <errno.h>

#include "base/sys.h"

#define PAGE UINT64_C(4096)
/* Number of remembered items of each kind: slots of a hash table. */
#define SLOT_BITS 10
#define SLOTS (1u << SLOT_BITS)

static uint64_t readable[SLOTS];
/* Jumps from a called function on: operator delete[], operator delete, its stub, free. */
#define JUMPS 4

/* Kinds of places outside of all modules. A word has the address, MOMENT_BITS of the time, and this
 * verdict. */
enum verdict { NOTHING, OTHER, BEHIND_CALL, SIGRETURN };
#define MOMENT_BITS 14
#define VERDICT_BITS 2
static uint64_t seen[SLOTS];
_Static_assert(CP_CFI_PC_BITS + MOMENT_BITS + VERDICT_BITS <= 64, "it is one word");

static unsigned hash_pc(uint64_t v)
{
	return (unsigned)(v * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS));
}

static uint64_t *slot_of(uint64_t page)
{
	return &readable[hash_pc(page >> 12)];
}

/* Is the page of ADDR a readable page of a module? That remains true until a module goes away. */
static bool is_of_module(uint64_t addr)
{
	uint64_t page = addr & -PAGE, *slot = slot_of(page);
	struct cp_cfi_module m;

	/* Relaxed: the page is not read through the word. */
	if (cp_load_relaxed(slot) == page)
		return true;
	if (!(cp_cfi_module_find(page, &m) || cp_cfi_module_find(addr, &m)) ||
	    !cp_stackmem_probe(page))
		return false;
	cp_store_relaxed(slot, page);
	return true;
}

void cp_cfi_code_forget(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		cp_store_relaxed(&readable[i], 0);
		cp_store_relaxed(&seen[i], 0);
	}
}

/* Byte by byte, because AddressSanitizer checks the reads of memcpy. */
CP_STACKMEM_RAW static void copy_bytes(uint8_t *to, uint64_t addr, size_t n)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)addr;

	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static bool spans(uint64_t addr, size_t n, bool (*holds)(uint64_t addr))
{
	return holds(addr) && ((addr ^ (addr + n - 1)) < PAGE || holds(addr + n - 1));
}

/* Reads N bytes of code at ADDR. The kernel copies code outside of modules, and code of a module
 * that may go away (COPY): such code comes and goes at any time, and a stack that has changed
 * meanwhile may lead to any address. Testing the address first is not enough, because another
 * thread may unmap it after the test. Some sandboxes refuse the copy; in those, the memory is
 * tested and then read. */
bool cp_cfi_code_read(uint64_t addr, void *to, size_t n, bool copy)
{
	long got;

	if (addr < PAGE || (addr + n) >> CP_CFI_PC_BITS)
		return false;
	if (copy || !spans(addr, n, is_of_module)) {
		got = cp_sys_peek(to, addr, n);
		if (copy || got >= 0 || got == -EFAULT)
			return got == (long)n;
		if (!spans(addr, n, cp_stackmem_probe))
			return false;
	}
	copy_bytes(to, addr, n);
	return true;
}

size_t cp_cfi_code_read_some(uint64_t addr, void *to, size_t n, bool copy)
{
	size_t here = PAGE - (addr & (PAGE - 1));

	if (cp_cfi_code_read(addr, to, n, copy))
		return n;
	return here < n && cp_cfi_code_read(addr, to, here, copy) ? here : 0;
}

/* Read the bytes before a return address. The page before it may be unmapped. */
static bool read_call(uint64_t ra, uint8_t code[CP_CFI_CALL_BYTES], bool copy)
{
	uint64_t page = (ra - 1) & -PAGE, from = ra - CP_CFI_CALL_BYTES;

	if (cp_cfi_code_read(from, code, CP_CFI_CALL_BYTES, copy))
		return true;
	if (from >= page)
		return false;
	memset(code, 0, CP_CFI_CALL_BYTES);
	return cp_cfi_code_read(page, code + (page - from), ra - page, copy);
}

static bool is_behind_call(uint64_t ra, bool copy)
{
	uint8_t code[CP_CFI_CALL_BYTES];

	return read_call(ra, code, copy) && cp_cfi_is_call(code + sizeof(code));
}

static bool is_sigreturn(uint64_t pc, bool copy)
{
	uint8_t code[CP_CFI_SIGRETURN_BYTES];

	return cp_cfi_code_read(pc, code, sizeof(code), copy) && cp_cfi_is_sigreturn(code);
}

static enum verdict look_at_code(uint64_t pc)
{
	uint8_t byte;

	if (is_sigreturn(pc, false))
		return SIGRETURN;
	if (is_behind_call(pc, false))
		return BEHIND_CALL;
	return cp_cfi_code_read(pc, &byte, sizeof(byte), false) ? OTHER : NOTHING;
}

/* Returns the verdict on PC, from the table if possible. Stacks contain the same return addresses
 * over and over, within a stack and from sample to sample. Code that a stack returns to is not
 * discarded. Other code that is generated anew at the address is noticed within the moment. */
static enum verdict remember_verdict(uint64_t pc)
{
	uint64_t moment = (cp_ticks() >> CP_CFI_MOMENT) & ((1u << MOMENT_BITS) - 1);
	uint64_t key = (pc << MOMENT_BITS | moment) << VERDICT_BITS, *slot = &seen[hash_pc(pc)],
		 was;
	enum verdict now;

	/* Relaxed: the word contains everything about the address. */
	was = cp_load_relaxed(slot);
	if (was >> VERDICT_BITS == key >> VERDICT_BITS)
		return (enum verdict)(was & ((1u << VERDICT_BITS) - 1));
	now = look_at_code(pc);
	/* A place that can't be read now may be readable next time. */
	if (now != NOTHING)
		cp_store_relaxed(slot, key | now);
	return now;
}

static bool is_remembered(uint64_t pc, bool copy)
{
	/* A verdict is kept for a short time, which the cycle counter measures: see remember. */
	return !copy && !cp_load_relaxed(&cp_ticks_forbidden) && !(pc >> CP_CFI_PC_BITS) &&
	       pc > PAGE && !is_of_module(pc);
}

bool cp_cfi_code_behind_call(uint64_t ra, bool copy)
{
	return is_remembered(ra, copy) ? remember_verdict(ra) == BEHIND_CALL
				       : is_behind_call(ra, copy);
}

bool cp_cfi_code_at_sigreturn(uint64_t pc, bool copy)
{
	return is_remembered(pc, copy) ? remember_verdict(pc) == SIGRETURN : is_sigreturn(pc, copy);
}

bool cp_cfi_code_is_there(uint64_t pc, bool copy)
{
	uint8_t byte;

	return is_remembered(pc, copy) ? remember_verdict(pc) != NOTHING
				       : cp_cfi_code_read(pc, &byte, sizeof(byte), copy);
}

/* Returns where the code at AT goes on if it only jumps there: a PLT stub, or a function such as
 * operator delete, which jumps to free. 0 = it does something else. */
static uint64_t jumps_on(uint64_t at, bool copy)
{
	uint8_t code[CP_CFI_STUB_BYTES];
	uint64_t slot;

	if (!cp_cfi_code_read(at, code, sizeof(code), copy))
		return 0;
	slot = cp_cfi_stub_slot(code, at);
	if (!slot)
		return cp_cfi_jump_target(code, at);
	return cp_cfi_code_read(slot, &slot, sizeof(slot), copy) ? slot : 0;
}

uint64_t cp_cfi_code_behind_jumps(uint64_t to, bool copy)
{
	uint64_t next;

	for (unsigned jumps = 0; to && jumps < JUMPS; jumps++) {
		next = jumps_on(to, copy);
		if (!next)
			break;
		to = next;
	}
	return to;
}

uint64_t cp_cfi_code_called(uint64_t ra, bool copy)
{
	uint8_t code[CP_CFI_CALL_BYTES];
	uint64_t to;
	bool by_slot;

	if (!read_call(ra, code, copy))
		return 0;
	to = cp_cfi_call_target(code + CP_CFI_CALL_BYTES, ra, &by_slot);
	if (by_slot && !cp_cfi_code_read(to, &to, sizeof(to), copy))
		return 0;
	return cp_cfi_code_behind_jumps(to, copy);
}
