/* The walk by call frame information. */
#include "unwind-chains.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <setjmp.h>

#include "cfi_build.h"
#include "sigsafe/cfi.h"
#include "sigsafe/rules.h"
#include "sigsafe/sys.h"

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
}

/* Where modules may go away, the kernel reads them: the same frames. */
static void test_unstable_modules_are_read_by_the_kernel(void)
{
	uint64_t word;

	if (cp_sys_peek(&word, (uint64_t)&modules_unstable, 1) != 1)
		SKIP("process_vm_readv is refused");
	modules_unstable = true;
	for (int round = 0; round < 2; round++) { /* cold, then by the cache */
		unwinder->modules_changed();
		test_plain_chain();
		test_plain_chain();
		test_chain_through_busy_and_realigned_frames();
		test_signal_frame_is_crossed();
		test_thread_start_completes();
	}
	modules_unstable = false;
}

/* Another module may have come to where the cache knows one: what it says of there is wrong. Not so
 * of the program and of libc. */
static void test_the_cache_is_left_alone_while_a_module_goes(void)
{
	struct cp_cfi_finder saved = cp_cfi_finder;
	uint64_t word, filled = 0;

	CHECK(cp_cfi_lasts((uint64_t)&run_chains));
	CHECK(cp_cfi_lasts((uint64_t)&gnu_get_libc_version));
	memset(cp_cfi_finder.lasting, 0, sizeof(cp_cfi_finder.lasting));

	if (cp_sys_peek(&word, (uint64_t)&modules_unstable, 1) != 1) {
		cp_cfi_finder = saved;
		SKIP("process_vm_readv is refused");
	}
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		if (cp_rules_cache[i])
			cp_rules_cache[i] ^= 4; /* a word more or less from the CFA's base */
	modules_unstable = true;
	test_plain_chain();
	cp_rules_clear();
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		CHECK_EQ(cp_rules_cache[i], 0);
	memcpy(cp_cfi_finder.lasting, saved.lasting, sizeof(saved.lasting));
	test_plain_chain();
	for (unsigned i = 0; i < sizeof(cp_rules_cache) / 8; i++)
		filled += cp_rules_cache[i] != 0;
	CHECK(filled > 4);
	modules_unstable = false;
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
	CHECK(cp_cfi_finder.snapshot == NULL); /* of no use here */
}

/* The same, for a module that comes later: a miss asks for it, and the collector finds it. */
static void test_snapshot_learns_of_new_modules(void)
{
	struct cp_cfi_finder saved = cp_cfi_finder;
	struct cp_cfi_module m;
	uint64_t pc;
	void *lib;

	cp_cfi_finder.find = NULL;
	unwinder->modules_changed();
	lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		SKIP("no libz.so.1");
	pc = (uint64_t)dlsym(lib, "deflate");
	if (dlsym(RTLD_DEFAULT, "deflate"))
		SKIP("libz is linked");
	cp_cfi_finder.missed = 0;
	cp_cfi_modules_poll();
	CHECK(!cp_cfi_module_find(pc, &m)); /* nobody had missed it */
	CHECK_EQ(cp_cfi_finder.missed, 1);
	cp_cfi_modules_poll();
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

/* Is the FDE of the function at PC found, by a table of ours? */
static void check_built(const struct cp_cfi_module *like, struct cp_cfi_table *t, uint64_t pc)
{
	struct cp_cfi_module m = *like;
	struct cp_cfi_fde fde, by_linker;

	CHECK(t != NULL);
	if (!t)
		return;
	CHECK(cp_cfi_find(like, pc, NULL, &by_linker));
	m.hdr = 0;
	m.built = t;
	CHECK(cp_cfi_find(&m, pc, NULL, &fde));
	CHECK_EQ(fde.start, by_linker.start);
	CHECK(fde.program.p == by_linker.program.p);
	for (uint64_t i = 1; i < t->count; i++)
		CHECK(t->entries[i - 1].start <= t->entries[i].start);
	cp_cfi_build_release(t);
}

/* As with ld --no-eh-frame-hdr: found where a header without a table says, by the file's sections,
 * or by a scan. */
static void test_table_is_built_where_the_linker_made_none(void)
{
	uint64_t pc = (uint64_t)test_table_is_built_where_the_linker_made_none;
	struct cp_cfi_place place = { .code = true };
	struct cp_cfi_module m, in;
	Dl_info info = { 0 };

	CHECK(cp_cfi_module_find(pc, &m));
	CHECK(cp_cfi_has_table(&m, false));
	CHECK(cp_cfi_has_table(&m, true));
	check_built(&m, cp_cfi_build(&m, &place, false), pc);
	in = m;
	in.hdr = 0;
	CHECK(!cp_cfi_has_table(&in, false));
	CHECK(cp_cfi_build(&in, &place, false) == NULL);
	place.segment = m.hdr & -UINT64_C(4096);
	place.segment_end = place.segment + 65536;
	check_built(&m, cp_cfi_build(&in, &place, false), pc);
	check_built(&m, cp_cfi_build(&in, &place, true), pc);
	CHECK(dladdr((void *)pc, &info));
	place = (struct cp_cfi_place){ .code = true,
				       .path = "/proc/self/exe",
				       .bias = (uint64_t)info.dli_fbase };
	check_built(&m, cp_cfi_build(&in, &place, true), pc);
	place.code = false; /* nothing but data: not even looked at */
	CHECK(cp_cfi_build(&in, &place, false) == NULL);
}

static void test_modules_are_found(void)
{
	struct cp_cfi_module m = { 0 };

	CHECK(cp_cfi_module_find((uint64_t)test_modules_are_found, &m));
	CHECK(m.start < (uint64_t)test_modules_are_found && m.hdr > m.start && m.hdr < m.end);
	CHECK(!cp_cfi_module_find((uint64_t)&m, &m));
	CHECK(!cp_cfi_module_find(0, &m));
	CHECK(!cp_cfi_module_find(UINT64_MAX, &m));
}

#if defined(__x86_64__)

/* Code that no table knows: push %rbp; mov %rsp,%rbp; call *%rax; pop %rbp; ret */
static const uint8_t generated_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x5d, 0xc3 };

static NOINLINE int call_generated(void *code)
{
	int r;

	NOTE();
	__asm__ volatile("call *%1"
			 : "=a"(r)
			 : "r"(code), "a"(chain_a), "D"(1)
			 : "memory", "cc", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
	AFTER_CALL();
	return r;
}

static void test_generated_code_is_crossed_by_its_frame_pointer(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned at;

	if (code == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	chains_begin();
	call_generated(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	at = piece_at(1, notes);
	CHECK_EQ(at, 1);
	CHECK_EQ(walked.pcs[3], (uint64_t)code + 6 - 1);
	CHECK_EQ(walked.pcs[5], noted[0] - 1);
	munmap(code, 4096);
}

/* A JIT's helper, in the program's own text: no description, a frame pointer. */
int undescribed(void);
__asm__(".text\n.p2align 4\n.type undescribed, @function\nundescribed:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n\tsub $128, %rsp\n\tcall *%rdx\n\tleave\n\tret\n"
	".size undescribed, . - undescribed\n.p2align 4");

static NOINLINE int call_helper(void *code)
{
	int r;

	NOTE();
	__asm__ volatile("call *%1"
			 : "=a"(r)
			 : "r"(code), "a"(undescribed), "D"(1), "d"(chain_a)
			 : "memory", "cc", "rcx", "rsi", "r8", "r9", "r10", "r11");
	AFTER_CALL();
	return r;
}

static void test_undescribed_code_that_generated_code_called(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	chains_begin();
	call_helper(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	CHECK_EQ(piece_at(1, notes), 1);
	CHECK(walked.pcs[3] - (uint64_t)undescribed < 32);
	CHECK_EQ(walked.pcs[4], (uint64_t)code + 6 - 1);
	CHECK_EQ(walked.pcs[6], noted[0] - 1);
	munmap(code, 4096);
}

/* As interrupted in generated code right behind push %rbp, and at the entry of a helper that it
 * called: the frame pointer is the caller's still. */
static void test_generated_code_at_its_entry(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *code = page + 128;
	uint64_t stack[8] = { 0 };
	struct cp_unwind_input at = { .stable_modules = true, .own_tls = true };
	enum cp_unwind_end end;

	if (page == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	memcpy(code + 64, generated_code, sizeof(generated_code));
	stack[0] = (uint64_t)&stack[4];
	stack[1] = (uint64_t)code + 6; /* into the caller */
	stack[4] = 0;
	stack[5] = (uint64_t)code + 64 + 6; /* into the caller's caller */
	at.stack_low = (uint64_t)stack;
	at.stack_high = (uint64_t)(stack + 8);
	at.regs.r[CP_REG_FP] = (uint64_t)&stack[4];
	at.regs.r[CP_REG_SP] = (uint64_t)stack;
	at.regs.r[CP_REG_PC] = (uint64_t)code + 1;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], (uint64_t)code + 5);
	CHECK_EQ(walked.pcs[2], (uint64_t)code + 64 + 5);
	at.regs.r[CP_REG_SP] = (uint64_t)&stack[1];
	at.regs.r[CP_REG_PC] = (uint64_t)undescribed;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], (uint64_t)code + 5);
	CHECK_EQ(walked.pcs[2], (uint64_t)code + 64 + 5);
	munmap(page, 4096);
}

/* Its description ends before its code does. */
int half_described(void);
__asm__(".text\n.p2align 4\n.type half_described, @function\nhalf_described:\n"
	".cfi_startproc\n\tnop\n\t.cfi_endproc\n"
	"\tint3\n\txorl %eax, %eax\n\tret\n.size half_described, . - half_described\n.p2align 4");

static NOINLINE int call_half_described(void)
{
	int r;

	NOTE();
	r = half_described();
	AFTER_CALL();
	return r;
}

static void test_a_description_that_ends_early(void)
{
	chains_begin();
	call_half_described();
	CHECK_EQ(noted_at(), 2);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	modules_unstable = true;
	chains_begin();
	call_half_described();
	CHECK_EQ(noted_at(), 2);
	modules_unstable = false;
}

/* clang's: the frame is gone before its description says so. */
int freed_early(void);
__asm__(".text\n.p2align 4\n.type freed_early, @function\nfreed_early:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n"
	"\tsub $24, %rsp\n\t.cfi_def_cfa_offset 40\n\tmovq $0, 16(%rsp)\n"
	"\tadd $24, %rsp\n\tcmp %rbx, %rax\n\tint3\n\tnop\n\t.cfi_def_cfa_offset 16\n"
	"\tpop %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n"
	".size freed_early, . - freed_early\n.p2align 4");

static NOINLINE int call_freed_early(void)
{
	int r;

	NOTE();
	r = freed_early();
	AFTER_CALL();
	return r;
}

static void test_a_frame_that_is_freed_early(void)
{
	for (int round = 0; round < 4; round++) {
		if (round == 2)
			unwinder->modules_changed();
		modules_unstable = round == 2;
		chains_begin();
		call_freed_early();
		CHECK_EQ(noted_at(), 2);
		CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	}
	modules_unstable = false;
}

/* By hand: four states are remembered one in another. */
#define DOWN(to) "\t.cfi_remember_state\n\tsub $16, %rsp\n\t.cfi_def_cfa_offset " #to "\n"
#define UP "\tadd $16, %rsp\n\t.cfi_restore_state\n"
int nested(void);
__asm__(".text\n.p2align 4\n.type nested, @function\nnested:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n" DOWN(32)
		DOWN(48) "\tint3\n" DOWN(64) DOWN(
			80) "\tint3\n" UP "\tint3\n" UP "\tint3\n" UP "\tint3\n" UP
			    "\tint3\n\tpop %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n"
			    ".size nested, . - nested\n.p2align 4");

static NOINLINE int call_nested(void)
{
	int r;

	NOTE();
	r = nested();
	AFTER_CALL();
	return r;
}

static volatile unsigned nested_traps, nested_cut, nested_wrong;

static void on_nested(int sig, siginfo_t *info, void *context)
{
	struct cp_unwind_input in;
	unsigned trap = nested_traps++;

	input_of(&in, context);
	walked.n = unwinder->walk(&in, walked.pcs, DEPTH, &walked.end);
	/* The third and fourth can't be restored: nothing is said, rather than something wrong. */
	if (trap == 2 || trap == 3)
		nested_cut += walked.n == 1 && walked.end == CP_UNWIND_INCOMPLETE;
	else
		nested_wrong += walked.end != CP_UNWIND_COMPLETE || noted_at() != 2;
}

static void test_nested_states_by_hand(void)
{
	struct sigaction sa = { .sa_sigaction = on_nested, .sa_flags = SA_SIGINFO };

	for (int round = 0; round < 3; round++) { /* cold, by the cache, by the kernel */
		nested_traps = nested_cut = nested_wrong = 0;
		modules_unstable = round == 2;
		chains_begin();
		sigaction(SIGTRAP, &sa, NULL);
		call_nested();
		CHECK_EQ(nested_traps, 6);
		CHECK_EQ(nested_cut, 2);
		CHECK_EQ(nested_wrong, 0);
	}
	modules_unstable = false;
}

static sigjmp_buf survived;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	on_trap(sig, info, context);
	siglongjmp(survived, 1);
}

static NOINLINE int call_nowhere(int (*volatile *f)(void))
{
	int r;

	NOTE();
	r = (*f)();
	AFTER_CALL();
	return r;
}

static void test_jump_to_null_shows_its_caller(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int (*volatile f)(void) = NULL;

	chains_begin();
	sigaction(SIGSEGV, &sa, NULL);
	if (!sigsetjmp(survived, 1))
		call_nowhere(&f);
	signal(SIGSEGV, SIG_DFL);
	CHECK_EQ(walked.pcs[0], 0);
	CHECK_EQ(noted_at(), 2);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

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

static void on_measure(int sig, siginfo_t *info, void *context)
{
	unsigned cold, warm, copied;

	input_of(&painted_input, context);
	unwinder->modules_changed();
	cold = stack_used();
	warm = stack_used();
	unwinder->modules_changed();
	painted_input.stable_modules = false;
	copied = stack_used();
	printf("# stack used by a walk: %u bytes cold, %u warm, %u during a dlclose\n", cold, warm,
	       copied);
	CHECK(walked.n > 4);
#ifdef __OPTIMIZE__
	CHECK(warm <= 640);
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
	RUN(test_coroutine_ends_at_its_start);
	RUN(test_snapshot_of_modules);
	RUN(test_snapshot_learns_of_new_modules);
	RUN(test_table_is_built_where_the_linker_made_none);
#if defined(__x86_64__)
	RUN(test_generated_code_is_crossed_by_its_frame_pointer);
	RUN(test_generated_code_at_its_entry);
	RUN(test_undescribed_code_that_generated_code_called);
	RUN(test_a_frame_that_is_freed_early);
	RUN(test_nested_states_by_hand);
	RUN(test_a_description_that_ends_early);
	RUN(test_jump_to_null_shows_its_caller);
	RUN(test_stack_use_is_small);
#endif
	return harness_end();
}
