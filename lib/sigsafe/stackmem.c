/* Fault-safe stack reads; see stackmem.h. */
#include "sigsafe/stackmem.h"

#include <errno.h>
#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/stackcopy.h"
#include "sigsafe/sys.h"

#define PAGE UINT64_C(4096) /* the smallest page there is; larger ones only cost a probe more */
#define UNMAPPED 8	    /* page 0 */
#define BAD_HOW (-1)	    /* neither SIG_BLOCK, SIG_UNBLOCK nor SIG_SETMASK */

void cp_stackmem_init(struct cp_stackmem *m, uint64_t sp, uint64_t low, uint64_t high)
{
	uint64_t from = sp - CP_STACKMEM_RED_ZONE;

	memset(m, 0, sizeof(*m));
	if (sp < low || sp >= high || high - sp < sizeof(uint64_t))
		return;
	/* The page under sp's may be the guard: it is asked for, if it comes to that. */
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

/* The kernel copies the new set before it looks at `how`, and refuses a bad `how`
 * before it changes anything: EFAULT = unreadable, EINVAL = readable. */
static long ask(uint64_t addr)
{
	return cp_sys4(SYS_rt_sigprocmask, BAD_HOW, addr & ~UINT64_C(7), 0, sizeof(uint64_t));
}

/* An emulator of the kernel may look at `how` first. */
static bool can_ask(void)
{
	static enum { UNTRIED, YES, NO } state;
	int s = cp_load_relaxed(&state); /* all who come here find the same */

	if (s == UNTRIED) {
		s = ask(UNMAPPED) == -EFAULT ? YES : NO;
		cp_store_relaxed(&state, s);
	}
	return s == YES;
}

bool cp_stackmem_probe(uint64_t addr)
{
	char byte;

	return can_ask() ? ask(addr) == -EINVAL : cp_sys_peek(&byte, addr, 1) == 1;
}

static bool readable(struct cp_stackmem *m, uint64_t page)
{
	if (page >= m->probed_low && page < m->probed_high)
		return true;
	if (!cp_stackmem_probe(page))
		return false;
	if (page == m->probed_high) {
		m->probed_high += PAGE;
	} else if (page + PAGE == m->probed_low) {
		m->probed_low = page;
	} else {
		m->probed_low = page;
		m->probed_high = page + PAGE;
	}
	return true;
}

CP_STACKMEM_RAW bool cp_stackmem_read_probed(struct cp_stackmem *m, uint64_t addr, uint64_t *word)
{
	uint64_t last = addr + sizeof(*word) - 1;

	if (m->copy)
		return cp_stackcopy_read(m->copy, addr, word);
	/* Page 0 is never a stack, and an address that wraps is garbage. */
	if (addr < PAGE || last < addr)
		return false;
	if (!readable(m, addr & -PAGE) || !readable(m, last & -PAGE))
		return false;
	*word = *(const cp_stackmem_word *)addr;
	return true;
}
