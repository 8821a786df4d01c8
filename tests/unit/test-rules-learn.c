/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules learnt directly from a function's information: the same as from its row, or none. */
#include "harness.h"

#include "cfi-image.h"
#include "learnt.h"

#include <sys/auxv.h>

static struct image image;
static struct cp_cfi_module module;
static unsigned learnt, left;

/* As a walk finds it. */
static void begin(const struct cp_cfi_module *m)
{
	module = *m;
}

/* The rule of PC; a wrong one fails. */
static uint32_t learn(uint64_t pc, bool exact)
{
	uint32_t expected = rule_by_row(&module, pc, exact), rule;

	rule = cp_rules_learn(&module, pc, exact);
	if (rule && rule != expected) {
		printf("# at %#lx: %#x, by its row %#x\n", pc, rule, expected);
		CHECK(!"the row's rule");
	}
	if (rule && cp_rules_find(pc) != rule)
		CHECK(!"kept");
	learnt += rule && !exact;
	left += !rule && expected && !exact;
	return rule;
}

/* Each row of the function whose FDE is at ADDR. */
static void learn_function(uint64_t addr)
{
	struct cp_cfi_span span;
	struct cp_cfi_fde fde;
	struct cp_cfi_row row;
	uint64_t size, end, pc;

	if (!cp_cfi_table_parse(&module, addr, NULL, &fde, &size))
		return;
	end = fde.start + size;
	for (pc = fde.start; pc < end; pc = span.to) {
		learn(pc, false);
		learn(pc, true);
		if (cp_cfi_row_and_span(&fde, pc, &row, &span) || span.to <= pc)
			break;
		learn((span.to < end ? span.to : end) - 1, true);
	}
}

/* So many times as many rules are learnt as are left to the row. aarch64 leaves the frames above
 * 1 KiB, which save too far away. */
#ifdef __aarch64__
#define LEARNT_LEAST 10
#else
#define LEARNT_LEAST 20
#endif

static void learn_module(const char *name, void *inside)
{
	struct cp_cfi_module m;
	const int32_t *entry;
	uint32_t count;

	CHECK(cp_cfi_module_find((uint64_t)inside, &m) && m.hdr);
	begin(&m);
	learnt = left = 0;
	memcpy(&count, (const char *)m.hdr + 8, sizeof(count));
	entry = (const int32_t *)(m.hdr + 12);
	for (; count; count--, entry += 2)
		learn_function(m.hdr + (uint64_t)(int64_t)entry[1]);
	printf("# %s: %u places learnt, %u left to the row\n", name, learnt, left);
	CHECK(learnt > LEARNT_LEAST * left);
}

TEST(test_real_functions_give_the_rows_rules)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_NOW), *f;

	CHECK_EQ(cp_cfi_modules_prepare(), 0);
	learn_module("libc", (void *)&memcpy);
	learn_module("the loader", (void *)getauxval(AT_BASE));
	learn_module("this program", (void *)&learn_module);
	f = lib ? dlsym(lib, "__cxa_throw") : NULL;
	if (f)
		learn_module("libstdc++", f);
}

/* The rule OFFSET bytes into code described by PROGRAM, under the CIE of CIE_PROGRAM. */
static uint32_t rule_of(const char *cie, size_t cie_size, const void *program, size_t size,
			uint64_t offset)
{
	image_make(&image, BYTES(CIE_HEAD_OF_COMPILERS), cie, cie_size, program, size);
	begin(&image.module);
	return learn(image_code(&image) + offset, false);
}
#define RULE(program, offset) rule_of(BYTES(CIE_PROGRAM), BYTES(program), offset)

TEST(test_what_is_not_known_is_left_to_the_row)
{
	CHECK(!RULE("", 0));			     /* says nothing */
	CHECK(!RULE("\0\0", 0));		     /* nor this */
	CHECK(!RULE("\101\017\002\167\010", 4));     /* the CFA by an expression */
	CHECK(!RULE("\101\013", 4));		     /* nothing to restore */
	CHECK(!RULE("\101\012\012\012\016\020", 4)); /* nested too deep */
	CHECK(!RULE("\101\012\012\012\016\020\101\013", 4));
	CHECK(!RULE("\101\077", 4));		     /* unknown */
	CHECK(!RULE("\101\100\016", 4));	     /* cut: nothing fills it up */
	CHECK(!RULE("\101\016\020\206\200\001", 4)); /* saved far away */
	CHECK(!RULE("\101\016\014", 4));	     /* no word's multiple */
	CHECK(!rule_of(BYTES(CIE_PROGRAM "\016\020"), BYTES("\101\016\020"), 0));
	CHECK_EQ(cp_rules_learn(&module, image_code(&image) - 1, false), 0);
	CHECK_EQ(cp_rules_learn(&module, image_code(&image) + CODE_SIZE, false), 0);
}

#if defined(__x86_64__)

TEST(test_usual_functions_are_learnt)
{
	/* push %rbp, push %rbx, sub $n; the end of it; more of it */
	static const char body[] = "\101\016\020\206\002\101\016\030\203\003\104\016\220\001"
				   "\110\012\016\030\101\016\020\101\016\010\101\013";

	for (unsigned i = 0; i < 20; i++)
		CHECK(RULE(body, i));
	CHECK(RULE("\101\016\020\206\002\103\015\006\002\120\014\007\010\306", 4));
	CHECK(RULE("\101\016\020\206\002\103\015\006\002\120\014\007\010\306", 100));
	CHECK(RULE("\101\016\020\214\002\003\001\0\016\010", 5)); /* r12: not followed */
	CHECK(RULE("\101\016\020\003\020\0\016\010", 20));
	CHECK(cp_rule_is_outermost(RULE("\101\007\020", 4)));
	CHECK(cp_rule_is_outermost(rule_of(BYTES(CIE_PROGRAM "\007\020"), BYTES("\0\0\0"), 0)));
}

#endif

#if defined(__x86_64__)

/* As clang has it: the frame's end goes up over a comparison, but not its description. */
TEST(test_a_freed_frame_is_left_to_the_row)
{
	static union {
		struct image image;
		uint8_t code[CODE_AT + 4096];
	} m __attribute__((aligned(4096)));
	static const uint8_t freed[] = { 0x48, 0x83, 0xc4, 0x18, 0x85, 0xc0, 0x75, 0x00, 0xc3 };
	uint64_t start;

	image_make(&m.image, BYTES(CIE_HEAD), BYTES(CIE_PROGRAM),
		   BYTES("\104\016\040\110\016\010"));
	begin(&m.image.module);
	start = image_code(&m.image);
	memset(m.code + CODE_AT, 0x90, 4096);
	memcpy(m.code + CODE_AT + 4, freed, sizeof(freed));
	CHECK(learn(start + 4, true));	      /* not yet */
	CHECK_EQ(learn(start + 10, true), 0); /* freed */
	CHECK(rule_by_row(&module, start + 10, true) != rule_by_row(&module, start + 10, false));
	CHECK(learn(start + 24, true));	 /* long ago */
	CHECK(learn(start + 10, false)); /* a caller has not freed anything */
}

#endif

static uint32_t next(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	*s ^= *s << 5;
	return *s;
}

/* Instructions that are known, in any order, and what no compiler writes between them. */
static size_t some_program(uint32_t *s, uint8_t *p)
{
	static const uint8_t common[] = { 0x41, 0x44, 0x0e, 0x86, 0x83, 0x90, 0x8c, 0xc6,
					  0xc3, 0xd0, 0x02, 0x03, 0x04, 0x07, 0x0a, 0x0b,
					  0x0c, 0x0d, 0x2d, 0x2e, 0x00, 0x08, 0x0f, 0x10,
					  0x8d, 0x9e, 0xdd, 0x87, 0xc7, 0x9f };
	static const uint8_t operand[] = { 1, 2, 3, 6, 7, 8, 16, 24, 29, 30, 31, 0x80, 0x90, 0 };
	size_t n = 1 + next(s) % 24;

	for (size_t i = 0; i < n; i++)
		p[i] = next(s) % 3   ? common[next(s) % sizeof(common)]
		       : next(s) % 8 ? operand[next(s) % sizeof(operand)]
				     : (uint8_t)next(s);
	return n;
}

TEST(test_any_program_gives_the_rows_rule)
{
	uint8_t program[32];
	uint32_t s = 2463534242u;

	learnt = left = 0;
	for (unsigned i = 0; i < 200000; i++) {
		size_t n = some_program(&s, program);

		rule_of(BYTES(CIE_PROGRAM), program, n, next(&s) % 12);
		if (i % 4 == 0) /* any byte of all */
			image.b[next(&s) % image.n] = (uint8_t)next(&s);
		begin(&image.module);
		learn(image_code(&image) + next(&s) % 256, false);
	}
	printf("# %u learnt, %u left to the row\n", learnt, left);
	CHECK(learnt > 20000);
}
