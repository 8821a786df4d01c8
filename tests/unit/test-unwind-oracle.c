/* The walk against an oracle that depends on no unwinder.
 *
 * The program single-steps itself (EFLAGS.TF): after each instruction SIGTRAP's
 * handler keeps a shadow stack, pushed by call instructions and popped as sp rises
 * over them, and compares it with the walk from that very instruction. So every
 * instruction of a prologue, an epilogue, a PLT stub or a syscall stub is a sample.
 *
 * x86_64 only. ORACLE_VERBOSE=1 prints each wrong walk's first frames.
 */
#include "unwind-chains.h"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <locale.h>
#include <regex.h>
#include <setjmp.h>
#include <unistd.h>

#include "sigsafe/cfi.h"

#define TRAP_FLAG 0x100
#define SHADOW 4096

static struct {
	struct {
		uint64_t slot, ra;
	} calls[SHADOW];
	unsigned depth;
	uint64_t last_pc, last_sp;
	bool on;
} shadow;

/* What the frames outside of the traced part are, from the walk at its start. */
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

/* Frame I (from 1) as it should be; 0 behind the last. */
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

	return cp_cfi_module_find(pc, &m) && cp_cfi_find(&m, pc, NULL, &fde);
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
	if (info->si_code != TRAP_TRACE) { /* the breakpoint that starts and stops */
		shadow.on = !shadow.on;
		uc->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
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
	CHECK(dwarf.walks > 1000);
	CHECK_EQ(dwarf.wrong, 0);
	CHECK_EQ(dwarf.cut, 0);
	CHECK(dwarf.no_fde <= dwarf.walks / 1000);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
	static int v[150];

	srand(1);
	for (unsigned i = 0; i < 150; i++)
		v[i] = rand();
	qsort(v, 150, sizeof(v[0]), by_value);
}

static void format(void)
{
	char s[400];
	double d = 0;

	for (int i = 0; i < 3; i++) {
		snprintf(s, sizeof(s), "%d %s %20.10f %g %p %lx", i, "text", i * 1.7,
			 1e100 / (i + 1), (void *)s, (long)i << 30);
		sscanf(s, "%*d %*s %lf", &d);
	}
	setlocale(LC_ALL, "C.UTF-8");
	snprintf(s, sizeof(s), "%ls", L"wide");
}

static void copy(void)
{
	static char from[6000], to[6000];

	for (size_t n = 1; n < sizeof(from); n = n * 3 + 1) {
		memcpy(to, from, n);
		memmove(to + 1, to, n - 1);
		memset(to, 1, n);
		sink += memcmp(to, from, n) + (strlen(to) > 5) + (strchr(to, 'x') != NULL);
	}
}

static void match(void)
{
	regex_t re;

	if (regcomp(&re, "^(a|b)*c[d-f]+$", REG_EXTENDED))
		return;
	regexec(&re, "abbacdef", 0, NULL, 0);
	regfree(&re);
}

static void forget(void)
{
	unwinder->modules_changed();
	cp_unwinder_libunwind.modules_changed();
}

static void load(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	double (*f)(double, double);

	if (!lib)
		return;
	*(void **)&f = dlsym(lib, "pow");
	if (f)
		sink += (int)f(2.5, 3.1);
	dlclose(lib);
	forget();
	lib = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (lib)
		dlclose(lib);
	forget();
	dlopen("/nonexistent/lib.so", RTLD_NOW);
	dlerror();
}

static void allocate(void)
{
	void *p[60];
	FILE *f = fopen("/dev/null", "w");

	for (unsigned i = 0; i < 60; i++)
		p[i] = malloc(i * i * 50 + 1);
	for (unsigned i = 0; i < 60; i += 2)
		p[i] = realloc(p[i], i * 100 + 1);
	for (unsigned i = 0; i < 60; i++)
		free(p[i]);
	if (f) {
		fprintf(f, "%d\n", 5);
		fclose(f);
	}
}

static jmp_buf back;

static NOINLINE void jump(int depth)
{
	if (depth == 0)
		longjmp(back, 1);
	if (depth > 0)
		jump(depth - 1);
	AFTER_CALL();
}

static NOINLINE int aligned_frame(int n)
{
	volatile char room[256] __attribute__((aligned(64)));

	room[n] = (char)n;
	AFTER_CALL();
	return abs(room[n] - rand());
}

static NOINLINE int alloca_frame(int n)
{
	volatile char *room = alloca((size_t)n);

	room[n - 1] = (char)rand();
	return room[n - 1] + rand();
}

static void unwind_by_jump(void)
{
	for (volatile int i = 0; i < 5; i++)
		if (!setjmp(back))
			jump(i);
	for (int i = 0; i < 50; i++)
		sink += aligned_frame(i) + alloca_frame(100 + i);
}

static void compress(void)
{
	static unsigned char in[200], out[1000];
	unsigned long n = sizeof(out);
	void *z = dlopen("libz.so.1", RTLD_LAZY);
	int (*deflate_all)(void *, unsigned long *, const void *, unsigned long) = NULL;

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * i >> 5);
	if (z)
		*(void **)&deflate_all = dlsym(z, "compress");
	if (deflate_all)
		deflate_all(out, &n, in, sizeof(in));
}

static void test_sort(void)
{
	trace(sort);
}
static void test_format(void)
{
	trace(format);
}
static void test_copy(void)
{
	trace(copy);
}
static void test_match(void)
{
	trace(match);
}
static void test_load(void)
{
	trace(load);
}
static void test_allocate(void)
{
	trace(allocate);
}
static void test_jumps(void)
{
	trace(unwind_by_jump);
}
static void test_compress(void)
{
	trace(compress);
}

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	if (cp_unwinder_libunwind.prepare())
		libunwind_every = 0;
	verbose = getenv("ORACLE_VERBOSE") != NULL;
	RUN(test_jumps);
	RUN(test_sort);
	RUN(test_format);
	RUN(test_copy);
	RUN(test_match);
	RUN(test_load);
	RUN(test_allocate);
	RUN(test_compress);
	return harness_end();
}

#else

int main(void)
{
	printf("1..0 # SKIP single steps are x86_64's here\n");
	return 77;
}

#endif
