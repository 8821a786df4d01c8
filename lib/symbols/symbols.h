/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/symbols/, by the file that implements them. */
#ifndef CP_SYMBOLS_SYMBOLS_H
#define CP_SYMBOLS_SYMBOLS_H

#include <elf.h>
#include <link.h>

#include "base/own_code.h"
#include "base/base.h"

/* buildid.c
 *
 * Build ids, read from an ELF file's notes (NT_GNU_BUILD_ID): two ELF files with the same build id
 * are the same.
 *
 * The module list reads the id when it first sees a module, and symbols.c at a dump. Raw system
 * calls only. All input is hostile: see elf.c.
 */

struct cp_elf;

/* These functions return the build id's size and put the id into ID; or -ENOENT (no build id),
 * -ERANGE (longer than ROOM), -ENOEXEC (not an ELF file that elf.c reads), or the error of opening
 * or reading. */
int cp_buildid_of_file(const char *path, uint8_t *id, size_t room);
/* Reads the image of SIZE bytes at IMAGE, which begins with the ELF header, as the loader mapped
 * it. -EFAULT: not all of its notes are mapped, so that the file may have an id. */
int cp_buildid_of_image(uint64_t image, uint64_t size, uint8_t *id, size_t room);
/* Reads the running kernel's build id from /sys/kernel/notes. */
int cp_buildid_of_kernel(uint8_t *id, size_t room);
int cp_buildid_of_elf(const struct cp_elf *e, uint8_t *id, size_t room);

/* elf.c
 *
 * A reader of 64-bit ELF that trusts nothing it reads.
 *
 * For symbols, debug files and build ids, at a dump: raw system calls, no memory of its own. A
 * source is a file or an image in this process's memory. Files are read with pread, because a
 * mapping of a file that shrinks would SIGBUS the program. Images are copied fault-safely.
 * Invariant: every offset, count and size of the file is checked against the source before use, and
 * every loop over it is bounded by the source's size.
 */

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

/* datasym.c
 *
 * Names variables by address, from .symtab and .dynsym; used to name locks.
 *
 * lock_names.c calls this at a dump, under the collector's lock; see elf.c for the context. Each
 * table is read in one streaming pass, so memory does not grow with the table.
 */

struct cp_datasym_query {
	uint64_t vaddr; /* first field: the sort key */
	/* out: */
	uint64_t start; /* vaddr of the variable that contains VADDR */
	uint64_t size;
	const char *name; /* raw, in the arena; NULL = no variable contains VADDR */
	uint64_t user;	  /* for the caller's use */
};

/* Name the queries (of N) that lie in a variable, and sort all queries. Returns 0, -ENOMEM, or the
 * error of reading. */
int cp_datasym_find(const struct cp_elf *e, struct cp_datasym_query *q, size_t n,
		    struct cp_arena *names);

/* debugfile.c
 *
 * Finds a module's separate debug file as debuggers do: by build id, then by debuglink.
 *
 * For symbols.c; see there for the context. Nothing is downloaded. A file is used only if it
 * provably belongs to the module (equal build id, or the debuglink's CRC) and has a .symtab.
 */

struct cp_elf;

struct cp_debugfile_query {
	const char *path; /* absolute path of the module */
	const struct cp_elf
		*module; /* file of the module; NULL = the file is gone, so debuglink isn't tried */
	const uint8_t *build_id;
	size_t build_id_size; /* 0 = no build id */
	const char *root;     /* NULL = /usr/lib/debug */
	int *trouble;	      /* goes to cp_elf_open_watched; may be NULL */
};

/* Open the debug file. Returns 0 (close with cp_elf_close) or -ENOENT. */
int cp_debugfile_open(struct cp_elf *e, const struct cp_debugfile_query *q);

/* dynsym.c
 *
 * Finds the dynamic symbol table as the loader does: from PT_DYNAMIC, without section headers. For
 * images in memory and for files whose sections were stripped. See elf.c for the context and the
 * invariant.
 */

/* Returns 0, -ENOENT if there is no usable table, or the error of reading. */
int cp_dynsym_find(const struct cp_elf *e, struct cp_elf_symtab *t);

/* ehfunc.c
 *
 * Finds where functions begin and end, from the unwind table. The table survives `strip`, and most
 * distributions' libraries have it for every function.
 *
 * symbols.c uses this after the symbol tables; see elf.c for the context and the invariant. All
 * addresses of a nameless function then share one frame; without this, each would be its own frame.
 * So do those between two functions of the table, such as assembly that has no FDEs.
 * symtab.c asks how far a symbol without a size may reach.
 */

struct cp_ehfunc_entry {
	int32_t function, fde; /* relative to the header */
};

/* A module's .eh_frame_hdr: a table of (function, FDE) sorted by function. */
struct cp_ehfunc {
	const struct cp_elf *e;
	uint64_t header; /* vaddr that the table's entries are relative to */
	uint64_t table;	 /* position of the table in the source */
	uint32_t count;
	uint64_t start, size; /* where the function that was found last lies */
	uint32_t hint;	      /* the last answer: callers ask for addresses in rising order */
	uint32_t block_start, block_count; /* entries in BLOCK */
	/* Two pages: a system call for one entry takes as long as for a few hundred, and the caller
	 * asks for all of a library's nameless functions, one after the other. */
	struct cp_ehfunc_entry block[1024];
};

/* Returns 0, or -ENOENT if there is no table, or its form isn't the one that linkers write (sorted
 * pairs of 32-bit offsets). */
int cp_ehfunc_open(struct cp_ehfunc *t, const struct cp_elf *e);
/* Set *START to the vaddr at which the function that contains VADDR begins. Returns 0, -ENOENT if
 * no FDE covers VADDR, or the error of reading. */
int cp_ehfunc_start(struct cp_ehfunc *t, uint64_t vaddr, uint64_t *start);
/* Returns the end of the last function before VADDR, which no FDE covers; 0 if there is none. */
uint64_t cp_ehfunc_gap(struct cp_ehfunc *t, uint64_t vaddr);

enum cp_ehfunc_reach {
	CP_EHFUNC_SAME,	 /* one FDE covers both addresses */
	CP_EHFUNC_OTHER, /* another function begins between them */
	CP_EHFUNC_NO_FDE /* no FDE covers the second one, and no function begins between them */
};
/* Returns what the table has about the code from FROM, where a symbol is, to VADDR. */
enum cp_ehfunc_reach cp_ehfunc_reach(struct cp_ehfunc *t, uint64_t from, uint64_t vaddr);

/* symbols.c
 *
 * Names for addresses, from ELF symbol tables: .symtab, .dynsym and separate debug files (build id,
 * debuglink).
 *
 * Called at a dump, one thread at a time, possibly while another thread of the program holds
 * malloc's or the loader's lock: raw system calls and own pages only. Files are read with pread,
 * not mapped, because a truncated mapping would SIGBUS the program. One streaming pass per module
 * bounds memory by the number of addresses asked for, not by the size of the symbol table.
 */

#define CP_BUILD_ID_MAX 64

struct cp_symbol_module {
	const char *path; /* the path in /proc/PID/maps, without " (deleted)" */
	bool replaced;	  /* deleted: a file at PATH is used only if it has the same build id */
	const char *also; /* leads to the same file by another path; may be NULL */
	const uint8_t *build_id; /* build id of the mapped image; NULL = none */
	size_t build_id_size;
	/* Address of the ELF image in this process, from its first byte, or 0. Used for the vdso,
	 * and for a module whose file is gone or has another build id. */
	uint64_t image;
	uint64_t image_size;
};

struct cp_elf;
/* Open the module's file if it is still the one that was mapped, otherwise its image. Returns 0 or
 * -ENOENT. Close with cp_elf_close. TROUBLE as for cp_elf_open_watched, or NULL. */
int cp_symbols_open(struct cp_elf *e, const struct cp_symbol_module *m, int *trouble);

struct cp_symbol_query {
	uint64_t offset; /* file offset of the instruction in the module */
	/* out: */
	const char *name; /* raw (mangled), in the arena; NULL = no symbol covers it */
	/* File offset where the function starts, set even if it has no name; or 0. Code that no FDE
	 * covers has the offset after its first byte, because a symbol may be there. */
	uint64_t start;
	/* Without a name: the place where the function or the code without FDEs starts, or else of
	 * the instruction, as the file has it (what objdump and addr2line take); the offset if the
	 * file could not be read. */
	uint64_t address;
};

/* Fill NAME and START of the N queries (any order; sorted in place by offset). Returns 0 even if
 * some or all stay unnamed; -ENOENT if there is no symbol table; -ENOMEM; or another error if some
 * stay unnamed and a file that may have their names could not be read. A file whose build id
 * differs from the module's is not used. */
int cp_symbols_find(const struct cp_symbol_module *m, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names);

/* kallsyms.c
 *
 * Names for kernel addresses, from /proc/kallsyms.
 *
 * Called at a dump, like symbols.c: raw system calls, own pages. The file (some 10 MiB of text) is
 * read once for all addresses together. Where the kernel hides its addresses (kptr_restrict), the
 * file has zeros, and no name is found.
 */

/* Fill NAME and START of the N queries, whose OFFSET is an address. Sorts the queries in place.
 * Returns 0, -ENOMEM, or the error of reading the file. */
int cp_kallsyms_find(struct cp_symbol_query *q, size_t n, struct cp_arena *names);
/* The same, from an open file. */
int cp_kallsyms_read(int fd, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

/* loader_maps.c
 *
 * The loader's modules in place of /proc/self/maps, where /proc is not mounted.
 *
 * The loader's list can't be read when a profile is written, because a thread that holds the
 * loader's lock may be waiting for libcprof. So the list is taken once, when the session starts.
 */

/* A segment of a module. */
struct cp_loader_map {
	uint64_t start, limit, offset, device, inode;
	bool executable;
	const char *path;
};

/* Forget the list. No reader may be left. */
void cp_loader_maps_clear(void);
/* Add a module to the list: for dl_iterate_phdr. Ordinary context. */
int cp_loader_maps_add(struct dl_phdr_info *info, size_t size, void *unused);
/* Return the segment number I, in the order of addresses; NULL after the last one. Any context. */
const struct cp_loader_map *cp_loader_maps_at(size_t i);

/* maps_lines.c
 *
 * The lines of /proc/self/maps, one after the other; where /proc is not mounted, the modules that
 * the loader had when the session started (loader_maps.c). Takes no lock.
 */

/* The longest line: a path of PATH_MAX and the columns before it. */
#define CP_MAPS_LINES_MOST 4608

/* A mapping, or a part of one. */
struct cp_maps_line {
	uint64_t start, limit, offset, device, inode;
	bool executable;
	bool deleted;	  /* set only for code: its file is gone */
	const char *path; /* set only for code; without " (deleted)" */
	size_t path_size; /* bytes of PATH; 0 = no file */
};

/* Calls TAKE with each line, whose path is valid during the call. BUFFER has SIZE bytes, more than
 * CP_MAPS_LINES_MOST. Returns 0 or a negative errno; then some lines may have been taken. */
int cp_maps_lines_read(char *buffer, size_t size, void (*take)(struct cp_maps_line *l, void *arg),
		       void *arg);

/* modules.c
 *
 * Finds the executable mapping that an address belongs to, even after the mapping went away.
 *
 * Reads /proc/self/maps, not the loader's list, so it doesn't take the loader's lock: a thread that
 * holds that lock may be waiting for libcprof. The drain and the dump use this, one thread at a
 * time (the collector's lock). A mapping that vanished keeps its number.
 */

#define CP_NO_MAPPING UINT32_MAX

struct cp_mapping {
	uint64_t start, limit, offset; /* [start, limit); file offset of start */
	uint64_t device, inode;
	uint64_t image;	      /* where the module's first byte is mapped; 0 = unknown */
	uint64_t image_limit; /* end of the memory that is mapped from its file */
	uint64_t seen;	      /* number of the newest reading that contained it */
	const char *path;     /* without " (deleted)"; "//anon" if there is no file */
	uint8_t build_id[CP_BUILD_ID_MAX];
	uint8_t build_id_size;
	bool identified; /* the build id has been looked for */
	bool live;	 /* the newest reading contained it */
	bool ours;	 /* the mapping is libcprof's code */
	bool main;	 /* the program's executable */
	bool anonymous;	 /* no file: JIT code, "//anon", "[vdso]" */
	bool vdso;
	bool kernel;   /* the kernel's code, all of it: "[kernel.kallsyms]" */
	bool deleted;  /* another file is at PATH now, or none */
	bool self_exe; /* /proc/self/exe is its file, deleted or not */
};

/* Is ADDRESS, which lies in the mapping M, in libcprof's code? */
static inline bool cp_mapping_is_own_code(const struct cp_mapping *m, uint64_t address)
{
	return m->ours || cp_own_code_has(address);
}

struct cp_modules {
	struct cp_arena names;
	struct cp_vec mappings;	 /* struct cp_mapping, never removed */
	struct cp_vec live;	 /* uint32_t: numbers of the live mappings, sorted by start */
	struct cp_vec next_live; /* the same for the reading in progress */
	char *buffer;		 /* buffer for readings */
	uint64_t readings;
	bool stale;	  /* cp_modules_want reads the list again */
	uint64_t loads;	  /* the loader's count of loads when this list had all loaded modules; 0 =
			     never */
	int error;	  /* errno of the newest reading, or 0 */
	bool uring;	  /* a reading has shown a ring of io_uring */
	uint64_t context; /* where an OpenTelemetry SDK publishes its resource; 0 = nowhere:
			     output/output.h */
};

void cp_modules_init(struct cp_modules *m);
/* Read the list anew. Returns 0, or a negative errno; then the old list stays. */
int cp_modules_refresh(struct cp_modules *m);
/* Read the list anew if STALE is set, at most once after each time that it was set: new rows need
 * the modules, and most drains make no new row. */
void cp_modules_want(struct cp_modules *m);
/* Returns the number of the mapping that contains PC: a live mapping, else the mapping that
 * contained PC and went away last. */
uint32_t cp_modules_find(const struct cp_modules *m, uint64_t pc);
struct cp_mapping *cp_modules_at(const struct cp_modules *m, uint32_t number);
/* Returns the number of the mapping that represents the kernel's code, or CP_NO_MAPPING if there is
 * no memory. */
uint32_t cp_modules_kernel(struct cp_modules *m);
/* Is PC, which no mapping contains, a kernel address? */
bool cp_modules_is_kernel(uint64_t pc);
/* Read the mapping's build id. Call while the module is still mapped. */
void cp_modules_identify(struct cp_mapping *mapping);
void cp_modules_release(struct cp_modules *m);

/* namecache.c
 *
 * A store of names that were found: half a megabyte of memory that forked processes share. So the
 * symbols of a place are looked up once for all modes of a process, and once for all processes of
 * a tree of forks. When the store is full, no more names are kept.
 *
 * Called at a dump, like symbols.c, except cp_namecache_begin. Names of code that a JIT compiled
 * aren't kept, because a JIT uses memory again.
 */

/* Make the store if there is none. Call before a fork, so that the child shares it. */
void cp_namecache_begin(void);
/* Returns the number under which names of the module are kept; 0: they aren't. */
uint64_t cp_namecache_module(const struct cp_mapping *m);
/* Answer those of the N queries that the store knows, with names in NAMES. Returns how many are
 * left; these are the first ones of Q then. */
size_t cp_namecache_answer(uint64_t module, struct cp_symbol_query *q, size_t n,
			   struct cp_arena *names);
/* Keep the answers of the N queries; if NAMED, only answers that have a name. */
void cp_namecache_keep(uint64_t module, const struct cp_symbol_query *q, size_t n, bool named);

/* perfmap.c
 *
 * Names of code that a JIT compiled, from /tmp/perf-PID.map: lines "START SIZE name", as node
 * --perf-basic-prof, .NET, Julia, LuaJIT and others write them for perf.
 *
 * Called at a dump; see symbols.c for the context.
 */

/* Fill NAME and START of the N queries (any order; sorted in place) whose address, BASE + offset,
 * is in the map of this process. A later line wins, because JITs reuse memory. Returns 0, -ENOMEM,
 * or why there is no map: -ENOENT, or -EPERM (another user owns the file, or it is not a regular
 * file). */
int cp_perfmap_find(uint64_t base, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

/* The same on an open file; for tests. */
int cp_perfmap_read(int fd, uint64_t base, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names);

/* Reads a text file line by line, with raw system calls and a buffer in own pages: /proc/kallsyms,
 * /tmp/perf-PID.map. Runs on the thread of the drain or dump. */

/* Called with a line without its newline, LENGTH bytes before its NUL. Returns false if no more
 * lines are wanted. */
typedef bool cp_line_taker(void *to, const char *line, size_t length);

/* Give TAKE the lines from FD's current position on. A trailing fragment without a newline is not a
 * line. A line of 64 KiB or more is skipped in pieces; its last piece is returned as a line.
 * Returns 0, -ENOMEM, or the error of reading the file. */
int cp_perfmap_lines(int fd, cp_line_taker *take, void *to);

/* symtab.c
 *
 * One streaming pass over a symbol table: finds the best symbol for each of many addresses.
 *
 * symbols.c decides which tables to read in which order; see there for the context. Invariant:
 * targets are sorted by vaddr, and memory does not grow with the table.
 */

/* A symbol that may name an address. */
struct cp_symtab_entry {
	uint64_t value, size;
	uint32_t name; /* offset in the table's names */
	uint8_t rank;  /* by kind and binding, 0 = no symbol; higher is better */
};

struct cp_ehfunc;

struct cp_symtab_target {
	uint64_t vaddr;
	struct cp_symbol_query *query;
	/* State of one pass: the best symbol whose size covers VADDR, and the last symbol that
	 * starts between the previous target and this one. */
	struct cp_symtab_entry cover, below;
};

/* Name those of the N targets that the table covers, and set NAME and START (a vaddr) of their
 * queries. FDES: the module's unwind table, or NULL. Returns 0, -ENOMEM, or the error of reading.
 */
int cp_symtab_pass(const struct cp_elf *e, const struct cp_elf_symtab *t, struct cp_ehfunc *fdes,
		   struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

/* Number of bytes after CODE's N that EXTENT may read. */
#define CP_SYMTAB_EXTENT_MORE 24
/* EXTENT returns how many of the N bytes at CODE, where a function begins, are surely the
 * function's. Call before the first cp_symtab_pass. */
void cp_symtab_set_extent(uint64_t (*extent)(const uint8_t *code, uint64_t n));

/* plt.c
 *
 * Names for addresses in PLT stubs, which have no symbols: "memcpy@plt".
 *
 * symbols.c uses this after the symbol tables; see there for the context. A stub jumps through a
 * slot of the GOT, and the relocation of that slot names the function. In a static program it names
 * the address of a resolver, which has a symbol. Works for the PLTs of every linker.
 */

/* Name as many of the N targets as possible, as cp_symtab_pass does. DYNSYM is the module's.
 * Returns 0 or -ENOMEM. */
int cp_plt_name(const struct cp_elf *e, const struct cp_elf_symtab *dynsym,
		struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

#endif
