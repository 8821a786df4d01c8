/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as /tmp/perf-PID.map, which every runtime writes in its own way, and as /proc/kallsyms.
 */
#include <stddef.h>

#include "system.h"
#include "symbols/symbols.h"

#define QUERIES 24
#define NAMES_LIMIT ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The first bytes choose addresses; small and large ones, and some close together. */
static void ask(struct cp_symbol_query *q, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < QUERIES; i++) {
		uint64_t seed = size ? data[i % size] : 0;

		q[i] = (struct cp_symbol_query){ .offset = i % 3 == 0	? seed * i
							   : i % 3 == 1 ? seed << (i * 2)
									: ~(seed << i) };
	}
}

/* Sorted, and each that has a name begins at or before its address, with a name that ends. */
static void look_at(const struct cp_symbol_query *q, uint64_t base)
{
	for (size_t i = 0; i < QUERIES; i++) {
		check(!i || q[i - 1].offset <= q[i].offset);
		if (!q[i].name)
			continue;
		check(q[i].start <= q[i].offset || base);
		check(strlen(q[i].name) <= 1024);
	}
}

static void read_as(int fd, bool kernel, uint64_t base, const uint8_t *data, size_t size)
{
	struct cp_symbol_query q[QUERIES];
	struct cp_arena names = { .limit = NAMES_LIMIT };
	int err;

	ask(q, data, size);
	check(lseek(fd, 0, SEEK_SET) == 0);
	err = kernel ? cp_kallsyms_read(fd, q, QUERIES, &names)
		     : cp_perfmap_read(fd, base, q, QUERIES, &names);
	if (!err)
		look_at(q, base);
	cp_arena_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size) {
		read_as(fd, false, 0, data, size);
		read_as(fd, false, UINT64_C(0x7f0000000000), data, size);
		read_as(fd, true, 0, data, size);
	}
	close(fd);
	return 0;
}
