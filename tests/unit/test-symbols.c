/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for addresses of a real shared object. Files that are broken or can't be read:
 * test-symbols-broken.c; of modules that are gone, and of the vdso: trap_deleted_files,
 * trap_vdso_leaf. */
#define OWN_MAIN
#include "symbols-fixture.h"

#include <errno.h>

/* One address of a module: its name or NULL; *START as a query has it. */
static const char *name_in(const struct cp_symbol_module *m, uint64_t offset, uint64_t *start)
{
	struct cp_symbol_query q = { .offset = offset };

	if (start)
		*start = 0;
	if (cp_symbols_find(m, &q, 1, &names))
		return NULL;
	if (start)
		*start = q.start;
	return q.name;
}

static const char *name_of(const char *path, const void *address, uint64_t *offset, uint64_t *start)
{
	struct cp_symbol_module m = { .path = path };

	*offset = offset_of(path, fixture_vaddr(address));
	return name_in(&m, *offset, start);
}

TEST(test_plain_names_win_then_global_aliases)
{
	uint64_t off;

	CHECK_STR(name_of(fixture.path, exported("exported"), &off, NULL), "exported");
	CHECK_STR(name_of(fixture.path, exported("second"), &off, NULL), "second");
	CHECK_STR(name_of(fixture.path, exported("third"), &off, NULL), "third");
	CHECK_STR(name_of(fixture.path, exported("free"), &off, NULL), "free"); /* not cfree */
}

TEST(test_symbols_without_size_reach_to_the_next)
{
	char **unsized = (char **)exported("unsized");
	const char *beyond;
	uint64_t off;

	CHECK_STR(name_of(fixture.path, unsized[0], &off, NULL), "unsized_one");
	CHECK_STR(name_of(fixture.path, unsized[0] + 15, &off, NULL), "unsized_one");
	CHECK_STR(name_of(fixture.path, unsized[1], &off, NULL), "unsized_two");
	CHECK_STR(name_of(fixture.path, unsized[1] + 12, &off, NULL), "unsized_two"); /* not $x */
	CHECK_STR(name_of(fixture.path, unsized[2] + 15, &off, NULL), "unsized_last");
	/* not over the end of their section */
	beyond = name_of(fixture.path, unsized[2] + 16, &off, NULL);
	CHECK(!beyond || strcmp(beyond, "unsized_last"));
}

/* Code of 16 bytes each: with an FDE but without a size, as assemblers leave it; without both; and
 * the same under hidden symbols, which strip takes away. */
static const char sizeless_source[] =
	"extern char with_fde[], gap[], without_fde[], lost[], covered[];\n"
	"void *const sizeless[] = { with_fde, gap, without_fde, lost, covered };\n"
	"__asm__(\".pushsection .assembly, \\\"ax\\\"\\n\"\n"
	"	\".hidden gap\\n.hidden lost\\n.hidden covered\\n\"\n"
	"	\".globl with_fde\\n.globl gap\\n.globl without_fde\\n\"\n"
	"	\".globl lost\\n.globl covered\\n\"\n"
	"	\"with_fde: .cfi_startproc\\n.zero 16\\n.cfi_endproc\\n\"\n"
	"	\"gap: .zero 16\\nwithout_fde: .zero 16\\nlost: .zero 16\\n\"\n"
	"	\"covered: .cfi_startproc\\n.zero 16\\n.cfi_endproc\\n\"\n"
	"	\".popsection\\n\");\n";

enum { WITH_FDE, GAP, WITHOUT_FDE, LOST, COVERED, PLACES };

/* Asks for the address BEYOND bytes after the start of each of these, in the object NAME. */
static void ask_sizeless(const char *name, uint64_t beyond, struct cp_symbol_query q[PLACES],
			 uint64_t vaddr[PLACES])
{
	char path[192];
	struct cp_symbol_module m = { .path = path };
	char **places;
	void *loaded;

	snprintf(path, sizeof(path), "%s/%s", fixture.dir, name);
	loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(loaded);
	places = dlsym(loaded, "sizeless");
	for (int i = 0; i < PLACES; i++) {
		vaddr[i] = fixture_vaddr(places[i]);
		q[i] = (struct cp_symbol_query){ .offset = offset_of(path, vaddr[i] + beyond) };
	}
	CHECK_EQ(cp_symbols_find(&m, q, PLACES, &names), 0);
	dlclose(loaded);
}

static void check_stripped(const char *name)
{
	struct cp_symbol_query q[PLACES];
	uint64_t vaddr[PLACES];

	ask_sizeless(name, 8, q, vaddr);
	CHECK_STR(q[WITH_FDE].name, "with_fde");
	CHECK(!q[GAP].name && !q[WITHOUT_FDE].name && !q[LOST].name && !q[COVERED].name);
	/* One function, not one for each address: the code from one FDE's end, or one symbol, to
	 * the next. */
	CHECK_EQ(q[GAP].address, vaddr[GAP]);
	CHECK_EQ(q[LOST].address, vaddr[WITHOUT_FDE]);
	CHECK(q[LOST].start && q[LOST].start != q[GAP].start &&
	      q[LOST].start == q[WITHOUT_FDE].start);
	/* A symbol may be where it begins, which is another function. */
	CHECK(q[GAP].start != q[GAP].offset - 8);
	CHECK_EQ(q[COVERED].address, vaddr[COVERED]);
	ask_sizeless(name, 0, q, vaddr);
	CHECK_STR(q[WITHOUT_FDE].name, "without_fde");
}

TEST(test_symbols_without_size_claim_no_stripped_code)
{
	struct cp_symbol_query q[PLACES];
	uint64_t vaddr[PLACES];
	char source[160];

	snprintf(source, sizeof(source), "%s/sizeless.c", fixture.dir);
	fixture_write(source, sizeless_source, sizeof(sizeless_source) - 1);
	CHECK(fixture_run("cd %s && ${CC:-cc} -O1 -fPIC -shared -o whole.so sizeless.c && "
			  "strip -s -o stripped.so whole.so && strip -x -o no-locals.so whole.so",
			  fixture.dir));
	ask_sizeless("whole.so", 8, q, vaddr);
	CHECK_STR(q[WITH_FDE].name, "with_fde");
	CHECK_STR(q[GAP].name, "gap");
	CHECK_STR(q[WITHOUT_FDE].name, "without_fde");
	CHECK_STR(q[LOST].name, "lost");
	CHECK_STR(q[COVERED].name, "covered");
	check_stripped("stripped.so");
	check_stripped("no-locals.so");
}

static uint64_t ten_bytes(const uint8_t *code, uint64_t n)
{
	return n >= 10 && !code[9] ? 10 : 0;
}

/* As musl's memcpy and memset: hidden functions are after them. */
TEST(test_instructions_tell_where_a_function_without_size_ends)
{
	struct cp_symbol_query q[PLACES];
	uint64_t vaddr[PLACES];

	CHECK(fixture_run("cd %s && sed 's/\\.hidden gap/.type without_fde, @function\\\\n&/' "
			  "sizeless.c >measured.c && ${CC:-cc} -O1 -fPIC -shared -s "
			  "-o measured.so measured.c",
			  fixture.dir));
	cp_symtab_set_extent(ten_bytes);
	ask_sizeless("measured.so", 9, q, vaddr);
	CHECK_STR(q[WITHOUT_FDE].name, "without_fde");
	CHECK(!q[LOST].name && !q[GAP].name);
	CHECK_EQ(q[LOST].address, vaddr[WITHOUT_FDE] + 10);
	ask_sizeless("measured.so", 10, q, vaddr);
	CHECK(!q[WITHOUT_FDE].name);
	cp_symtab_set_extent(NULL);
	ask_sizeless("measured.so", 9, q, vaddr);
	CHECK(!q[WITHOUT_FDE].name);
}

/* As in musl: no unwind table, and functions without names between others. */
TEST(test_code_between_two_symbols_is_one_function)
{
	static const char text[] =
		"extern char first[], one[], second[], other[], third[];\n"
		"void *const sizeless[] = { first, one, second, other, third };\n"
		"#define NAMED(f) \"\\t.globl \" f \"\\n\\t.type \" f \", @function\\n\" \\\n"
		"	f \": .zero 16\\n\\t.size \" f \", 16\\n\"\n"
		"__asm__(\".pushsection .assembly, \\\"ax\\\"\\n\"\n"
		"	\".globl one\\n.globl other\\n.hidden one\\n.hidden other\\n\"\n"
		"	NAMED(\"first\") \"one: .zero 32\\n\" NAMED(\"second\")\n"
		"	\"other: .zero 32\\n\" NAMED(\"third\") \".popsection\\n\");\n";
	enum { FIRST, ONE, SECOND, OTHER };
	struct cp_symbol_query q[PLACES];
	uint64_t vaddr[PLACES];
	char source[160];

	snprintf(source, sizeof(source), "%s/between.c", fixture.dir);
	fixture_write(source, text, sizeof(text) - 1);
	CHECK(fixture_run("cd %s && ${CC:-cc} -O1 -fPIC -shared -s -Wl,--no-eh-frame-hdr "
			  "-o between.so between.c",
			  fixture.dir));
	ask_sizeless("between.so", 24, q, vaddr);
	CHECK(!q[ONE].name && !q[OTHER].name);
	CHECK_EQ(q[ONE].address, vaddr[ONE]);
	CHECK_EQ(q[OTHER].address, vaddr[OTHER]);
	CHECK(q[ONE].start && q[ONE].start != q[OTHER].start);
	ask_sizeless("between.so", 8, q, vaddr);
	CHECK_STR(q[SECOND].name, "second");
	CHECK_EQ(q[OTHER].address, vaddr[OTHER]);
}

/* nasm keeps local labels as symbols with the name of their function: "sad.loop". */
TEST(test_labels_of_assembly_are_in_their_function)
{
	static const char text[] = "__asm__(\".text\\n.globl sad\\nsad: .zero 16\\n\"\n"
				   "	\"sad.loop: .zero 16\\n\");\n"
				   "extern char sad[];\n"
				   "char *const start = sad;\n";
	struct cp_symbol_module m = { 0 };
	char path[192], source[192];
	const char *name;
	uint64_t start;
	char **sad;
	void *loaded;

	snprintf(source, sizeof(source), "%s/labels.c", fixture.dir);
	snprintf(path, sizeof(path), "%s/labels.so", fixture.dir);
	fixture_write(source, text, sizeof(text) - 1);
	CHECK(fixture_run("cd %s && ${CC:-cc} -fPIC -shared -fno-asynchronous-unwind-tables "
			  "-o labels.so labels.c",
			  fixture.dir));
	loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(loaded);
	sad = dlsym(loaded, "start");
	m.path = path;
	name = name_in(&m, offset_of(path, fixture_vaddr(*sad) + 24), &start);
	CHECK_STR(name, "sad");
	dlclose(loaded);
}

TEST(test_plt_stubs_are_named)
{
	struct cp_symbol_module m = { .path = fixture.path };
	struct cp_elf e;
	Elf64_Shdr plt;
	bool found = false;

	CHECK(!cp_elf_open(&e, fixture.path));
	if (cp_elf_find_section(&e, SHT_PROGBITS, ".plt.sec", &plt) &&
	    cp_elf_find_section(&e, SHT_PROGBITS, ".plt", &plt))
		plt.sh_size = 0;
	cp_elf_close(&e);
	for (uint64_t i = 0; i < plt.sh_size; i += 4) {
		const char *name = name_in(&m, plt.sh_offset + i, NULL);

		found |= name && !strcmp(name, "puts@plt");
	}
	CHECK(found);
}

TEST(test_memory_has_its_limit)
{
	struct cp_symbol_module m = { .path = fixture.path };
	struct cp_symbol_query q = { .offset = offset_of(fixture.path,
							 fixture_vaddr(exported("second"))) };
	struct cp_arena small = { .limit = 1 };

	CHECK_EQ(cp_symbols_find(&m, &q, 1, &small), -ENOMEM);
	CHECK(!q.name);
}

TEST(test_replaced_module_is_not_used)
{
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_symbol_module m = mapped_fixture(id);
	uint64_t hidden = offset_of(fixture.path, fixture_vaddr(*(char **)exported("places")));
	struct cp_symbol_query q = { .offset = hidden };

	CHECK_STR(name_in(&m, hidden, NULL), "hidden_local");
	id[0] ^= 1;
	CHECK(!name_in(&m, hidden, NULL));
	m.image = 0;
	CHECK_EQ(cp_symbols_find(&m, &q, 1, &names), -ENOENT);
}

int main(void)
{
	int skipped = symbols_begin();

	if (skipped)
		return skipped;
	harness_all();
	return symbols_end();
}
