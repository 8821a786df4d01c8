/* SPDX-License-Identifier: BSD-3-Clause */
/* Readable names: their form, and the limits on hostile ones. */
#include "chance.h"
#include "harness.h"

#include "symbols/demangle.h"
#include "symbols/symbols.h"

#define STACK (512u << 10)
#define GUARD (64u << 10)

/* A dump may run while the program is inside malloc: none of our calls may get there. */
#if defined(__SANITIZE_ADDRESS__)
#define COUNT_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNT_MALLOC 0
#endif
#endif
#if !defined(COUNT_MALLOC) && defined(__GLIBC__)
#define COUNT_MALLOC 1
extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);
static bool counting;
static unsigned mallocs;

void *malloc(size_t n)
{
	mallocs += counting;
	return __libc_malloc(n);
}

void *realloc(void *p, size_t n)
{
	mallocs += counting;
	return __libc_realloc(p, n);
}
#endif

/* Maximum length of a name, as in demangle.c. */
#define LONGEST 16384

struct pair {
	const char *mangled, *readable; /* NULL: stays raw */
};

static const struct pair cxx[] = {
	{ "_Z3foov", "foo" },
	{ "_ZL3foov", "foo" },
	{ "_ZN3foo3barEi", "foo::bar" },
	{ "_ZN12_GLOBAL__N_14AnonC1Ei", "(anonymous namespace)::Anon::Anon" },
	{ "_ZN12_GLOBAL__N_14AnonD0Ev", "(anonymous namespace)::Anon::~Anon" },
	{ "_ZNK1a1b1ScvbEv", "a::b::S::operator bool" },
	{ "_ZNK1a1b1SltERKS1_", "a::b::S::operator<" },
	{ "_ZN1a1b1SclEi", "a::b::S::operator()" },
	{ "_ZN1a1b1SixEi", "a::b::S::operator[]" },
	{ "_Znwm", "operator new" },
	{ "_Z2tfIiLin3EET_S0_", "tf<int, -3>" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()" },
	{ "_ZNSt17_Function_handlerIFivEZ4mainEUlvE_E9_M_invokeERKSt9_Any_data",
	  "std::_Function_handler<int (), main::{lambda()#1}>::_M_invoke" },
	{ "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_"
	  "EEDpOT_",
	  "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>" },
	{ "_ZN1AB5cxx113fooEv", "A[abi:cxx11]::foo" },
	{ "_ZTv0_n24_N3fooD1Ev", "virtual thunk to foo::~foo()" },
	{ "_ZN3foo3barEi@plt", "foo::bar@plt" },
	{ "main", NULL },
	{ "memcpy.isra.0", NULL },
	{ "_Zabc", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "", NULL },
	{ "_ZN3foo3ba", NULL },
};

static const struct pair suffixed[] = {
	{ "_ZN3foo3barEv.cold", "foo::bar [clone .cold]" },
	{ "_ZN3foo3barEi.isra.0.cold", "foo::bar [clone .isra.0] [clone .cold]" },
	{ "_ZN3foo3barEi.constprop.0", "foo::bar [clone .constprop.0]" },
	{ "_ZN3foo3barEi.part.12.lto_priv.3", "foo::bar [clone .part.12] [clone .lto_priv.3]" },
	{ "_ZN3foo3barEi.llvm.12345678", "foo::bar [clone .llvm.12345678]" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1",
	  "core::fmt::Formatter::pad [clone .llvm.1]" },
	{ "_RNvCs1234_7mycrate3foo.llvm.123", "mycrate::foo [clone .llvm.123]" },
	{ "_ZN3foo3barEi.", NULL },
	{ "_ZN3foo3barEi.a-b", NULL },
};

static const struct pair rust[] = {
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE",
	  "<T as core::convert::Into<U>>::into" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvNtCs1234_7mycrate3foo8read_u32", "mycrate::foo::read_u32" },
	{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>" },
	{ "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
	  "std::mem::align_of::<std::mem::Discriminant>" },
	{ "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_"
	  "4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	  "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::<"
	  "core::slice::memchr::memrchr::{closure#1}>::{closure#0}" },
	{ "_RNvCs1234_7mycrateu8gdel_5qa", NULL }, /* its decoder allocates */
	{ "_RNvC1a0", "a" },
	{ "_RNvC00", NULL },
	{ "_RNvC1a", NULL },
};

static void check_pairs(const struct pair *p, size_t n)
{
	char to[1024];

	for (size_t i = 0; i < n; i++) {
		size_t len = cp_demangle(p[i].mangled, to, sizeof(to));

		if (p[i].readable)
			CHECK_STR(len ? to : p[i].mangled, p[i].readable);
		CHECK_EQ(len, p[i].readable ? strlen(p[i].readable) : 0);
	}
}

TEST(test_cxx_names_lose_their_parameters_only)
{
	check_pairs(cxx, sizeof(cxx) / sizeof(*cxx));
}

TEST(test_clone_suffixes_stay_visible)
{
	check_pairs(suffixed, sizeof(suffixed) / sizeof(*suffixed));
}

TEST(test_rust_names_lose_their_hash)
{
	check_pairs(rust, sizeof(rust) / sizeof(*rust));
}

TEST(test_names_that_do_not_fit_stay_raw)
{
	char to[32];

	for (size_t size = 0; size < sizeof(to); size++) {
		size_t len;

		memset(to, '#', sizeof(to));
		len = cp_demangle("_ZN3foo3barEi", to, size);
		CHECK_EQ(len, size > 8 ? 8 : 0);
		for (size_t i = size; i < sizeof(to); i++)
			CHECK(to[i] == '#');
	}
	CHECK_EQ(cp_demangle("_ZN3foo3barEi.cold", to, 16), 0);
	CHECK_EQ(cp_demangle("_ZN3foo3barEi.cold", to, sizeof(to)), 22);
}

TEST(test_punycode_is_told_from_identifiers_with_u)
{
	static const char *const plain[] = { "_RNvNtCs1234_7mycrate3foo8read_u32",
					     "_RNvMsu8_C1aNtB6_1b2u8", "_RINvC1a2u8Kj8_B2_E",
					     "_RNvMC1aPu2u8",
					     /* an array's length, then a crate's number with G */
					     "_RINvC1a1fANtC1b1cj4_ECs8nUgGD5k2ut_1d" };
	static const char *const not_plain[] = { "_RNvCs1234_7mycrateu8gdel_5qa", "_RNvC1au3a_b",
						 /* a back-reference into an identifier */
						 "_RINvC10C1bu3a_baa1fB6_E" };
	char to[256];

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		CHECK(cp_demangle(plain[i], to, sizeof(to)));
	for (size_t i = 0; i < sizeof(not_plain) / sizeof(*not_plain); i++)
		CHECK_EQ(cp_demangle(not_plain[i], to, sizeof(to)), 0);
}

/* ---- hostile names, on a stack as small as the one a dump runs on ---- */

static char name[LONGEST + 64], text[64 << 10];
static size_t name_len;

static void start(const char *s)
{
	name_len = strlen(s);
	memcpy(name, s, name_len + 1);
}

static void append(const char *s, size_t times, size_t limit)
{
	size_t n = strlen(s);

	for (; times && name_len + n <= limit; times--, name_len += n)
		memcpy(name + name_len, s, n + 1);
}

static void demangle_nested(void)
{
	static const char *const nest[][3] = {
		{ "_Z1fI", "P", "iEvv" },
		{ "_Z1fI", "R", "iEvv" },
		{ "_Z1fI", "A_", "iEvv" },
		{ "_Z1fI", "M1A", "iEvv" },
		{ "_Z1fI", "C", "iEvv" },
		{ "_Z1fI", "U1x", "iEvv" },
		{ "_Z1fI", "Dp", "iEvv" },
		{ "_Z1f", "1AI", "iE" },
		{ "_Z1fI", "F", "vE" },
		{ "_Z1fIX", "cvi", "Li1EEEvv" },
		{ "_Z1fIX", "ng", "Li1EEEvv" },
		{ "_Z1f", "r", "iEvv" },
		{ "_ZZ", "Z", "1fvE1s" },
		{ "_Z1fI", "1AIRT_E", "EvT_" },
		{ "_Z1fI", "RT_1AIiE", "EvDpRT_" },
		{ "_ZT", "h_", "1f" },
		{ "_ZN", "1A", "E" },
		{ "_Z1fIJ", "IJ", "EEvv" },
		{ "_RINvC1a1f", "R", "uE" },
		{ "_RINvC1a1f", "T", "uE" },
		{ "_RINvC1a1f", "S", "uE" },
		{ "_RINvC1a1f", "FKC", "EuE" },
		{ "_R", "Nv", "C1a1b" },
		{ "_R", "M", "C1au" },
		{ "_R", "X", "C1au" },
		{ "_R", "I", "C1a" },
		{ "_R", "YuI", "C1a" },
		{ "_RNvC1a2u8", "Nv", "C1a" },
		{ "_RINvC1a2u8", "R", "uE" },
		{ "_RINvC1a2u8", "T", "uE" },
	};

	for (size_t i = 0; i < sizeof(nest) / sizeof(*nest); i++)
		for (size_t limit = 100; limit <= LONGEST; limit += limit / 3) {
			start(nest[i][0]);
			append(nest[i][1], SIZE_MAX, limit);
			append(nest[i][2], 1, sizeof(name) - 1);
			cp_demangle(name, text, sizeof(text));
			append("E", limit / 2, LONGEST);
			cp_demangle(name, text, sizeof(text));
		}
}

static void demangle_random(void)
{
	static const char *const cxx_tokens[] = {
		"P",   "R",   "O",  "K",   "I",	  "J",	  "E",	"N",  "X",     "F",   "T_",  "S_",
		"S0_", "S1_", "1A", "1AI", "RT_", "Li1E", "cv", "pl", "UlvE_", "A_",  "M",   "Dp",
		"Z",   "_",   "v",  "i",   "D1",  ".a",	  "sr", "tl", "S2_",   "S9_", "T0_",
	};
	static const char *const rust_tokens[] = {
		"M",   "X",  "Y",  "I", "Nv", "C",   "s_", "E", "T",	"R", "D", "B_",	   "B1_",
		"B7_", "L_", "G_", "A", "1a", "2u8", "u",  "p", "Kj1_", "F", "K", "u3a_b", "BZ_",
	};

	for (int i = 0; i < 60000; i++) {
		bool is_rust = i & 1;
		const char *const *tokens = is_rust ? rust_tokens : cxx_tokens;
		size_t n = is_rust ? sizeof(rust_tokens) / sizeof(*rust_tokens)
				   : sizeof(cxx_tokens) / sizeof(*cxx_tokens);

		start(is_rust ? "_R" : "_Z1f");
		for (int k = 0; k < 40; k++)
			append(tokens[draw_below(n)], draw_below(8) ? 1 : (unsigned)draw_below(100),
			       2000);
		cp_demangle(name, text, sizeof(text));
	}
}

/* Each level doubles the output: two back-references to the level before. */
static void double_cxx(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	start("_Z1fI1AIiE");
	for (int i = 0; i < 35; i++) {
		char level[] = { 'S', '_', 'I', 'S', digits[i], '_', 'S', digits[i], '_', 'E', 0 };

		append(level, 1, LONGEST);
	}
	append("Evv", 1, LONGEST);
}

static void double_rust(int levels)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t before, at;

	start("_RINvC1a2u8");
	before = name_len - 2;
	append("ThhE", 1, LONGEST);
	for (int i = 0; i < levels; i++, before = at) {
		size_t v = before - 1;
		char ref[] = { 'B', digits[v / 62], digits[v % 62], '_', 0 };

		at = name_len - 2;
		append("T", 1, LONGEST);
		append(ref, 2, LONGEST);
		append("E", 1, LONGEST);
	}
	append("E", 1, LONGEST);
}

static void demangle_doubling(void)
{
	double_cxx();
	CHECK_EQ(cp_demangle(name, text, sizeof(text)), 0);
	double_rust(2);
	CHECK(cp_demangle(name, text, sizeof(text)) > 0);
	CHECK_STR(text, "a::u8::<(u8, u8), ((u8, u8), (u8, u8)), (((u8, u8), (u8, u8)), ((u8, u8), "
			"(u8, u8)))>");
	double_rust(40);
	CHECK_EQ(cp_demangle(name, text, sizeof(text)), 0);
}

static void *demangle_hostile(void *arg)
{
	demangle_nested();
	demangle_random();
	demangle_doubling();
	return arg;
}

TEST(test_hostile_names_keep_to_the_stack_of_a_dump)
{
	char *area = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	size_t untouched = 0;

	CHECK(area != MAP_FAILED && !mprotect(area, GUARD, PROT_NONE));
	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstack(&attr, area + GUARD, STACK));
	CHECK(!pthread_create(&thread, &attr, demangle_hostile, NULL));
	CHECK(!pthread_join(thread, NULL));
	pthread_attr_destroy(&attr);
	while (untouched < STACK && !area[GUARD + untouched])
		untouched++;
	printf("# %zu KiB of stack left of %u\n", untouched >> 10, STACK >> 10);
	CHECK(untouched > 64 << 10);
	munmap(area, GUARD + STACK);
}

TEST(test_nothing_is_allocated)
{
#if COUNT_MALLOC
	counting = true;
	check_pairs(cxx, sizeof(cxx) / sizeof(*cxx));
	check_pairs(suffixed, sizeof(suffixed) / sizeof(*suffixed));
	check_pairs(rust, sizeof(rust) / sizeof(*rust));
	demangle_random();
	counting = false;
	CHECK_EQ(mallocs, 0);
#else
	SKIP("malloc can't be counted here");
#endif
}

/* Found by the fuzzer: a binder of 62^8 lifetimes, in a part of the name that isn't printed. */
TEST(test_a_binder_of_endless_lifetimes_stays_raw)
{
	char got[256];

	CHECK_EQ(cp_demangle("_RXXYYYYYYYYDGGGGGGGGF", got, sizeof(got)), 0);
	CHECK_EQ(cp_demangle("_RXXYYYYYYYYDYYYYYYDGGGGGGGGGGGGG2_RXXYYYYYYYYDYYYYYYDGGGGu888.$7@@A",
			     got, sizeof(got)),
		 0);
	CHECK_EQ(cp_demangle("_RYFGzzzzzzzz_EuNtC1a1b", got, sizeof(got)), 0);
	CHECK_EQ(cp_demangle("_RXFGzzzzzzzz_EuNtC1a1b", got, sizeof(got)), 0);
	CHECK_EQ(cp_demangle("_RXC1aFGzzzzzzzz_EuNtC1a1b", got, sizeof(got)), 0);
}
