/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as a mangled name. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[20000], to[4096];
	size_t room, len;

	if (!size || size >= sizeof(name))
		return 0;
	room = data[0] * 16;
	memcpy(name, data + 1, size - 1);
	name[size - 1] = '\0';
	len = cp_demangle(name, to, room);
	if (len && (len >= room || to[len]))
		abort();
	return 0;
}
