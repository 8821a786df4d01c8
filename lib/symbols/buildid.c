/* SPDX-License-Identifier: BSD-3-Clause */
/* Build ids from ELF notes; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define NOTES_MAX 256 /* notes in one segment; real files have under ten */

/* SIZE bytes of notes at OFF, each aligned to ALIGN. */
struct notes {
	uint64_t off, size, align;
};

static uint64_t aligned(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static int take_note(const struct cp_elf *e, uint64_t off, uint32_t size, uint8_t *id, size_t room)
{
	int r;

	if (!size)
		return -ENOENT;
	if (size > room)
		return -ERANGE;
	r = cp_elf_read(e, off, id, size);
	return r ? r : (int)size;
}

static int search(const struct cp_elf *e, const struct notes *n, uint8_t *id, size_t room)
{
	struct {
		Elf64_Nhdr h;
		char name[4];
	} note;
	uint64_t at = 0;

	for (int i = 0; i < NOTES_MAX && n->size - at >= sizeof(note); i++) {
		uint64_t desc, next;
		int r = cp_elf_read(e, n->off + at, &note, sizeof(note));

		if (r)
			return r;
		desc = aligned(sizeof(note.h) + (uint64_t)note.h.n_namesz, n->align);
		next = aligned(desc + note.h.n_descsz, n->align);
		if (desc + note.h.n_descsz > n->size - at)
			break;
		if (note.h.n_type == NT_GNU_BUILD_ID && note.h.n_namesz == 4 &&
		    !memcmp(note.name, "GNU", 4))
			return take_note(e, n->off + at + desc, note.h.n_descsz, id, room);
		if (next > n->size - at)
			break;
		at += next;
	}
	return -ENOENT;
}

static int search_segments(const struct cp_elf *e, uint8_t *id, size_t room)
{
	int result = -ENOENT;
	bool absent = false;
	Elf64_Phdr p;

	for (unsigned i = 0; result == -ENOENT && !cp_elf_segment(e, i, &p); i++) {
		struct notes n = { p.p_offset, p.p_filesz, p.p_align == 8 ? 8 : 4 };

		if (p.p_type != PT_NOTE)
			continue;
		if (e->image && cp_elf_locate(e, p.p_vaddr, p.p_filesz, &n.off))
			absent = true;
		else
			result = search(e, &n, id, room);
	}
	return result == -ENOENT && absent ? -EFAULT : result;
}

/* In a separate debug file the program headers may point anywhere. */
static int search_sections(const struct cp_elf *e, uint8_t *id, size_t room)
{
	struct cp_elf_sections s = { .e = e };
	int result = -ENOENT;
	Elf64_Shdr h;

	while (result == -ENOENT && cp_elf_next_section(&s, &h)) {
		struct notes n = { h.sh_offset, h.sh_size, h.sh_addralign == 8 ? 8 : 4 };

		if (h.sh_type == SHT_NOTE)
			result = search(e, &n, id, room);
	}
	return result;
}

int cp_buildid_of_elf(const struct cp_elf *e, uint8_t *id, size_t room)
{
	int r = search_sections(e, id, room);

	return r > 0 || r == -ERANGE ? r : search_segments(e, id, room);
}

int cp_buildid_of_file(const char *path, uint8_t *id, size_t room)
{
	struct cp_elf e;
	int r = cp_elf_open(&e, path);

	if (r)
		return r;
	r = cp_buildid_of_elf(&e, id, room);
	cp_elf_close(&e);
	return r;
}

int cp_buildid_of_image(uint64_t image, uint64_t size, uint8_t *id, size_t room)
{
	struct cp_elf e;
	int r = cp_elf_open_image(&e, image, size, false);

	return r ? r : cp_buildid_of_elf(&e, id, room);
}

int cp_buildid_of_kernel(uint8_t *id, size_t room)
{
	char text[4096];
	int fd = cp_sys_open("/sys/kernel/notes", O_RDONLY, 0);
	long got;

	if (fd < 0)
		return fd;
	got = cp_sys_read(fd, text, sizeof(text));
	cp_sys_close(fd);
	if (got <= 0)
		return got ? (int)got : -ENOENT;
	return search(&(struct cp_elf){ .src = { .fd = -1,
						 .direct = true,
						 .base = (uint64_t)(uintptr_t)text,
						 .size = (uint64_t)got } },
		      &(struct notes){ 0, (uint64_t)got, 4 }, id, room);
}
