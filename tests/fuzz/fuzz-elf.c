/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a module: as its file, its debug file and its image in memory. */
#include <stddef.h>

#include "system.h"
#include "symbols/symbols.h"

#define QUERIES 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const struct cp_symbol_module *m, size_t size)
{
	struct cp_symbol_query q[QUERIES] = { 0 };
	struct cp_arena names = { .limit = 1 << 20 };

	for (size_t i = 0; i < QUERIES; i++)
		q[i].offset = i * size / QUERIES;
	cp_symbols_find(m, q, QUERIES, &names);
	cp_arena_release(&names);
}

static void find_debug_file(const char *path)
{
	struct cp_debugfile_query q = { .path = path };
	struct cp_elf module, debug;

	if (cp_elf_open(&module, path))
		return;
	q.module = &module;
	if (!cp_debugfile_open(&debug, &q))
		cp_elf_close(&debug);
	cp_elf_close(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	uint8_t id[CP_BUILD_ID_MAX];
	char path[64];
	struct cp_symbol_module file = { .path = path };
	struct cp_symbol_module image = { .path = "/nowhere",
					  .image = (uintptr_t)data,
					  .image_size = size };

	if (fd < 0)
		fd = memfd_create("fuzz-elf", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	find(&file, size);
	find(&image, size);
	find_debug_file(path);
	cp_buildid_of_file(path, id, sizeof(id));
	cp_buildid_of_image((uintptr_t)data, size, id, sizeof(id));
	return 0;
}
