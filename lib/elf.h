/* A reader of 64-bit ELF that trusts nothing it reads.
 *
 * For symbols, debug files and build ids, at a dump: raw system calls, no memory
 * of its own. A source is a file (pread: a mapping of a file that shrinks would
 * SIGBUS the program) or an image in our own memory (copied fault-safely).
 * Invariant: every offset, count and size of the file is checked against the
 * source before use, and every loop over it is bounded by the source's size.
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
/* Read at once: the header, the program headers of most modules, and notes. Opened on threads of
 * the program, too, whose stacks may be small. */
#define CP_ELF_HEAD 1024

/* Where bytes come from. */
struct cp_elf_source {
	int fd;	       /* file; -1 = memory */
	bool direct;   /* memory that can't go away (vdso): plain copy */
	int *trouble;  /* file: gets the first error that the kernel gave, unless NULL */
	uint64_t base; /* memory: address of the first byte */
	uint64_t size; /* bytes there */
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
	bool image;	     /* laid out by vaddr, as the loader mapped it; else by file offset */
	uint64_t base_vaddr; /* vaddr of the ELF header: where an image begins */
	uint64_t phoff, shoff;
	unsigned phnum;
	uint64_t shnum;
	uint64_t names_off, names_size; /* section names, in the source */
	unsigned nloads, ncode;
	struct cp_elf_load loads[CP_ELF_LOADS];
	/* Executable sections, or executable segments where there are no sections: what a
	 * symbol without a size can't reach over. */
	struct cp_elf_range code[CP_ELF_CODE];
	uint32_t head_size; /* bytes of HEAD; 0 = it is read piece by piece */
	uint8_t head[CP_ELF_HEAD];
};

/* A symbol table, offsets in the source. */
struct cp_elf_symtab {
	uint64_t off, count;
	uint64_t names_off, names_size;
};

/* Walks over the section headers, in order; zeroed but for E. */
struct cp_elf_sections {
	const struct cp_elf *e;
	uint64_t next;
	unsigned have, at; /* headers in CHUNK, and those of them handed out */
	Elf64_Shdr chunk[16];
};

/* Open PATH, a regular file. 0, -ENOEXEC (not a 64-bit ELF of this byte order), or the error of
 * open, -EINVAL for what is no regular file, -EIO. Close it with cp_elf_close. */
int cp_elf_open(struct cp_elf *e, const char *path);
/* The same. Until E is closed, *TROUBLE, which was 0, gets the first error that kept from it what a
 * file at PATH holds; no file there, or one of another kind, is none. */
int cp_elf_open_watched(struct cp_elf *e, const char *path, int *trouble);
/* The image of SIZE bytes at ADDRESS as the loader mapped it. 0, -ENOEXEC, -EFAULT, or what the
 * kernel says to reading one's own memory (-EPERM). Nothing to close. */
int cp_elf_open_image(struct cp_elf *e, uint64_t address, uint64_t size, bool direct);
/* A file's bytes in memory that stays, as tests and fuzzers have them. 0 or -ENOEXEC. */
int cp_elf_open_bytes(struct cp_elf *e, const void *bytes, size_t size);
void cp_elf_close(struct cp_elf *e);

/* N bytes at OFF of the source: 0, or a negative errno (-EIO outside of it). */
int cp_elf_read(const struct cp_elf *e, uint64_t off, void *to, size_t n);
/* As much as fits of the NUL-ended string at OFF, which ends before END at the latest: its length,
 * cut to ROOM - 1, always NUL-ended; negative errno. */
long cp_elf_read_string(const struct cp_elf *e, uint64_t off, uint64_t end, char *to, size_t room);

/* Where in the source the N bytes at VADDR are. 0, or -ENOENT outside of what the file holds. */
int cp_elf_locate(const struct cp_elf *e, uint64_t vaddr, uint64_t n, uint64_t *off);
/* Between file offsets and vaddrs, by the PT_LOADs. 0 or -ENOENT. */
int cp_elf_vaddr_of(const struct cp_elf *e, uint64_t file_offset, uint64_t *vaddr);
int cp_elf_offset_of(const struct cp_elf *e, uint64_t vaddr, uint64_t *file_offset);
/* The executable range holding VADDR, or NULL. */
const struct cp_elf_range *cp_elf_code_at(const struct cp_elf *e, uint64_t vaddr);

/* Program header INDEX: 0, -ENOENT behind the last, or the error of reading. */
int cp_elf_segment(const struct cp_elf *e, unsigned index, Elf64_Phdr *p);
/* The next section header whose bytes lie in the source (NOBITS: any). False at the end. */
bool cp_elf_next_section(struct cp_elf_sections *s, Elf64_Shdr *h);
/* Is NAME (under 32 bytes) the section's name? */
bool cp_elf_section_is(const struct cp_elf *e, const Elf64_Shdr *h, const char *name);
/* The first section of TYPE, and with NAME unless NULL. 0 or -ENOENT. */
int cp_elf_find_section(const struct cp_elf *e, uint32_t type, const char *name, Elf64_Shdr *h);
/* The symbol table of section TYPE (SHT_SYMTAB, SHT_DYNSYM). 0 or -ENOENT. */
int cp_elf_find_symtab(const struct cp_elf *e, uint32_t type, struct cp_elf_symtab *t);

#endif
