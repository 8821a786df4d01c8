/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of test-unwind-oracle.c: single steps, the shadow stack, the comparison.
 *
 * After each instruction SIGTRAP's handler keeps a shadow stack, pushed by call
 * instructions and popped as sp rises over them, and compares it with the walk from
 * that very instruction. x86_64 only.
 */
#ifndef UNWIND_ORACLE_H
#define UNWIND_ORACLE_H

#include "unwind-chains.h"

#include <dlfcn.h>
#include <setjmp.h>

#include "unwind/signal/unwind_signal.h"

#define TRAP_FLAG 0x100
#define SHADOW 4096

static struct {
	struct {
		uint64_t slot, ra;
	} calls[SHADOW];
	unsigned depth;
	uint64_t last_pc, last_sp;
	bool on;
	bool flag_lost; /* a virtual machine dropped the flag on the way */
} shadow;

/* The frames outside of the traced part, from the walk at its start. */
static struct walked outer;

static struct tally {
	unsigned long walks, wrong, cut, frames;
	unsigned long no_fde; /* cut at code without an FDE: the price of not guessing */
} dwarf, libunwind;

static unsigned libunwind_every = 64;
static bool verbose;

static void show(uint64_t pc)
{
	Dl_info info = { 0 };

	if (dladdr((void *)pc, &info) && info.dli_fname)
		printf("#   %#lx %s+%#lx %s\n", pc, info.dli_sname ? info.dli_sname : "?",
		       pc - (uint64_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase),
		       strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/')
						    : info.dli_fname);
	else
		printf("#   %#lx\n", pc);
}

static void show_walk(const struct walked *w, unsigned at, const char *who)
{
	printf("# %s differs at frame %u of %u, end %d\n", who, at, w->n, w->end);
	for (unsigned i = 0; i < w->n && i < at + 2; i++)
		show(w->pcs[i]);
	printf("# right is, from the caller on:\n");
	for (unsigned i = 0; i < shadow.depth && i < at + 1; i++)
		show(shadow.calls[shadow.depth - 1 - i].ra - 1);
}

/* Frame I (from 1) as it should be; 0 after the last. */
static uint64_t right(unsigned i)
{
	if (i <= shadow.depth)
		return shadow.calls[shadow.depth - i].ra - 1;
	i -= shadow.depth;
	return i < outer.n ? outer.pcs[i] : 0;
}

static bool has_fde(uint64_t pc)
{
	struct cp_cfi_module m;
	struct cp_cfi_fde fde;

	return cp_cfi_module_find(pc, &m) && cp_cfi_table_find(&m, pc, NULL, &fde);
}

/* longjmp's inner part describes itself as the place that it jumps to, long before it
 * gets there. test_jumps runs first and finds where it is. */
static bool in_longjmp(uint64_t pc)
{
	static uint64_t inner;

	if (right(1) - (uint64_t)longjmp < 128)
		inner = pc;
	return inner && pc - (inner - 72) < 72 + 16;
}

static void compare(const struct walked *w, struct tally *t, const char *who)
{
	unsigned i = 1;

	if (in_longjmp(w->pcs[0]))
		return;
	while (i < w->n && w->pcs[i] == right(i))
		i++;
	t->walks++;
	t->frames += w->n;
	if (i == w->n && !right(i) && w->end == CP_UNWIND_COMPLETE)
		return;
	if (i == w->n && w->end == CP_UNWIND_INCOMPLETE && !has_fde(w->pcs[i - 1])) {
		t->no_fde++;
		return;
	}
	*(i == w->n && w->end == CP_UNWIND_INCOMPLETE ? &t->cut : &t->wrong) += 1;
	if (verbose && t->wrong + t->cut < 20)
		show_walk(w, i, who);
}

static bool is_call(const uint8_t *p)
{
	while (*p == 0x3e || *p == 0xf2 || *p == 0x66 || (*p & 0xf0) == 0x40)
		p++;
	return *p == 0xe8 || (*p == 0xff && (p[1] & 0x38) == 0x10);
}

static void keep_shadow(uint64_t pc, uint64_t sp)
{
	if (sp == shadow.last_sp - 8 && is_call((const uint8_t *)shadow.last_pc) &&
	    shadow.depth < SHADOW) {
		shadow.calls[shadow.depth].slot = sp;
		shadow.calls[shadow.depth++].ra = *(uint64_t *)sp;
	}
	while (shadow.depth && shadow.calls[shadow.depth - 1].slot < sp)
		shadow.depth--;
	shadow.last_pc = pc;
	shadow.last_sp = sp;
}

static void walk_with(const struct cp_unwinder *u, const struct cp_unwind_input *in,
		      struct walked *w)
{
	w->n = u->walk(in, w->pcs, DEPTH, &w->end);
}

static uint64_t own_low, own_high;

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	static struct cp_unwind_input in;
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uint64_t sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];

	cp_regs_of_context(&in.regs, uc);
	in.stack_low = own_low;
	in.stack_high = own_high;
	in.stable_modules = in.own_tls = true;
	/* The breakpoint starts and stops. A virtual machine may report a step with another code
	 * than TRAP_TRACE. */
	if (info->si_code == SI_KERNEL) {
		shadow.on = !shadow.on;
		shadow.flag_lost = !shadow.on && !(uc->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG);
		uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		uc->uc_mcontext.gregs[REG_EFL] |= shadow.on ? TRAP_FLAG : 0;
		shadow.depth = 0;
		walk_with(unwinder, &in, &outer);
	} else {
		keep_shadow(pc, sp);
		walk_with(unwinder, &in, &walked);
		compare(&walked, &dwarf, "dwarf");
		if (libunwind_every && dwarf.walks % libunwind_every == 0) {
			walk_with(&cp_unwinder_libunwind, &in, &walked);
			compare(&walked, &libunwind, "libunwind");
		}
	}
	shadow.last_pc = pc;
	shadow.last_sp = sp;
}

static void trace(void (*work)(void))
{
	static char stack[256 << 10];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	stack_bounds(&own_low, &own_high);
	sigaltstack(&ss, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	memset(&dwarf, 0, sizeof(dwarf));
	memset(&libunwind, 0, sizeof(libunwind));
	trap();
	work();
	trap();
	printf("# dwarf: %lu walks, %lu frames, %lu wrong, %lu cut, %lu without an FDE\n",
	       dwarf.walks, dwarf.frames, dwarf.wrong, dwarf.cut, dwarf.no_fde);
	if (libunwind.walks)
		printf("# libunwind: %lu walks, %lu wrong, %lu cut\n", libunwind.walks,
		       libunwind.wrong, libunwind.cut);
	if (shadow.flag_lost)
		printf("# the machine lost the trap flag: the rest ran unseen\n");
	CHECK(dwarf.walks > 1000 || shadow.flag_lost);
	CHECK_EQ(dwarf.wrong, 0);
	CHECK_EQ(dwarf.cut, 0);
	CHECK(dwarf.no_fde <= dwarf.walks / 1000);
}

#endif
