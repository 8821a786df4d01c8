/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk by call frame information. Of code that no compiler describes well: test-unwind-code.c,
 * test-unwind-undescribed.c.
 */
#define OWN_MAIN
#include "unwind-chains.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "unwind/unwind.h"
#include "unwind/signal/unwind_signal.h"
#include "unwind/signal/rules.h"
#include "base/sys.h"

/* A handler that looks at the walk that a sample makes after the handler's return, AT bytes into
 * the trampoline. */
static void check_trampoline(const ucontext_t *uc, uint64_t trampoline, uint64_t sp, unsigned at)
{
	struct cp_unwind_input in;

	input_of(&in, uc);
#if defined(__aarch64__)
	in.regs.r[CP_CFI_LR] = trampoline;
#endif
	in.regs.r[CP_REG_PC] = trampoline + at;
	in.regs.r[CP_REG_SP] = sp;
	walked.n = unwinder->walk(&in, walked.pcs, DEPTH, &walked.end);
	CHECK(walked.n > 2);
	CHECK_EQ(walked.pcs[0], trampoline + at);
	CHECK_EQ(walked.pcs[1], interrupted);
	CHECK(noted_at() > 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

static void on_leaving(int sig, siginfo_t *info, void *context)
{
	uint64_t trampoline = (uint64_t)__builtin_return_address(0);
	struct cp_cfi_module m;
	struct cp_regs regs;

	cp_regs_of_context(&regs, context);
	interrupted = regs.r[CP_REG_PC];
	if (!cp_cfi_module_find(trampoline, &m))
		SKIP("it is in no module, as in user-mode emulation");
#if defined(__aarch64__)
	check_trampoline(context, trampoline, (uint64_t)info, 0);
	check_trampoline(context, trampoline, (uint64_t)info, CP_CFI_SIGRETURN_CALL);
#else
	check_trampoline(context, trampoline, (uint64_t)context, 0);
	check_trampoline(context, trampoline, (uint64_t)context, CP_CFI_SIGRETURN_CALL);
#endif
}

static void test_the_end_of_a_handler(void)
{
	struct sigaction sa = { .sa_sigaction = on_leaving, .sa_flags = SA_SIGINFO };

	chains_begin();
	sigaction(SIGUSR1, &sa, NULL);
	chain_raise(SIGUSR1);
}

static void run_chains(void)
{
	RUN(test_plain_chain);
	RUN(test_chain_through_alloca_and_big_frames);
	RUN(test_chain_through_busy_and_realigned_frames);
	RUN(test_deep_recursion);
	RUN(test_depth_limit_cuts_the_outermost);
	RUN(test_unknown_stack_bounds);
	RUN(test_thread_start_completes);
	RUN(test_coroutine_stack);
	RUN(test_signal_frame_is_crossed);
	RUN(test_signal_stack_is_left);
	RUN(test_the_end_of_a_handler);
}

/* From now on any module may go away. Returns what the finder was. */
static struct cp_cfi_finder let_all_go(void)
{
	struct cp_cfi_finder saved = cp_cfi_finder;

	memset(cp_cfi_finder.lasting, 0, sizeof(cp_cfi_finder.lasting));
	cp_cfi_finder.kept = NULL;
	modules_unstable = true;
	return saved;
}

static void let_stay(const struct cp_cfi_finder *saved)
{
	memcpy(cp_cfi_finder.lasting, saved->lasting, sizeof(saved->lasting));
	cp_cfi_finder.kept = saved->kept;
	modules_unstable = false;
}

/* Where modules may go away, the kernel reads them: the same frames. */
static void test_unstable_modules_are_read_by_the_kernel(void)
{
	struct cp_cfi_finder saved;
	uint64_t word;

	if (cp_sys_peek(&word, (uint64_t)&modules_unstable, 1) != 1)
		SKIP("process_vm_readv is refused");
	for (int round = 0; round < 4; round++) { /* cold, then by the cache */
		unwinder->modules_changed();
		modules_unstable = true;
		if (round >= 2)
			saved = let_all_go();
		test_plain_chain();
		test_plain_chain();
		test_chain_through_busy_and_realigned_frames();
		test_signal_frame_is_crossed();
		test_thread_start_completes();
		if (round >= 2)
			let_stay(&saved);
	}
	modules_unstable = false;
}

/* Another module may have been loaded where the cache knows one: the cached rules for that place
 * are wrong. That can't happen to the modules that the program began with. */
static void test_the_cache_is_left_alone_while_a_module_goes(void)
{
	struct cp_cfi_finder saved;
	uint64_t word, filled = 0;

	CHECK(cp_cfi_lasting((uint64_t)&run_chains));
	CHECK(cp_cfi_lasting((uint64_t)&gnu_get_libc_version));
	if (cp_sys_peek(&word, (uint64_t)&modules_unstable, 1) != 1)
		SKIP("process_vm_readv is refused");
	CHECK(cp_cfi_finder.kept);
	saved = let_all_go();
	modules_unstable = false;
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		if (cp_rules_cache[i])
			cp_rules_cache[i] ^= 8; /* a word more or less from the CFA's base */
	modules_unstable = true;
	test_plain_chain();
	cp_rules_clear();
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		CHECK_EQ(cp_rules_cache[i], 0);
	let_stay(&saved);
	modules_unstable = true;
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		filled += cp_rules_cache[i] != 0;
	CHECK(filled > 4);
	modules_unstable = false;
}

/* The loader keeps what the program began with, not what dlopen has loaded. */
static void test_kept_modules_are_those_of_the_beginning(void)
{
	void *begun = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

	cp_cfi_finder.kept = NULL;
	unwinder->modules_changed();
	CHECK(cp_cfi_module_stays((uint64_t)test_kept_modules_are_those_of_the_beginning));
	CHECK(cp_cfi_module_stays((uint64_t)gnu_get_libc_version));
	CHECK(cp_cfi_module_stays((uint64_t)dlsym(RTLD_DEFAULT, "__tls_get_addr")));
	if (!lib || begun)
		SKIP("no libm.so.6, or the program began with it");
	CHECK(!cp_cfi_module_stays((uint64_t)dlsym(lib, "cabs")));
	dlclose(lib);
	unwinder->modules_changed();
}

static unsigned asked;
static int (*find_for_real)(void *addr, struct cp_cfi_dlfo *result);

static int count_and_find(void *addr, struct cp_cfi_dlfo *result)
{
	asked++;
	return find_for_real(addr, result);
}

/* A walk that doesn't ask the gate is not waited for before a module's table is released. */
static void test_rules_alone_look_at_no_module_that_may_go(void)
{
	uint64_t stack[4] = { 0 }, pcs[4];
	struct cp_unwind_input in = { .stable_modules = true, .own_tls = true };
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	enum cp_unwind_end end;

	if (!lib || !cp_cfi_finder.find)
		SKIP("no libm.so.6, or a glibc before 2.35");
	in.stack_low = in.regs.r[CP_REG_SP] = (uint64_t)stack;
	in.stack_high = (uint64_t)(stack + 4);
	unwinder->modules_changed();
	find_for_real = cp_cfi_finder.find;
	cp_cfi_finder.find = count_and_find;
	in.regs.r[CP_REG_PC] = (uint64_t)dlsym(lib, "cabs") + 1;
	CHECK_EQ(cp_unwind_dwarf_by_rules(&in, pcs, 4, &end), 0);
	in.regs.r[CP_REG_PC] = (uint64_t)run_chains + 1;
	cp_unwind_dwarf_by_rules(&in, pcs, 4, &end);
	CHECK_EQ(asked, 0);
	CHECK(cp_rules_find(in.regs.r[CP_REG_PC])); /* the program stays */
	in.regs.r[CP_REG_PC] = (uint64_t)dlsym(lib, "cabs") + 1;
	unwinder->walk(&in, pcs, 4, &end);
	CHECK(asked && cp_rules_find(in.regs.r[CP_REG_PC]));
	/* Where a call leaves the return address in a register, there is none for this leaf. */
	CHECK(!CP_CFI_CALL_PUSHES || cp_unwind_dwarf_by_rules(&in, pcs, 4, &end));
	cp_cfi_finder.find = find_for_real;
	dlclose(lib);
	unwinder->modules_changed();
}

/* Where makecontext has put the return address, nothing was called. */
static void test_coroutine_ends_at_its_start(void)
{
	test_coroutine_stack();
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	modules_unstable = true;
	test_coroutine_stack();
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	modules_unstable = false;
}

/* As with a glibc before 2.35. */
static void test_snapshot_of_modules(void)
{
	struct cp_cfi_finder saved = cp_cfi_finder;

	cp_cfi_finder.find = NULL;
	unwinder->modules_changed();
	CHECK(cp_cfi_finder.snapshot && cp_cfi_finder.snapshot->count >= 3);
	test_plain_chain();
	test_signal_frame_is_crossed();
	test_thread_start_completes();
	cp_cfi_finder.find = saved.find;
	unwinder->modules_changed();
	/* Of no use here, but for the vdso of aarch64, which has no table. */
	CHECK(!saved.find || !cp_cfi_finder.snapshot || cp_cfi_finder.snapshot->count <= 1);
}

/* The same, for a module that comes later: a miss asks for it, and the collector finds it. */
static void test_snapshot_learns_of_new_modules(void)
{
	struct cp_cfi_finder saved = cp_cfi_finder;
	struct cp_cfi_module m;
	uint64_t pc = 0;
	void *lib;

	if (cp_sys_peek(&pc, (uint64_t)&saved, sizeof(pc)) != sizeof(pc))
		SKIP("process_vm_readv is refused");
	cp_cfi_finder.find = NULL;
	unwinder->modules_changed();
	lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		SKIP("no libz.so.1");
	pc = (uint64_t)dlsym(lib, "deflate");
	if (dlsym(RTLD_DEFAULT, "deflate"))
		SKIP("libz is linked");
	cp_cfi_finder.missed = 0;
	cp_cfi_poll();
	CHECK(!cp_cfi_module_find(pc, &m)); /* nobody had missed it */
	CHECK_EQ(cp_cfi_finder.missed, 1);
	cp_cfi_poll();
	CHECK(cp_cfi_module_find(pc, &m));
	CHECK(pc >= m.start && pc < m.end && m.hdr);
	test_plain_chain();
	CHECK(cp_cfi_module_find((uint64_t)dlopen, &m));
	dlclose(lib);
	unwinder->modules_changed();
	CHECK(!cp_cfi_module_find(pc, &m));
	cp_cfi_finder.find = saved.find;
	unwinder->modules_changed();
}

static void test_modules_are_found(void)
{
	struct cp_cfi_module m = { 0 };

	CHECK(cp_cfi_module_find((uint64_t)test_modules_are_found, &m));
	CHECK(m.start < (uint64_t)test_modules_are_found && m.hdr > m.start && m.hdr < m.end);
	CHECK_EQ(cp_cfi_lasting((uint64_t)test_modules_are_found)->hdr, m.hdr); /* at once */
	CHECK(!cp_cfi_module_find((uint64_t)&m, &m));
	CHECK(!cp_cfi_module_find(0, &m));
	CHECK(!cp_cfi_module_find(UINT64_MAX, &m));
}

#if defined(__x86_64__)

#define PAINTED 16384
static uint64_t painted[PAINTED / 8] __attribute__((aligned(64)));
static struct cp_unwind_input painted_input;

static void walk_on_painted_stack(void *arg)
{
	walked.n = unwinder->walk(&painted_input, walked.pcs, DEPTH, &walked.end);
}

static unsigned stack_used(void)
{
	unsigned i = 0;

	for (unsigned k = 0; k < PAINTED / 8; k++)
		painted[k] = 0x5555555555555555;
	cp_call_on_stack(walk_on_painted_stack, NULL, painted + PAINTED / 8);
	while (i < PAINTED / 8 && painted[i] == 0x5555555555555555)
		i++;
	return PAINTED - i * 8;
}

/* Then the cache can't have both, and no walk is warm: chance, by where the modules are. */
static bool two_share_a_slot(void)
{
	for (unsigned i = 0; i < walked.n; i++)
		for (unsigned k = 0; k < i; k++)
			if (walked.pcs[i] != walked.pcs[k] &&
			    cp_rules_slot(cp_rules_hash(cp_rules_key(walked.pcs[i]))) ==
				    cp_rules_slot(cp_rules_hash(cp_rules_key(walked.pcs[k]))))
				return true;
	return false;
}

static void on_measure(int sig, siginfo_t *info, void *context)
{
	unsigned cold, warm, copied;
	struct cp_cfi_finder saved;

	input_of(&painted_input, context);
	unwinder->modules_changed();
	cold = stack_used();
	warm = stack_used();
	unwinder->modules_changed();
	painted_input.stable_modules = false;
	saved = let_all_go();
	copied = stack_used();
	let_stay(&saved);
	printf("# stack used by a walk: %u bytes cold, %u warm, %u during a dlclose\n", cold, warm,
	       copied);
	CHECK(walked.n > 4);
#ifdef __OPTIMIZE__
	CHECK(warm <= 640 || two_share_a_slot());
	CHECK(cold <= 1024);
	CHECK(copied <= 1400);
#endif
}

static void test_stack_use_is_small(void)
{
	struct sigaction sa = { .sa_sigaction = on_measure, .sa_flags = SA_SIGINFO };

#ifdef __SANITIZE_ADDRESS__
	SKIP("AddressSanitizer's frames are larger");
#endif
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

#endif

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	RUN(test_modules_are_found);
	run_chains(); /* cold */
	run_chains(); /* by the cache */
	RUN(test_garbage_registers_never_fault);
	RUN(test_unstable_modules_are_read_by_the_kernel);
	RUN(test_the_cache_is_left_alone_while_a_module_goes);
	RUN(test_kept_modules_are_those_of_the_beginning);
	RUN(test_coroutine_ends_at_its_start);
	RUN(test_rules_alone_look_at_no_module_that_may_go);
	RUN(test_snapshot_of_modules);
	RUN(test_snapshot_learns_of_new_modules);
#if defined(__x86_64__)
	RUN(test_stack_use_is_small);
#endif
	return harness_end();
}
