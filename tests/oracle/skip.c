/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are not stepped through, so that the stepping gets far: see oracle.h.
 *
 * A function is stepped through until it has returned some times; later calls of it run at full
 * speed, but for one in oracle_skip_rate. Meanwhile there are breakpoints at the return addresses
 * of the innermost frames: of more than one, because an exception or longjmp may pass over some.
 */
#include "oracle.h"

#include <fcntl.h>

#include "base/sys.h"

#define SITES 8
#define SELDOM 4
#define LEARNED 2 /* returns after which a function may be skipped */
#define FUNCTIONS (1 << 20)

unsigned oracle_skip_rate = 100;
uint64_t oracle_skip_seed = 88172645463325252u; /* never 0 */

static struct {
	uint64_t pc;
	unsigned returns;
} seen[FUNCTIONS];

static struct site {
	uint64_t at, sp; /* SP after the return */
	uint8_t byte;
} sites[SITES];
static unsigned planted;
static struct site *lifted;

static unsigned *returns_of(uint64_t pc)
{
	uint64_t i = pc * UINT64_C(0x9e3779b97f4a7c15) >> 44;

	for (unsigned n = 0; n < 64; n++, i = (i + 1) % FUNCTIONS) {
		if (!seen[i].pc)
			seen[i].pc = pc;
		if (seen[i].pc == pc)
			return &seen[i].returns;
	}
	return NULL;
}

static uint64_t next_random(void)
{
	oracle_skip_seed ^= oracle_skip_seed << 13;
	oracle_skip_seed ^= oracle_skip_seed >> 7;
	oracle_skip_seed ^= oracle_skip_seed << 17;
	return oracle_skip_seed;
}

bool oracle_skip_wanted(uint64_t pc)
{
	unsigned *returns = returns_of(pc);

	uint64_t rate;

	if (!oracle_skip_rate || !returns || *returns < LEARNED)
		return false;
	/* A function that is seldom called may do a lot, and leads to the rest of the program. */
	rate = 1 + *returns / SELDOM;
	return next_random() % (rate < oracle_skip_rate ? rate : oracle_skip_rate) != 0;
}

void oracle_skip_returned(uint64_t pc)
{
	unsigned *returns = pc ? returns_of(pc) : NULL;

	if (returns)
		++*returns;
}

/* Through /proc/self/mem code can be written directly, as a debugger does. Not by libc's functions,
 * because the breakpoints may be in them. */
static bool write_code(uint64_t at, uint8_t byte)
{
	int fd = cp_sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	bool done = cp_sys4(SYS_pwrite64, fd, &byte, 1, at) == 1;

	cp_sys_close(fd);
	return done;
}

void oracle_skip_plant(void)
{
	for (planted = 0; planted < SITES; planted++) {
		const struct oracle_call *c = oracle_shadow_call(planted);
		struct site *s = &sites[planted];

		/* Not in a signal's trampoline, by which our own handler returns. */
		if (!c || c->exact)
			break;
		*s = (struct site){ .at = c->ra,
				    .sp = c->slot + 8,
				    .byte = *(const uint8_t *)c->ra };
		/* A recursion's frames share a return address: the byte is the first one's. */
		for (unsigned i = 0; i < planted; i++)
			if (sites[i].at == s->at)
				s->byte = sites[i].byte;
		if (!write_code(s->at, 0xcc))
			break;
	}
}

void oracle_skip_clear(void)
{
	for (unsigned i = 0; i < planted; i++)
		write_code(sites[i].at, sites[i].byte);
	planted = 0;
	lifted = NULL;
}

enum oracle_hit oracle_skip_hit(uint64_t pc, uint64_t sp)
{
	struct site *here = NULL;

	for (unsigned i = 0; i < planted; i++) {
		if (sites[i].at != pc - 1)
			continue;
		here = &sites[i];
		/* Above it where the callee takes its arguments away; a recursion is below. */
		if (sp >= sites[i].sp) {
			oracle_skip_clear();
			return ORACLE_HIT_BACK;
		}
	}
	if (!here)
		return ORACLE_HIT_NONE;
	write_code(here->at, here->byte);
	lifted = here;
	return ORACLE_HIT_OTHER;
}

bool oracle_skip_lift(uint64_t pc)
{
	for (unsigned i = 0; i < planted; i++)
		if (sites[i].at == pc - 1)
			write_code(pc - 1, sites[i].byte);
	/* The stepped thread may have taken it away after the trap. */
	return *(const volatile uint8_t *)(pc - 1) != 0xcc;
}

void oracle_skip_replant(void)
{
	if (lifted)
		write_code(lifted->at, 0xcc);
	lifted = NULL;
}
