/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbols in a section .gnu_debugdata; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/core.h"

/* The largest programs have a few megabytes of symbols. */
#define UNPACKED_MAX (UINT64_C(64) << 20)
#define DECODER_MAX (UINT64_C(128) << 20)
/* lzma_ret of lzma.h */
#define LZMA_OK 0
#define LZMA_BUF_ERROR 10

/* lzma_stream_buffer_decode */
typedef int decode_function(uint64_t *limit, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_at, size_t in_size, uint8_t *out,
			    size_t *out_at, size_t out_size);

/* Loads the library at the first use, because most systems' files have no such section. */
static decode_function *load(void)
{
	static decode_function *decode;
	static bool tried;

	if (!tried) {
		tried = true;
		ct_library_load(
			"liblzma.so.5",
			&(struct ct_library_function){ "lzma_stream_buffer_decode", &decode }, 1);
	}
	return decode;
}

/* Returns the unpacked bytes and their number, or NULL. The packed size doesn't tell how many they
 * are. */
static void *unpack(const Elf_Data *packed, size_t *size)
{
	decode_function *decode = load();

	for (uint64_t room = (uint64_t)packed->d_size * 8; decode && room <= UNPACKED_MAX;
	     room *= 2) {
		uint64_t limit = DECODER_MAX;
		size_t in = 0, out = 0;
		void *memory = ct_memory_alloc(room);
		int result = decode(&limit, 0, NULL, packed->d_buf, &in, packed->d_size, memory,
				    &out, room);

		if (result == LZMA_OK) {
			*size = out;
			return memory;
		}
		free(memory);
		if (result != LZMA_BUF_ERROR)
			break;
	}
	return NULL;
}

Elf *ct_dwarf_minidebug_open(Elf *file, void **memory)
{
	const Elf_Data *packed = ct_dwarf_elf_section(file, ".gnu_debugdata");
	size_t size = 0;
	Elf *inside;

	*memory = packed ? unpack(packed, &size) : NULL;
	inside = *memory ? elf_memory(*memory, size) : NULL;
	if (inside && elf_kind(inside) == ELF_K_ELF)
		return inside;
	elf_end(inside);
	free(*memory);
	*memory = NULL;
	return NULL;
}
