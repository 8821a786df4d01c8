/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/dwarf/, by the file that implements them. */
#ifndef CP_DWARF_DWARF_H
#define CP_DWARF_DWARF_H

#include <gelf.h>
#include <libelf.h>

#include "dwarf/dwarf_data.h"

/* dwarf.c
 *
 * Finds the functions, files, lines and inlined calls at addresses of a module, from its DWARF.
 *
 * For verb_symbolize.c; ordinary context, one thread. Many addresses are looked up at once: they
 * are sorted by unit, only units that hold one are read, and each unit is read once, front to back.
 */

struct ct_dwarf;

/* One line of a location. Its texts are valid until ct_dwarf_close. */
struct ct_dwarf_frame {
	/* The linkage name if there is one; otherwise the name in the source, in C++ with its
	 * scopes as the demangler would write it. Or NULL. */
	const char *name;
	const char *file; /* absolute if the DWARF allows it; or NULL */
	unsigned line, column;
	unsigned start_line; /* line where the function starts, in FILE; 0 = unknown, or in another
				file */
	unsigned declared;   /* line where the function starts, in whatever file; 0 = unknown */
	unsigned discriminator; /* tells parts of a line apart; 0 = the first, or unknown */
};

struct ct_dwarf_query {
	uint64_t address; /* address of the instruction, as linked (p_vaddr) */
	void *tag;	  /* used by the caller */
	/* out: innermost first, the physical function last; NULL and 0 = nothing was found */
	struct ct_dwarf_frame *frames;
	unsigned count;
};

/* Opens the ELF file FD, which the caller still has to close. PATH is the path of the file, or of
 * the module that it belongs to; split units and their package are looked for beside it. ROOTS are
 * directories like /usr/lib/debug, ended by NULL, where a supplementary file (dwz) may be. Returns
 * 0; -ENOENT if the file has no DWARF; -EOPNOTSUPP if it is compressed and can't be unpacked;
 * -EINVAL if it is not an ELF file that this reader supports. */
int ct_dwarf_open(struct ct_dwarf **d, int fd, const char *path, const char *const *roots);
void ct_dwarf_close(struct ct_dwarf *d);

/* Answers the N queries, in any order; afterwards they are sorted by address. Malformed data gives
 * fewer results, never an error. */
void ct_dwarf_find(struct ct_dwarf *d, struct ct_dwarf_query *q, size_t n);

/* A place in a variable that outlives functions. */
struct ct_dwarf_member {
	const char *variable; /* as the demangler writes it */
	uint64_t offset;
	/* out, freed by the caller: ".cv"; NULL or "": unknown, or several variables of this name
	 * have different members there */
	char *member;
};

/* Finds the members at N places. Of a file with a lot of debug information, and of split units,
 * none are found: to look through these would take too long. */
void ct_dwarf_members(struct ct_dwarf *d, struct ct_dwarf_member *m, size_t n);

/* dwarf_abbrev.c
 *
 * Abbreviation tables. Each abbreviation has a plan that steps over an entry without decoding it.
 */

struct ct_dw_spec {
	uint16_t at, form;
	int64_t implicit; /* value of DW_FORM_implicit_const */
};

/* The action of a unit's walk at an entry. */
enum ct_dw_kind { CT_DW_OTHER, CT_DW_FUNCTION, CT_DW_INLINED };

struct ct_dw_abbrev {
	uint64_t code;
	uint16_t tag;
	bool children;
	uint8_t kind;	 /* enum ct_dw_kind; CT_DW_OTHER also for entries without addresses */
	int32_t fixed;	 /* size in bytes of every such entry, or -1: then the plan has steps */
	int32_t sibling; /* place in the entry of DW_AT_sibling, 4 bytes, if the entry's children
			    needn't be walked for code; else -1 */
	uint32_t specs, spec_count;
	uint32_t steps, step_count;
};

struct ct_dw_abbrevs {
	uint64_t offset;
	uint16_t version;
	uint8_t address_size, offset_size;
	struct ct_dw_abbrev *list; /* sorted by code */
	size_t count;
	struct ct_dw_spec *specs;
	int32_t *steps;
	size_t spec_count, step_count, list_room, spec_room, step_room;
};

/* Returns the table of U from its file's cache; it is valid until the table of another unit is
 * requested. NULL: the table is malformed, or there is no memory. */
const struct ct_dw_abbrevs *ct_dwarf_abbrev_of(const struct ct_dw_unit *u);
const struct ct_dw_abbrev *ct_dwarf_abbrev_find(const struct ct_dw_abbrevs *a, uint64_t code);
/* C is after the entry's code. Moves C past the entry's values. */
void ct_dwarf_abbrev_step(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a,
			  struct ct_dw_cursor *c);
void ct_dwarf_abbrev_free(struct ct_dw_abbrevs *a);

/* dwarf_closures.c
 *
 * Rust's mangled names call each closure of a function {{closure}}; the entries have its number.
 */

struct ct_dw_function;
struct ct_dw_texts;

/* Returns F's linkage name in TEXTS, with {closure#N} in place of {{closure}} if F is a closure. */
const char *ct_dwarf_closures_name(const struct ct_dw_function *f, struct ct_dw_texts *texts);

/* dwarf_code.c
 *
 * The code of a module, its functions and what calls lead to, with or without symbols.
 */

struct ct_dwarf_module;
struct ct_dwarf_symbol_query;

struct ct_dwarf_code {
	Elf *elf;
	const struct ct_dwarf_module *module;
	const uint8_t *bytes; /* of the file */
	size_t size;
	uint16_t machine;     /* EM_X86_64 ... */
	uint64_t frame_table; /* address of .eh_frame_hdr, 0: there is none */
};

/* Opens the code of M, which has an IMAGE. Returns false if that isn't a readable 64-bit file. */
bool ct_dwarf_code_open(struct ct_dwarf_code *c, const struct ct_dwarf_module *m);
void ct_dwarf_code_close(struct ct_dwarf_code *c);
/* Returns the bytes at ADDRESS, *N up to the end of their segment; NULL: the file has none. */
const uint8_t *ct_dwarf_code_at(const struct ct_dwarf_code *c, uint64_t address, size_t *n);
/* Sets the begin and the end of the function that contains ADDRESS: by its symbol, else by the
 * table for unwinding. Returns false if neither has it. */
bool ct_dwarf_code_function(const struct ct_dwarf_code *c, uint64_t address, uint64_t *begin,
			    uint64_t *end);
/* Names the N queries, sorted by address: functions from symbols, and the stubs of functions of
 * other modules, as "malloc@plt". */
void ct_dwarf_code_names(const struct ct_dwarf_code *c, struct ct_dwarf_symbol_query *q, size_t n);
/* Returns the name of the function or variable whose address the loader stores at SLOT, or NULL. */
const char *ct_dwarf_code_import(const struct ct_dwarf_code *c, uint64_t slot);

/* dwarf_elf.c
 *
 * ELF files of modules and of debug information: their build ids, debuglinks and contents. For
 * dwarf_module.c. */

#define CT_DWARF_ID_MAX 64

/* A build id. */
struct ct_dwarf_id {
	uint8_t bytes[CT_DWARF_ID_MAX];
	size_t size; /* 0 = no build id */
};

struct ct_dwarf_id ct_dwarf_elf_id(const char *hex);
/* As elf_begin, to read. Of a file that isn't in memory, only the pages that are read are fetched:
 * the kernel would fetch up to megabytes around each. */
Elf *ct_dwarf_elf_begin(int fd);
/* Fetches the N BYTES of such a file at once, without waiting. */
void ct_dwarf_elf_will_read(const void *bytes, size_t n);
/* Opens an ELF file. Returns its descriptor, or -1 if it isn't one. The caller calls elf_end on
 * *ELF. */
int ct_dwarf_elf_open(const char *path, Elf **elf);
bool ct_dwarf_elf_has_id(Elf *elf, const struct ct_dwarf_id *id);
/* Returns the bytes of the first non-empty section called NAME, as they are in the file; NULL:
 * there is none. */
const Elf_Data *ct_dwarf_elf_section(Elf *elf, const char *name);
/* Returns the name in section .gnu_debuglink, and the checksum after it. NULL: there is no such
 * section. */
const char *ct_dwarf_elf_link(Elf *elf, uint32_t *crc);
bool ct_dwarf_elf_has_dwarf(Elf *elf);
/* Returns false if the file has only debug information, without code. */
bool ct_dwarf_elf_has_code(Elf *elf);

/* dwarf_form.c
 *
 * Values of attributes.
 */

struct ct_dw_value {
	uint16_t form; /* 0 = absent */
	uint64_t u;
	const char *text; /* the text of DW_FORM_string */
};

/* Steps over a value that has no fixed size; see ct_dwarf_form_size. */
enum {
	CT_DW_LEB = -1,
	CT_DW_TEXT = -2,
	CT_DW_BLOCK = -3,
	CT_DW_BLOCK1 = -4,
	CT_DW_BLOCK2 = -5,
	CT_DW_BLOCK4 = -6,
	CT_DW_INDIRECT = -7,
	CT_DW_UNKNOWN = -8
};

/* Returns the size in bytes of a value of FORM, or one of the constants above. */
int ct_dwarf_form_size(uint16_t form, uint16_t version, uint8_t address_size, uint8_t offset_size);
/* Reads the value at C and moves C past it. An unknown form marks C as bad. */
struct ct_dw_value ct_dwarf_form_read(const struct ct_dw_unit *u, struct ct_dw_cursor *c,
				      uint16_t form, int64_t implicit);

/* Return the value's meaning in U, or NULL or false if the value is not of that class. */
const char *ct_dwarf_form_text(const struct ct_dw_unit *u, const struct ct_dw_value *v);
bool ct_dwarf_form_address(const struct ct_dw_unit *u, const struct ct_dw_value *v, uint64_t *to);
/* Gets the entry that V refers to, as an offset in FILE's .debug_info. Returns false if V refers to
 * none. */
bool ct_dwarf_form_entry(const struct ct_dw_unit *u, const struct ct_dw_value *v,
			 struct ct_dw_file **file, uint64_t *offset);
/* Gets address INDEX of U's part of .debug_addr. Returns false if there is no such address. */
bool ct_dwarf_form_indexed_address(const struct ct_dw_unit *u, uint64_t index, uint64_t *to);

/* dwarf_unit.c
 *
 * The units of a file.
 */

/* One entry (DIE): the attributes that the reader knows, and the addresses that the entry covers.
 */

enum ct_dw_at {
	CT_DW_NAME,
	CT_DW_LINKAGE_NAME,
	CT_DW_LOW_PC,
	CT_DW_HIGH_PC,
	CT_DW_AT_RANGES,
	CT_DW_ORIGIN,
	CT_DW_SPECIFICATION,
	CT_DW_DECL_FILE,
	CT_DW_DECL_LINE,
	CT_DW_CALL_FILE,
	CT_DW_CALL_LINE,
	CT_DW_CALL_COLUMN,
	CT_DW_CALL_DISCRIMINATOR,
	CT_DW_DECL_COLUMN,
	CT_DW_TYPE,
	CT_DW_MEMBER_LOCATION,
	CT_DW_ARTIFICIAL,
	CT_DW_EXTERNAL,
	CT_DW_SIBLING,
	/* only for a unit's root entry: */
	CT_DW_COMP_DIR,
	CT_DW_STMT_LIST,
	CT_DW_DWO_NAME,
	CT_DW_DWO_ID,
	CT_DW_STR_OFFSETS_BASE,
	CT_DW_ADDR_BASE,
	CT_DW_RNGLISTS_BASE,
	CT_DW_RANGES_BASE,
	CT_DW_LANGUAGE,
	CT_DW_ATS
};

struct ct_dw_entry {
	struct ct_dw_value at[CT_DW_ATS]; /* form 0 = absent */
};

/* C is after the entry's code. Moves C past the entry's values. */
void ct_dwarf_unit_entry(const struct ct_dw_unit *u, const struct ct_dw_abbrevs *t,
			 const struct ct_dw_abbrev *a, struct ct_dw_cursor *c,
			 struct ct_dw_entry *e);

/* Iterates over the ranges that an entry covers. */
struct ct_dw_ranges {
	const struct ct_dw_unit *unit;
	struct ct_dw_cursor list;
	enum { CT_DW_NO_RANGE, CT_DW_ONE_RANGE, CT_DW_LIST_2, CT_DW_LIST_5 } kind;
	uint64_t base, low, high;
};

void ct_dwarf_ranges_begin(struct ct_dw_ranges *r, const struct ct_dw_unit *u,
			   const struct ct_dw_entry *e);
/* Moves to the next range that isn't empty and whose code was not dropped. Returns false after the
 * last. */
bool ct_dwarf_ranges_next(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high);

/* Reads the headers of all units, once. A malformed tail is left out. */
void ct_dwarf_unit_read(struct ct_dw_file *f);
/* Reads U's root entry into U, once. This is done only when the unit is needed, because each root
 * has a table of abbreviations of its own, and most units are never needed. */
void ct_dwarf_unit_begin(struct ct_dw_unit *u);
/* Returns the unit that holds OFFSET of .debug_info, with its root entry read, or NULL. */
struct ct_dw_unit *ct_dwarf_unit_at(struct ct_dw_file *f, uint64_t offset);
/* Reads the header at OFFSET and the root entry of that unit into U, without reading other units.
 * Returns false if there is no unit. */
bool ct_dwarf_unit_read_one(struct ct_dw_file *f, uint64_t offset, struct ct_dw_unit *u);
/* Reads the root entry again. */
bool ct_dwarf_unit_root(const struct ct_dw_unit *u, struct ct_dw_entry *e);

/* dwarf_file.c
 *
 * ELF files with DWARF: their sections, their supplementary files, and split units.
 */

/* Finds the sections of the ELF file FD, and decompresses them if necessary. SPLIT: finds those
 * named .dwo. F must be zeroed. Returns 0, -ENOENT (no .debug_info), -EOPNOTSUPP (it can't be
 * unpacked), -EINVAL (not an ELF file that this reader supports) or -ENOMEM. The caller still has
 * to close FD. */
int ct_dwarf_file_load(struct ct_dw_file *f, int fd, bool split);
/* The same, with a descriptor that F owns. */
int ct_dwarf_file_open(struct ct_dw_file *f, const char *path, bool split);
/* Also releases F->alt. */
void ct_dwarf_file_close(struct ct_dw_file *f);

/* Returns whether sections with this name are read. */
bool ct_dwarf_file_reads(const char *name);

/* Opens the supplementary file (dwz) that F names, beside PATH or below one of ROOTS, into F->alt.
 * F->alt stays NULL if the file is missing or is not the right one. */
void ct_dwarf_file_supplement(struct ct_dw_file *f, const char *path, const char *const *roots);

/* Returns the split unit of SKELETON: from PACKAGE (.dwp; may be NULL), else from the unit's .dwo
 * file, which is looked for by name, in the directory of compilation and beside PATH. The caller
 * closes and frees the unit's file. Returns NULL if the unit was not found. */
struct ct_dw_unit *ct_dwarf_split_open(struct ct_dw_unit *skeleton,
				       const struct ct_dw_file *package, const char *path);

/* dwarf_texts.c
 *
 * Memory that is given back all at once, and texts that are kept once each.
 */

struct ct_dw_texts {
	struct ct_dw_piece *pieces;
	const char **table; /* texts by hash */
	size_t count, room;
};

/* Returns N zeroed bytes, aligned for any type; NULL without memory. */
void *ct_dwarf_texts_room(struct ct_dw_texts *t, size_t n);
/* Returns a copy of S, the same copy for equal texts; NULL without memory. */
const char *ct_dwarf_texts_keep(struct ct_dw_texts *t, const char *s, size_t n);
void ct_dwarf_texts_free(struct ct_dw_texts *t);

/* dwarf_line.c
 *
 * Line tables: the file and line of an address, and the files of a unit by number.
 */

struct ct_dw_row {
	uint64_t address; /* address that is asked for */
	bool found;
	unsigned file, line, column, discriminator;
};

struct ct_dw_line_file {
	const char *name;
	uint64_t directory;
	const char *path; /* path, made when it is first needed */
};

struct ct_dw_lines {
	const struct ct_dw_unit *unit;
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operands; /* number of operands of each standard opcode */
	const char **directories;
	size_t directory_count, directory_room;
	struct ct_dw_line_file *files;
	size_t file_count, file_room;
	struct ct_dw_cursor program;
};

/* Returns the table of U from its file's cache; it is valid until the table of another unit is
 * requested. NULL: there is none, or it is malformed. */
struct ct_dw_lines *ct_dwarf_line_of(const struct ct_dw_unit *u);
/* Runs the line program, and fills in the N rows, which are sorted by address. */
void ct_dwarf_rows_find(const struct ct_dw_lines *l, struct ct_dw_row *rows, size_t n);
/* Returns the path of file NUMBER, joined with its directory and the unit's; NULL if there is no
 * such file. */
const char *ct_dwarf_line_path(struct ct_dw_lines *l, uint64_t number, struct ct_dw_texts *texts);
void ct_dwarf_line_free(struct ct_dw_lines *l);

/* dwarf_module.c
 *
 * A module of a profile and its debug information, found as debuggers do.
 *
 * For verb_symbolize.c. A file is used only if it proves that it belongs to the module: by an equal
 * build id or, for a module without one, by the CRC of its debuglink. It is looked for at the
 * module's path, by build id and by debuglink as debuggers do, and in each of the user's
 * directories under the module's name and under its whole path.
 */

/* Where distributions put debug files. */
#define CT_DEBUG_ROOT "/usr/lib/debug"

struct ct_dwarf_segment {
	uint64_t offset, address, file_size, memory_size;
	bool code;
};

struct ct_profile;

struct ct_dwarf_module {
	int image;    /* the module itself; -1: it was not found, or is another build */
	int debug;    /* the file with DWARF; -1: none */
	bool packed;  /* set by the caller: DEBUG is compressed in a way that can't be unpacked */
	bool there;   /* the module's path names an ELF file, of this build or of another */
	char *denied; /* a file or directory that may not be read, or NULL */
	bool whole;   /* SEGMENTS come from the module itself, not from a debug file */
	struct ct_dwarf_segment *segments;
	size_t segment_count;
};

/* Finds a module's debug information. PATH is the path as mapped; BUILD_ID is in hex, "" if the
 * profile has none; ROOTS are directories like /usr/lib/debug, ended by NULL. Asks debuginfod
 * servers if DEBUGINFOD_URLS names some. Returns false if nothing was found; the module must be
 * closed even then, because THERE and DENIED are set. */
bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots);
void ct_dwarf_module_close(struct ct_dwarf_module *m);

/* Changes the addresses of P's locations and mappings to those that objdump and addr2line show.
 * Those of a module whose file is missing, or is another build, stay as the process had them. */
void ct_dwarf_module_file_addresses(struct ct_profile *p);

/* Finds the address, as linked, of the byte mapped at ADDRESS, in a mapping of [START, LIMIT) from
 * file offset OFFSET on. Returns false if that byte is in no segment. */
bool ct_dwarf_module_linked(const struct ct_dwarf_module *m, uint64_t address, uint64_t start,
			    uint64_t limit, uint64_t offset, uint64_t *to);

/* dwarf_walk.c
 *
 * Finds the function and the inlined calls that contain an address.
 */

struct ct_dw_scope {
	struct ct_dw_scope *caller; /* the scope that it is inlined into; NULL: it is not inlined */
	struct ct_dw_scope *outer;  /* the scope around it during the walk */
	unsigned depth;
	uint64_t entry; /* offset in .debug_info */
	uint64_t call_file, call_line, call_column, call_discriminator;
};

/* Walks the entries of U, once. ADDRESSES are sorted. SCOPES are NULL; SCOPES[i] becomes the
 * innermost scope of ADDRESSES[i]. Scopes live in MEMORY. */
void ct_dwarf_walk(const struct ct_dw_unit *u, const uint64_t *addresses,
		   struct ct_dw_scope **scopes, size_t n, struct ct_dw_texts *memory);

struct ct_dw_function {
	const char *name; /* points into the file's sections */
	bool is_linkage; /* NAME is the linker's; else the name in the source, without its scopes */
	const struct ct_dw_unit
		*unit; /* the unit of the entry that all others refer to, and that entry's offset */
	uint64_t entry;
	const struct ct_dw_unit *declared_in;
	/* of the declaration; FILE is a number of DECLARED_IN's table */
	uint64_t file, line, column;
};

/* Gets the name of the entry at OFFSET of U's file, found through the entries that it refers to.
 */
void ct_dwarf_walk_function_of(const struct ct_dw_unit *u, uint64_t offset,
			       struct ct_dw_function *to);

/* Reads the entry at OFFSET of U's file, with its DW_TAG. Returns false if it is malformed. */
bool ct_dwarf_walk_entry(const struct ct_dw_unit *u, uint64_t offset, struct ct_dw_entry *e,
			 uint16_t *tag);
/* Goes from the entry at OFFSET to its origin or declaration. Returns false if it refers to none.
 */
bool ct_dwarf_walk_origin(const struct ct_dw_unit **u, uint64_t *offset,
			  const struct ct_dw_entry *e);

/* dwarf_names.c
 *
 * Composes names of C++ functions that have no linkage name, because only their own file can call
 * them. */

/* Names that were composed, by their entries. */
struct ct_dw_names {
	struct ct_dw_name *table;
	size_t count, room;
};

/* Was U compiled from C++? */
bool ct_dwarf_names_are_cxx(const struct ct_dw_unit *u);

/* Returns F's name with its namespaces, classes and functions around it, as the demangler writes
 * names without parameters: "svc::(anonymous namespace)::box<int>::get",
 * "worker(int)::{lambda(int)#2}::operator()". The name is kept in TEXTS. Returns F's plain name if
 * memory runs out or the name is too long. */
const char *ct_dwarf_names_of(struct ct_dw_names *names, const struct ct_dw_function *f,
			      struct ct_dw_texts *texts);
void ct_dwarf_names_release(struct ct_dw_names *names);

/* Looks for the variables of U among the N places; see ct_dwarf_members. */
void ct_dwarf_names_members(const struct ct_dw_unit *u, struct ct_dwarf_member *m, size_t n,
			    struct ct_dw_texts *texts);

/* dwarf_parents.c
 *
 * The scopes that contain an entry of a unit: namespaces, classes, functions.
 */

/* An entry whose name is part of a qualified name. Lexical blocks and inlined calls have no such
 * part. */
struct ct_dw_parent {
	uint64_t entry,
		end; /* offsets in .debug_info: of the entry, and of the end of its last child */
	uint32_t parent; /* index, or CT_DW_NO_PARENT */
	uint32_t depth;
	uint16_t tag;
};

#define CT_DW_NO_PARENT UINT32_MAX

struct ct_dw_parents {
	struct ct_dw_parent *list; /* sorted by entry */
	size_t count, room;
};

/* Returns the table of U, made at the first call, or NULL without memory. U's file owns the table.
 */
const struct ct_dw_parents *ct_dwarf_parents_of(const struct ct_dw_unit *u);
/* Returns the innermost entry of T that contains the entry at OFFSET, or CT_DW_NO_PARENT. */
uint32_t ct_dwarf_parents_find(const struct ct_dw_parents *t, uint64_t offset);
void ct_dwarf_parents_free(struct ct_dw_file *f);

/* dwarf_spelling.c
 *
 * One spelling of C++ types. Compilers spell the types in a class's or template's name in their own
 * way; here they become what the demangler writes, so that a function has one name, inlined or not:
 *
 *     box<long unsigned int>         ->  box<unsigned long>
 *     find<const char*>              ->  find<char const*>
 *     box<{anonymous}::secret>       ->  box<(anonymous namespace)::secret>
 */

/* Text of at most SIZE - 1 bytes; FULL says that some text did not fit. */
struct ct_dw_text {
	char *to;
	size_t size, length;
	int full;
};

void ct_dwarf_spelling_put(struct ct_dw_text *t, const char *text, size_t n);
/* Appends NAME, respelled. */
void ct_dwarf_spelling_name(struct ct_dw_text *t, const char *name);

/* dwarf_symbols.c
 *
 * Names from symbol tables, for code that DWARF does not describe. For verb_symbolize.c.
 */

struct ct_dwarf_symbol_query {
	uint64_t address; /* address as linked */
	uint32_t tag;	  /* used by the caller */
	char *name; /* out, freed by the caller: the linker's name, without a version; or NULL */
	uint64_t begin, end; /* out: the code that NAME has */
	unsigned number;     /* out of ct_dwarf_symbols_number */
};

/* Gives names to those of the N queries that have none yet, from the symbol tables of the ELF file
 * FD. The queries are sorted by address. */
void ct_dwarf_symbols_find(int fd, struct ct_dwarf_symbol_query *q, size_t n);
/* Numbers the named queries whose symbol is local: from 1, by address, among the local symbols of
 * one name in the symbol table of the ELF file FD. Others keep their number. */
void ct_dwarf_symbols_number(int fd, struct ct_dwarf_symbol_query *q, size_t n);

/* dwarf_unpacked.c
 *
 * Unpacked copies of compressed debug files, by build id, in a cache directory of the user's.
 *
 * Distributions compress debug files. Unpacking libc's takes 30 ms, more than everything else at
 * the end of a short program, and every process of a tree would do it again. The copies are whole
 * ELF files; they are read and checked like any other debug file, build id included.
 *
 * If the user has no such directory, nothing is kept. A failure here only means that the original
 * is read. Any number of processes may use the directory at the same time.
 */

/* Returns the path of the copy of the debug file with the build id ID (SIZE bytes), whether or not
 * the copy exists; free it. Returns NULL if nothing is kept. */
char *ct_dwarf_unpacked_path(const uint8_t *id, size_t size);

/* Writes a copy of the debug file FD under its build id, and removes the oldest copies if there are
 * too many. Returns false if no copy was written: the file isn't compressed or is too large, or
 * there is no directory for it. */
bool ct_dwarf_unpacked_keep(const uint8_t *id, size_t size, int fd);

#endif
