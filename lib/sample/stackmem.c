/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault-safe stack reads; see ring.h. */
#include "sample/ring.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/base.h"
#include "base/sys.h"

/* The smallest page size. Larger pages cost only an additional probe. */
#define PAGE UINT64_C(4096)
#define UNMAPPED 8   /* an address in page 0 */
#define BAD_HOW (-1) /* neither SIG_BLOCK, SIG_UNBLOCK nor SIG_SETMASK */
/* A frame's saved registers lie a little below its return address, which is read first. */
#define BELOW UINT64_C(128)

void cp_stackmem_init(struct cp_stackmem *m, uint64_t sp, uint64_t low, uint64_t high)
{
	uint64_t from = sp - CP_STACKMEM_RED_ZONE;

	memset(m, 0, sizeof(*m));
	/* If sp is the very start of a page, no byte of the page need be in use. */
	m->here = sp % PAGE ? sp & -PAGE : 0;
	if (sp < low || sp >= high || high - sp < sizeof(uint64_t))
		return;
	/* The page below sp's page may be the guard page, so it is probed if it is needed. */
	if (from < (sp & -PAGE))
		from = sp & -PAGE;
	if (from < low)
		from = low;
	m->direct_low = from;
	m->direct_size = high - from - (sizeof(uint64_t) - 1);
}

void cp_stackmem_init_copy(struct cp_stackmem *m, struct cp_stackcopy *copy)
{
	memset(m, 0, sizeof(*m));
	m->copy = copy;
}

/* The kernel copies the new set before it checks `how`, and rejects a bad `how` before it changes
 * anything. EFAULT = unreadable, EINVAL = readable. */
static long ask_kernel(uint64_t addr)
{
	return cp_sys4(SYS_rt_sigprocmask, BAD_HOW, addr & ~UINT64_C(7), 0, sizeof(uint64_t));
}

/* Returns whether ask_kernel() works here. An emulator of the kernel may check `how` first. */
static bool can_ask(void)
{
	static enum { UNTRIED, YES, NO } state;
	int s = cp_load_relaxed(&state); /* every caller finds the same result */

	if (s == UNTRIED) {
		s = ask_kernel(UNMAPPED) == -EFAULT ? YES : NO;
		cp_store_relaxed(&state, s);
	}
	return s == YES;
}

bool cp_stackmem_probe(uint64_t addr)
{
	char byte;

	return can_ask() ? ask_kernel(addr) == -EINVAL : cp_sys_peek(&byte, addr, 1) == 1;
}

CP_STACKMEM_RAW static uint64_t word_at(uint64_t addr)
{
	return *(const cp_stackmem_word *)addr;
}

/* Returns whether the whole word at ADDR is on the stack pointer's page. The page is probed once,
 * because the stack pointer may be garbage. */
static bool is_here(struct cp_stackmem *m, uint64_t addr)
{
	if (!m->here || addr - m->here > PAGE - sizeof(uint64_t))
		return false;
	if (!m->here_asked && !cp_stackmem_probe(m->here))
		m->here = 0;
	m->here_asked = true;
	return m->here != 0;
}

static bool window_holds(const struct cp_stackmem *m, uint64_t addr)
{
	return m->had_size >= sizeof(addr) && addr - m->had_low <= m->had_size - sizeof(addr);
}

/* Copies the memory around ADDR into ROOM. Returns more than 0, or a negative errno. */
static long fill_room(struct cp_stackmem *m, uint64_t addr)
{
	uint64_t page = addr & -PAGE;
	long got;

	/* The page below may be unmapped. */
	m->had_low = addr - page < BELOW ? page : addr - BELOW;
	got = cp_sys_peek_some(m->room->bytes, m->had_low, sizeof(m->room->bytes));
	m->had_size = got > 0 ? (uint32_t)got : 0;
	return got < 0 || window_holds(m, addr) ? got : -EFAULT;
}

/* Copies the word at ADDR; returns as cp_sys_peek. */
static long copy_window(struct cp_stackmem *m, uint64_t addr, uint64_t *word)
{
	uint64_t alone;
	long got = 1;

	if (!m->room)
		got = cp_sys_peek(&alone, addr, sizeof(alone));
	else if (!window_holds(m, addr))
		got = fill_room(m, addr);
	if (got > 0)
		memcpy(word, m->room ? m->room->bytes + (addr - m->had_low) : (void *)&alone,
		       sizeof(*word));
	return got;
}

/* Returns whether the pages of the word at ADDR are mapped. Used if copying is refused, as in some
 * sandboxes. */
static bool is_there(struct cp_stackmem *m, uint64_t addr)
{
	uint64_t page = addr & -PAGE, last = (addr + sizeof(uint64_t) - 1) & -PAGE;

	if (window_holds(m, addr))
		return true;
	m->had_size = 0;
	if (!cp_stackmem_probe(page) || (last != page && !cp_stackmem_probe(last)))
		return false;
	m->had_low = page;
	m->had_size = (uint32_t)(last + PAGE - page);
	return true;
}

bool cp_stackmem_read_elsewhere(struct cp_stackmem *m, uint64_t addr, uint64_t *word)
{
	long got;

	if (m->copy)
		return cp_stackcopy_read(m->copy, addr, word);
	/* Page 0 is no stack, and an address that wraps around is garbage. */
	if (addr < PAGE || addr + sizeof(*word) - 1 < addr)
		return false;
	if (!is_here(m, addr) && !m->asks) {
		got = copy_window(m, addr, word);
		if (got >= 0 || got == -EFAULT)
			return got > 0;
		m->asks = true;
		m->had_size = 0;
	}
	if (!is_here(m, addr) && !is_there(m, addr))
		return false;
	*word = word_at(addr);
	return true;
}
