/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk against an oracle that depends on no unwinder.
 *
 * The program single-steps itself (EFLAGS.TF), so that every instruction of a prologue,
 * an epilogue, a PLT stub or a syscall stub is a sample; see unwind-oracle.h.
 *
 * ORACLE_VERBOSE=1 prints wrong walks' first frames, ORACLE_LONG=1 signs with libcrypto
 * too, which takes two minutes.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)

#include "unwind-oracle.h"

#include <locale.h>
#include <regex.h>

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
	return room[n] + (rand() & 255);
}

static NOINLINE int alloca_frame(int n)
{
	volatile char *room = alloca((size_t)n);

	room[n - 1] = (char)n;
	return room[n - 1] + (rand() & 255);
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

/* Assembly without call frame information: GMP has none at all. Its hot loops are
 * stepped by a scan for the return address, or not at all. */
static void *gmp;

static void bignum(void)
{
	static struct {
		int room, used;
		void *limbs;
	} a, b, c, m;
	void (*power)(void *, unsigned long, unsigned long), (*init)(void *);
	void (*multiply)(void *, void *, void *), (*mod_power)(void *, void *, void *, void *);

	*(void **)&init = dlsym(gmp, "__gmpz_init");
	*(void **)&power = dlsym(gmp, "__gmpz_ui_pow_ui");
	*(void **)&multiply = dlsym(gmp, "__gmpz_mul");
	*(void **)&mod_power = dlsym(gmp, "__gmpz_powm");
	init(&a), init(&b), init(&c), init(&m);
	power(&a, 3, 300);
	power(&b, 7, 10);
	power(&m, 11, 101);
	multiply(&c, &a, &b);
	mod_power(&c, &a, &b, &m);
}

/* libcrypto's assembly is well described, with expressions for its larger functions. */
static void *crypto;

static void sign(void)
{
	static unsigned char digest[64], text[300];
	void *(*new_key)(int), *(*ecdsa)(const void *, int, void *);
	unsigned char *(*sha)(const void *, size_t, void *);
	int (*generate)(void *);
	void (*free_key)(void *);
	void *k;

	*(void **)&sha = dlsym(crypto, "SHA256");
	if (sha)
		sha(text, sizeof(text), digest);
	*(void **)&sha = dlsym(crypto, "SHA512");
	if (sha)
		sha(text, sizeof(text), digest);
	*(void **)&new_key = dlsym(crypto, "EC_KEY_new_by_curve_name");
	*(void **)&generate = dlsym(crypto, "EC_KEY_generate_key");
	*(void **)&ecdsa = dlsym(crypto, "ECDSA_do_sign");
	*(void **)&free_key = dlsym(crypto, "EC_KEY_free");
	if (!new_key || !generate || !ecdsa || !free_key)
		return;
	k = new_key(415); /* NID_X9_62_prime256v1 */
	if (k && generate(k))
		sink += ecdsa(digest, 32, k) != NULL;
	free_key(k);
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

static void test_bignum(void)
{
	gmp = dlopen("libgmp.so.10", RTLD_LAZY);
	if (!gmp)
		SKIP("no libgmp.so.10");
	trace(bignum);
}
static void test_sign(void)
{
	crypto = dlopen("libcrypto.so.3", RTLD_LAZY);
	if (!crypto)
		SKIP("no libcrypto.so.3");
	trace(sign);
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
	RUN(test_bignum);
	if (getenv("ORACLE_LONG")) /* a minute */
		RUN(test_sign);
	return harness_end();
}

#else

#include <stdio.h>

int main(void)
{
	printf("1..0 # SKIP single steps: x86_64 only, without AddressSanitizer\n");
	return 77;
}

#endif
