/* SPDX-License-Identifier: BSD-3-Clause */
/* The ELF reader: its results for good files, in memory, and for files made to mislead it. */
#define OWN_MAIN
#include "harness.h"

#include "symbols/symbols.h"
#include "elf-fixture.h"

static struct fixture fixture;
static uint8_t *bytes;
static size_t size;

TEST(test_file_and_bytes_read_the_same)
{
	struct cp_elf file, memory;
	struct cp_elf_symtab a, b;

	CHECK_EQ(cp_elf_open(&file, fixture.path), 0);
	CHECK_EQ(cp_elf_open_bytes(&memory, bytes, size), 0);
	CHECK_EQ(file.nloads, memory.nloads);
	CHECK(file.nloads >= 2 && file.ncode >= 2);
	CHECK_EQ(cp_elf_find_symtab(&file, SHT_SYMTAB, &a), 0);
	CHECK_EQ(cp_elf_find_symtab(&memory, SHT_SYMTAB, &b), 0);
	CHECK(a.count > 10 && !memcmp(&a, &b, sizeof(a)));
	cp_elf_close(&file);
	cp_elf_close(&memory);
	CHECK_EQ(cp_elf_read(&file, 0, &a, 1), -EIO);
}

TEST(test_offsets_and_vaddrs_convert_back)
{
	struct cp_elf e;
	uint64_t vaddr = 0, off = 0;

	CHECK_EQ(cp_elf_open_bytes(&e, bytes, size), 0);
	for (unsigned i = 0; i < e.nloads; i++) {
		CHECK_EQ(cp_elf_offset_of(&e, e.loads[i].vaddr, &off), 0);
		CHECK_EQ(off, e.loads[i].offset);
		CHECK_EQ(cp_elf_vaddr_of(&e, off, &vaddr), 0);
		CHECK_EQ(vaddr, e.loads[i].vaddr);
	}
	CHECK_EQ(cp_elf_vaddr_of(&e, UINT64_MAX, &vaddr), -ENOENT);
	CHECK_EQ(cp_elf_offset_of(&e, UINT64_MAX, &off), -ENOENT);
	CHECK_EQ(cp_elf_locate(&e, e.loads[0].vaddr, UINT64_MAX, &off), -ENOENT);
	CHECK_EQ(cp_elf_locate(&e, UINT64_MAX - 3, 8, &off), -ENOENT);
}

TEST(test_strings_end_at_their_table)
{
	char to[8];
	uint8_t copy[sizeof(Elf64_Ehdr) + 16] = { 0 };
	struct cp_elf e;

	memcpy(copy, bytes, sizeof(Elf64_Ehdr));
	((Elf64_Ehdr *)copy)->e_phnum = 0;
	((Elf64_Ehdr *)copy)->e_shoff = 0;
	memcpy(copy + sizeof(Elf64_Ehdr), "name\0longest_name", 16);
	CHECK_EQ(cp_elf_open_bytes(&e, copy, sizeof(copy)), 0);
	CHECK_EQ(cp_elf_read_string(&e, 64, 80, to, sizeof(to)), 4);
	CHECK_STR(to, "name");
	CHECK_EQ(cp_elf_read_string(&e, 69, UINT64_MAX, to, sizeof(to)), 7);
	CHECK_STR(to, "longest");
	CHECK_EQ(cp_elf_read_string(&e, 64, 66, to, sizeof(to)), 2);
	CHECK_STR(to, "na");
	CHECK_EQ(cp_elf_read_string(&e, 80, 90, to, sizeof(to)), -EIO);
	CHECK_EQ(cp_elf_read_string(&e, UINT64_MAX, UINT64_MAX, to, sizeof(to)), -EIO);
}

TEST(test_build_id_of_file_and_image_agree)
{
	uint8_t a[64], b[64];
	int n = cp_buildid_of_file(fixture.path, a, sizeof(a));

	CHECK(n > 0);
	CHECK_EQ(cp_buildid_of_image(fixture_image(&fixture), IMAGE_SIZE, b, sizeof(b)), n);
	CHECK(n > 0 && !memcmp(a, b, (size_t)n));
	CHECK_EQ(cp_buildid_of_file(fixture.path, a, 2), -ERANGE);
	CHECK(cp_buildid_of_file("/nowhere/at/all", a, sizeof(a)) == -ENOENT);
	CHECK_EQ(cp_buildid_of_file("/proc/self/maps", a, sizeof(a)), -ENOEXEC);
	CHECK_EQ(cp_buildid_of_image(16, 4096, b, sizeof(b)), -EFAULT);
}

TEST(test_dynamic_symbols_are_found_without_sections)
{
	struct cp_elf_symtab by_section, by_segment;
	struct cp_elf file, image;

	CHECK_EQ(cp_elf_open_bytes(&file, bytes, size), 0);
	CHECK_EQ(cp_elf_find_symtab(&file, SHT_DYNSYM, &by_section), 0);
	CHECK_EQ(cp_dynsym_find(&file, &by_segment), 0);
	CHECK_EQ(by_segment.off, by_section.off);
	CHECK_EQ(by_segment.count, by_section.count);
	CHECK_EQ(by_segment.names_off, by_section.names_off);
	CHECK_EQ(by_segment.names_size, by_section.names_size);
	CHECK_EQ(cp_elf_open_image(&image, fixture_image(&fixture), IMAGE_SIZE, false), 0);
	CHECK_EQ(cp_dynsym_find(&image, &by_segment), 0);
	CHECK_EQ(by_segment.count, by_section.count);
	CHECK_EQ(by_segment.names_off, by_section.names_off);
}

static int open_changed(size_t at, uint8_t value)
{
	uint8_t was = bytes[at];
	struct cp_elf e;
	int r;

	bytes[at] = value;
	r = cp_elf_open_bytes(&e, bytes, size);
	bytes[at] = was;
	return r;
}

TEST(test_other_formats_are_refused)
{
	CHECK_EQ(open_changed(EI_CLASS, ELFCLASS32), -ENOEXEC);
	CHECK_EQ(open_changed(EI_DATA, bytes[EI_DATA] == 1 ? 2 : 1), -ENOEXEC);
	CHECK_EQ(open_changed(1, 'F'), -ENOEXEC);
	CHECK_EQ(open_changed(0, 0x7f), 0);
}

int main(void)
{
	if (!fixture_make(&fixture) || !fixture_load(&fixture)) {
		printf("1..0 # SKIP no compiler that makes a shared object\n");
		fixture_remove(&fixture);
		return 77;
	}
	bytes = fixture_read(fixture.path, &size);
	harness_all();
	free(bytes);
	fixture_remove(&fixture);
	return harness_end();
}
