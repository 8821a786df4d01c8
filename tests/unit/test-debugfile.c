/* SPDX-License-Identifier: BSD-3-Clause */
/* Separate debug files: where they are found, and which are not believed. */
#define OWN_MAIN
#include "harness.h"

#include "symbols/symbols.h"
#include "elf-fixture.h"

static struct fixture fixture;

/* What MAKE_PLAIN makes becomes stripped.so and fixture.debug, linked by name and CRC. */
static bool separate(const char *make_plain)
{
	return fixture_run("cd %s && rm -rf .debug root stripped.so fixture.debug && %s && "
			   "objcopy --only-keep-debug plain.so fixture.debug && "
			   "strip -s -o stripped.so plain.so && "
			   "objcopy --add-gnu-debuglink=fixture.debug stripped.so",
			   fixture.dir, make_plain);
}

static bool in_dir(const char *command)
{
	return fixture_run("cd %s && %s", fixture.dir, command);
}

/* The result of the search for stripped.so's debug file, with DIR/root as the debug root. */
static int search(void)
{
	char path[128], root[128];
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_debugfile_query q = { .path = path, .build_id = id, .root = root };
	struct cp_elf module, debug;
	int r;

	snprintf(path, sizeof(path), "%s/stripped.so", fixture.dir);
	snprintf(root, sizeof(root), "%s/root", fixture.dir);
	if (cp_elf_open(&module, path))
		return -EBADF;
	q.module = &module;
	r = cp_buildid_of_elf(&module, id, sizeof(id));
	q.build_id_size = r > 0 ? (size_t)r : 0;
	r = cp_debugfile_open(&debug, &q);
	if (!r)
		cp_elf_close(&debug);
	cp_elf_close(&module);
	return r;
}

TEST(test_debuglink_is_followed_in_its_three_places)
{
	if (!separate("cp fixture.so plain.so"))
		SKIP("objcopy or strip can't do it");
	CHECK_EQ(search(), 0);
	CHECK(in_dir("mkdir .debug && mv fixture.debug .debug"));
	CHECK_EQ(search(), 0);
	CHECK(in_dir("mkdir -p root$PWD && mv .debug/fixture.debug root$PWD"));
	CHECK_EQ(search(), 0);
	CHECK(in_dir("mv root$PWD/fixture.debug root$PWD/x.debug"));
	CHECK_EQ(search(), -ENOENT);
}

TEST(test_build_id_leads_to_its_file)
{
	uint8_t id[CP_BUILD_ID_MAX];
	char name[2 * CP_BUILD_ID_MAX + 1], path[256], command[1024];
	int n;

	if (!separate("cp fixture.so plain.so"))
		SKIP("objcopy or strip can't do it");
	n = cp_buildid_of_file(fixture.path, id, sizeof(id));
	CHECK(n > 2);
	for (int i = 0; i < n; i++)
		snprintf(name + i * 2, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), "root/.build-id/%.2s/%s.debug", name, name + 2);
	snprintf(command, sizeof(command), "mkdir -p root/.build-id/%.2s && mv fixture.debug %s",
		 name, path);
	CHECK(in_dir(command));
	CHECK_EQ(search(), 0);
	/* another module's file in its place */
	snprintf(command, sizeof(command),
		 "echo 'int other;' >other.c && ${CC:-cc} -shared -Wl,--build-id -o %s other.c",
		 path);
	CHECK(in_dir(command));
	CHECK_EQ(search(), -ENOENT);
}

TEST(test_other_build_id_is_not_believed)
{
	if (!separate("cp fixture.so plain.so"))
		SKIP("objcopy or strip can't do it");
	CHECK(in_dir("echo 'int other(void) { return 1; }' >other.c && "
		     "${CC:-cc} -shared -Wl,--build-id -o fixture.debug other.c"));
	CHECK_EQ(search(), -ENOENT);
	CHECK(in_dir("${CC:-cc} -shared -Wl,--build-id=none -o fixture.debug other.c"));
	CHECK_EQ(search(), -ENOENT);
}

TEST(test_without_build_id_the_crc_decides)
{
	if (!separate("echo 'int other(void) { return 1; }' >other.c && "
		      "${CC:-cc} -shared -Wl,--build-id=none -o plain.so other.c"))
		SKIP("objcopy or strip can't do it");
	CHECK_EQ(search(), 0);
	CHECK(in_dir("printf x >>fixture.debug"));
	CHECK_EQ(search(), -ENOENT);
}

TEST(test_link_to_what_has_no_symbols_is_refused)
{
	if (!separate("cp fixture.so plain.so"))
		SKIP("objcopy or strip can't do it");
	CHECK(in_dir("cp stripped.so fixture.debug"));
	CHECK_EQ(search(), -ENOENT);
	CHECK(in_dir("rm fixture.debug && mkfifo fixture.debug"));
	CHECK_EQ(search(), -ENOENT);
	CHECK(in_dir("rm fixture.debug && mkdir fixture.debug"));
	CHECK_EQ(search(), -ENOENT);
}

int main(void)
{
	if (!fixture_make(&fixture)) {
		printf("1..0 # SKIP no compiler that makes a shared object\n");
		fixture_remove(&fixture);
		return 77;
	}
	harness_all();
	fixture_remove(&fixture);
	return harness_end();
}
