/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of sections; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <errno.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/core.h"

/* ELFCOMPRESS_ZSTD, which older headers lack. */
#define ZSTD 2
/* Debug information becomes 3 to 20 times larger. A file whose sections claim more than this wants
 * to use up the memory. */
#define GROWTH_MAX 1000

/* ZSTD_decompress */
typedef size_t decompress_function(void *to, size_t room, const void *from, size_t size);

/* Loads the library at the first use, because few systems' files need it. */
static decompress_function *load(void)
{
	static decompress_function *decompress;
	static bool tried;

	if (!tried) {
		tried = true;
		ct_library_load("libzstd.so.1",
				&(struct ct_library_function){ "ZSTD_decompress", &decompress }, 1);
	}
	return decompress;
}

/* The compressed bytes follow a header, which has 12 bytes in 32-bit files and 24 in others. */
static int unpack_zstd(Elf_Scn *scn, const GElf_Chdr *c, bool is_32, struct ct_dw_bytes *bytes,
		       void **memory)
{
	const Elf_Data *packed = elf_rawdata(scn, NULL);
	size_t head = is_32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	decompress_function *decompress = load();
	void *to;

	if (!decompress || !packed || !packed->d_buf || packed->d_size <= head || !c->ch_size ||
	    c->ch_size / GROWTH_MAX > packed->d_size)
		return -EOPNOTSUPP;
	to = malloc(c->ch_size);
	if (!to || decompress(to, c->ch_size, (const char *)packed->d_buf + head,
			      packed->d_size - head) != c->ch_size) {
		free(to);
		return -EOPNOTSUPP;
	}
	*bytes = (struct ct_dw_bytes){ to, c->ch_size };
	*memory = to;
	return 0;
}

int ct_dwarf_section_load(Elf *elf, Elf_Scn *scn, bool old, struct ct_dw_bytes *bytes,
			  void **memory)
{
	Elf_Data *data;
	GElf_Shdr h;
	GElf_Chdr c;

	*memory = NULL;
	if (!gelf_getshdr(scn, &h) || h.sh_type == SHT_NOBITS)
		return -ENOENT;
	if (old && elf_compress_gnu(scn, 0, 0) < 0)
		return -EOPNOTSUPP;
	if (h.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0) {
		if (!gelf_getchdr(scn, &c) || c.ch_type != ZSTD)
			return -EOPNOTSUPP;
		return unpack_zstd(scn, &c, gelf_getclass(elf) == ELFCLASS32, bytes, memory);
	}
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return -ENOENT;
	*bytes = (struct ct_dw_bytes){ data->d_buf, data->d_size };
	return 0;
}
