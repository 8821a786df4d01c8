/* SPDX-License-Identifier: BSD-3-Clause */
/* For bench/symbolize.sh: a profile of nothing but addresses, and what it says once it has lines.
 *
 *   address-profile PROGRAM FILE <addresses     writes FILE; one address, as linked, a line
 *   address-profile FILE                        prints it as llvm-symbolizer -a does
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/model.h"
#include "core/read.h"

/* The segment with code, as if it was mapped where it was linked. */
static uint32_t add_mapping(struct ct_profile *p, const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct ct_mapping m = { .file = ct_model_string(p, program) };
	size_t count = 0;
	GElf_Phdr h;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_getphdrnum(elf, &count))
		exit(2);
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD || !(h.p_flags & PF_X))
			continue;
		m.start = h.p_vaddr & ~UINT64_C(4095);
		m.limit = (h.p_vaddr + h.p_memsz + 4095) & ~UINT64_C(4095);
		m.offset = h.p_offset & ~UINT64_C(4095);
	}
	elf_end(elf);
	close(fd);
	return ct_model_add_mapping(p, &m);
}

static int make(const char *program, const char *file)
{
	struct ct_profile *p = ct_model_new();
	struct ct_type type = { ct_model_string(p, "samples"), ct_model_string(p, "count") };
	struct ct_location l = { .mapping = add_mapping(p, program) };
	int64_t one = 1;

	ct_model_add_type(p, type);
	while (scanf("%" SCNx64, &l.address) == 1) {
		uint32_t frame = ct_model_add_location(p, &l, NULL, 0);

		ct_model_add_sample(p, &frame, 1, &one, 0);
	}
	return ct_write_file(p, file) ? 1 : 0;
}

static void print_line(const struct ct_profile *p, const struct ct_line *line)
{
	const struct ct_function *f =
		line->function == CT_NONE ? NULL : &p->functions[line->function];
	const char *name = f ? ct_text(p, f->system_name ? f->system_name : f->name) : "??";
	const char *file = f && f->filename ? ct_text(p, f->filename) : "??";

	/* "program+0x1234" is no name. */
	printf("%s\n%s:%" PRId64 ":%u\n", strstr(name, "+0x") ? "??" : name, file, line->line,
	       line->column);
}

static int print(const char *file)
{
	struct ct_profile *p = ct_read_source(file);

	if (!p)
		return 1;
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		printf("0x%" PRIx64 "\n", l->address);
		for (uint32_t k = 0; k < l->line_count; k++)
			print_line(p, &p->lines[l->first_line + k]);
		printf("%s\n", l->line_count ? "" : "??\n??:0:0\n");
	}
	ct_model_free(p);
	return 0;
}

int main(int argc, char **argv)
{
	return argc == 3 ? make(argv[1], argv[2]) : argc == 2 ? print(argv[1]) : 2;
}
