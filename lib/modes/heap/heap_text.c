/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes heap profiles as text; see heap.h. */
#include "modes/heap/heap.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "base/base.h"

#define LINE 256
#define L(x) ((unsigned long)(x))

static int put(struct cp_sink *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int put(struct cp_sink *to, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = cp_text_vformat(line, sizeof(line), fmt, ap);
	va_end(ap);
	return to->write(to, line, n);
}

/* Writes "objects: bytes [objects: bytes] @". V holds alloc_objects, alloc_space, inuse_objects,
 * inuse_space. */
static int put_values(struct cp_sink *to, const char *before, const uint64_t *v, const char *after)
{
	return put(to, "%s%6lu: %8lu [%6lu: %8lu] @%s", before, L(v[2]), L(v[3]), L(v[0]), L(v[1]),
		   after);
}

/* The format has return addresses; libcprof's addresses are those of the calls. */
static int put_stack(struct cp_sink *to, const struct cp_aggregate *a, const struct cp_stack *s)
{
	int err;

	/* A row of one age may be of an earlier dump. */
	if (!s->values[0] && !s->values[2])
		return 0;
	err = put_values(to, "", s->values, "");

	for (uint32_t i = 0; i < s->depth && !err; i++) {
		const struct cp_location *l =
			CP_VEC_AT(&a->locations, struct cp_location, s->locations[i]);

		if (l->address)
			err = put(to, " 0x%016lx", L(l->address + 1));
	}
	return err ? err : put(to, "\n");
}

static int put_mappings(struct cp_sink *to)
{
	char buffer[4096];
	int fd = cp_thread_file_open("maps"), err = put(to, "\nMAPPED_LIBRARIES:\n");
	long got = 0;

	if (fd < 0)
		return err;
	while (!err && (got = cp_sys_read(fd, buffer, sizeof(buffer))) > 0)
		err = to->write(to, buffer, (size_t)got);
	cp_sys_close(fd);
	return err;
}

int cp_heap_text_write(const struct cp_run *r, struct cp_sink *to)
{
	const struct cp_aggregate *a = &r->aggregate;
	uint64_t sums[CP_VALUES] = { 0 };
	int err;

	for (size_t i = 0; i < a->stacks.count; i++)
		for (unsigned v = 0; v < CP_VALUES; v++)
			sums[v] += CP_VEC_AT(&a->stacks, struct cp_stack, i)->values[v];
	err = put_values(to, "heap profile: ", sums, " heapprofile\n");
	for (size_t i = 0; i < a->stacks.count && !err; i++)
		err = put_stack(to, a, CP_VEC_AT(&a->stacks, struct cp_stack, i));
	return err ? err : put_mappings(to);
}
