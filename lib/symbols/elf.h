/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader of 64-bit ELF that trusts nothing it reads.
 *
 * For symbols, debug files and build ids, at a dump: raw system calls, no memory of its own. A
 * source is a file or an image in this process's memory. Files are read with pread, because a
 * mapping of a file that shrinks would SIGBUS the program. Images are copied fault-safely.
 * Invariant: every offset, count and size of the file is checked against the source before use, and
 * every loop over it is bounded by the source's size.
 */
#ifndef CP_ELF_H
#define CP_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every linker's layout; further PT_LOADs are ignored. */
#define CP_ELF_LOADS 32
#define CP_ELF_CODE 32
/* Bytes read at once: the header, most modules' program headers, and notes. ELF files are also
 * opened on the program's threads, whose stacks may be small. */
#define CP_ELF_HEAD 1024

/* A source of bytes. */
struct cp_elf_source {
	int fd;	       /* file descriptor; -1 = memory */
	bool direct;   /* memory that can't go away (vdso): plain copy */
	int *trouble;  /* for files: receives the first error of the kernel, unless NULL */
	uint64_t base; /* memory: address of the first byte */
	uint64_t size; /* number of bytes in the source */
};

struct cp_elf_load {
	uint64_t vaddr, memsz;
	uint64_t offset, filesz; /* file offsets */
	bool code;
};

struct cp_elf_range {
	uint64_t start, end; /* vaddr; end excluded */
};

struct cp_elf {
	struct cp_elf_source src;
	bool image;	     /* the bytes lie as the loader maps them, not as in the file */
	uint64_t base_vaddr; /* vaddr of the ELF header: where an image begins */
	uint64_t phoff, shoff;
	unsigned phnum;
	uint64_t shnum;
	uint64_t names_off, names_size; /* section names, offset in the source */
	unsigned nloads, ncode;
	struct cp_elf_load loads[CP_ELF_LOADS];
	/* Executable sections, or executable segments if there are no sections. A symbol without a
	 * size ends at the end of its range at the latest. */
	struct cp_elf_range code[CP_ELF_CODE];
	uint32_t head_size; /* bytes of HEAD; 0 = the header is read piece by piece */
	uint8_t head[CP_ELF_HEAD];
};

/* A symbol table, offsets in the source. */
struct cp_elf_symtab {
	uint64_t off, count;
	uint64_t names_off, names_size;
};

/* An iterator over the section headers, in order; zero all fields but E. */
struct cp_elf_sections {
	const struct cp_elf *e;
	uint64_t next;
	unsigned have, at; /* headers in CHUNK, and how many of them were returned */
	Elf64_Shdr chunk[16];
};

/* Open PATH, a regular file. Returns 0; -ENOEXEC (not a 64-bit ELF of this byte order); -EINVAL if
 * PATH is not a regular file; -EIO; or the error of open. Close with cp_elf_close. */
int cp_elf_open(struct cp_elf *e, const char *path);
/* The same, with a report of errors. *TROUBLE must be 0. Until E is closed, *TROUBLE gets the first
 * error that kept E from reading what PATH holds. A missing file, or a file of another kind, is not
 * an error. */
int cp_elf_open_watched(struct cp_elf *e, const char *path, int *trouble);
/* Open the image of SIZE bytes at ADDRESS, as the loader mapped it. Returns 0, -ENOEXEC, -EFAULT,
 * or the kernel's error for reading one's own memory (-EPERM). Nothing to close. */
int cp_elf_open_image(struct cp_elf *e, uint64_t address, uint64_t size, bool direct);
/* Open a file's bytes in memory that stays, for tests and fuzzers. Returns 0 or -ENOEXEC. */
int cp_elf_open_bytes(struct cp_elf *e, const void *bytes, size_t size);
void cp_elf_close(struct cp_elf *e);

/* Read N bytes at OFF of the source. Returns 0 or a negative errno (-EIO outside of the source). */
int cp_elf_read(const struct cp_elf *e, uint64_t off, void *to, size_t n);
/* Read the NUL-ended string at OFF, which ends before END at the latest. The result is cut to ROOM
 * - 1 bytes and always NUL-ended. Returns its length or a negative errno. */
long cp_elf_read_string(const struct cp_elf *e, uint64_t off, uint64_t end, char *to, size_t room);

/* Set *OFF to the position of the N bytes at VADDR in the source. Returns 0, or -ENOENT if the file
 * doesn't hold them. */
int cp_elf_locate(const struct cp_elf *e, uint64_t vaddr, uint64_t n, uint64_t *off);
/* Convert between file offsets and vaddrs, by the PT_LOADs. Return 0 or -ENOENT. */
int cp_elf_vaddr_of(const struct cp_elf *e, uint64_t file_offset, uint64_t *vaddr);
int cp_elf_offset_of(const struct cp_elf *e, uint64_t vaddr, uint64_t *file_offset);
/* Returns the executable range that contains VADDR, or NULL. */
const struct cp_elf_range *cp_elf_code_at(const struct cp_elf *e, uint64_t vaddr);

/* Read program header INDEX. Returns 0, -ENOENT after the last one, or the error of reading. */
int cp_elf_segment(const struct cp_elf *e, unsigned index, Elf64_Phdr *p);
/* Get the next section header whose bytes lie in the source (NOBITS: always). Returns false at the
 * end. */
bool cp_elf_next_section(struct cp_elf_sections *s, Elf64_Shdr *h);
/* Is NAME (under 32 bytes) the section's name? */
bool cp_elf_section_is(const struct cp_elf *e, const Elf64_Shdr *h, const char *name);
/* Get the first section of TYPE, and of NAME unless NAME is NULL. Returns 0 or -ENOENT. */
int cp_elf_find_section(const struct cp_elf *e, uint32_t type, const char *name, Elf64_Shdr *h);
/* Get the symbol table in a section of TYPE (SHT_SYMTAB, SHT_DYNSYM). Returns 0 or -ENOENT. */
int cp_elf_find_symtab(const struct cp_elf *e, uint32_t type, struct cp_elf_symtab *t);

#endif
