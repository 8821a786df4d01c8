/* SPDX-License-Identifier: BSD-3-Clause */
/* The object of elf-fixture.h as a module whose addresses are to be named; for the tests of
 * symbols.c. */
#ifndef SYMBOLS_FIXTURE_H
#define SYMBOLS_FIXTURE_H

#include "harness.h"

#include "symbols/symbols.h"
#include "elf-fixture.h"

static struct fixture fixture;
static struct cp_arena names;

static uint64_t offset_of(const char *path, uint64_t vaddr)
{
	struct cp_elf e;
	uint64_t off = UINT64_MAX;

	if (!cp_elf_open(&e, path)) {
		cp_elf_offset_of(&e, vaddr, &off);
		cp_elf_close(&e);
	}
	return off;
}

static char *exported(const char *name)
{
	return dlsym(fixture.loaded, name);
}

/* By its file, or as it is loaded where that is gone. */
static struct cp_symbol_module mapped_fixture(uint8_t id[CP_BUILD_ID_MAX])
{
	struct cp_symbol_module m = { .path = fixture.path, .build_id = id };
	int n = cp_buildid_of_file(fixture.path, id, CP_BUILD_ID_MAX);

	CHECK(n > 0);
	m.build_id_size = (size_t)n;
	m.image = fixture_image(&fixture);
	m.image_size = IMAGE_SIZE;
	return m;
}

/* 0 or the status to exit with. */
static int symbols_begin(void)
{
	if (fixture_make(&fixture) && fixture_load(&fixture))
		return 0;
	printf("1..0 # SKIP no compiler that makes a shared object\n");
	fixture_remove(&fixture);
	return 77;
}

static int symbols_end(void)
{
	cp_arena_release(&names);
	fixture_remove(&fixture);
	return harness_end();
}

#endif
