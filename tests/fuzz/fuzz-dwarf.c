/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ELF file with DWARF: all of its addresses are asked for. Nothing but time and
 * memory may depend on what is in it.
 */
#include "system.h"

#include "dwarf/dwarf.h"

#define QUERIES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Its texts end. */
static void read_frame(const struct ct_dwarf_frame *f)
{
	volatile size_t length;

	length = f->name ? strlen(f->name) : 0;
	length = f->file ? strlen(f->file) : 0;
	(void)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ct_dwarf_query q[QUERIES] = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct ct_dwarf *d;

	/* Addresses of small programs, and of what a broken one may hold. */
	for (unsigned i = 0; i < QUERIES; i++)
		q[i].address = i < QUERIES / 2 ? 0x1000 + 0x10 * i : UINT64_C(1) << i;
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!ct_dwarf_open(&d, fd, "/nowhere/fuzz", NULL)) {
		ct_dwarf_find(d, q, QUERIES);
		for (unsigned i = 0; i < QUERIES; i++)
			for (unsigned k = 0; k < q[i].count; k++)
				read_frame(&q[i].frames[k]);
		ct_dwarf_close(d);
	}
	close(fd);
	return 0;
}
