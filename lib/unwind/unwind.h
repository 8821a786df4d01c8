/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/unwind/, by the file that implements them. */
#ifndef CP_UNWIND_UNWIND_H
#define CP_UNWIND_UNWIND_H

#include <link.h>

#include "unwind/signal/unwind_signal.h"
#include "settings/settings.h"

/* cfi_build.c
 *
 * Builds a sorted table for a module that has call frame information but no sorted table from its
 * linker: ld --no-eh-frame-hdr, or a header whose table was left out.
 */

/* Has M a table that the handler can search? COPY: the module may go away meanwhile, so the kernel
 * copies the memory. */
bool cp_cfi_build_has_table(const struct cp_cfi_module *m, bool copy);

/* Facts about a module that has no table. */
struct cp_cfi_place {
	uint64_t segment, segment_end; /* read-only segment, up to the end of its file contents */
	uint64_t bias;		       /* from addresses in the file to addresses in the module */
	const char *path;	       /* leads to the module's file; NULL = unknown */
	bool code;		       /* some segment of the module is executable */
	bool asked, sections;	       /* the file was examined; it has sections */
	uint64_t eh_frame;	       /* address according to the sections; 0 = none */
};

/* Look for M's .eh_frame: at the header's address, in its section of the file, or, if the module
 * has code but its file is gone, by a scan of the segment unless that is large. Returns a table for
 * it, or NULL if there is no .eh_frame or no memory. */
struct cp_cfi_table *cp_cfi_build(const struct cp_cfi_module *m, struct cp_cfi_place *p, bool copy);
void cp_cfi_build_release(const struct cp_cfi_table *t);

/* cfi_modules.c
 *
 * The list of modules that handlers search, and how it is replaced. cfi_modules.c fills the list
 * from the loader; cfi_poll.c must not wait for the loader.
 */

#define CP_CFI_PAGE UINT64_C(4096)

/* Returns a list with room for ROOM modules, or NULL. */
struct cp_cfi_snapshot *cp_cfi_modules_snapshot_make(size_t room);
/* Insert M at its place by address. Returns false if there is no room. */
bool cp_cfi_modules_snapshot_add(struct cp_cfi_snapshot *s, const struct cp_cfi_module *m);
/* Release the list and the tables of its modules. S may be NULL. */
void cp_cfi_modules_snapshot_release(struct cp_cfi_snapshot *s);

/* Build a table for M from its segment H, if the segment may hold the information and M has no
 * table yet. */
void cp_cfi_modules_build(struct cp_cfi_module *m, struct cp_cfi_place *p, const ElfW(Phdr) * h,
			  bool copy);

/* Make NEW (NULL: no modules) the list that handlers see. With VERSION, the loader's count of
 * changes: only if the visible list isn't newer. With VERSION NULL: only if the visible list is
 * still EXPECTED. On success *OLD is the previous list; the caller releases it once no walk can be
 * using it. Returns false if nothing was replaced. */
bool cp_cfi_modules_snapshot_publish(struct cp_cfi_snapshot *new, const uint64_t *version,
				     struct cp_cfi_snapshot *expected,
				     struct cp_cfi_snapshot **old);

/* dlclose_gate.c
 *
 * Tracks the calling thread's dlclose calls, from the closing of the gate to its opening.
 *
 * A destructor may leave dlclose without returning: by longjmp, or because its thread ends. Without
 * this file, captures would then regard modules as unstable for ever. An abandoned dlclose counts
 * as finished when the same thread calls dlclose again from the same or a shallower depth, when an
 * outer dlclose returns, or when the thread ends.
 */

struct cp_module_diff;

/* Called with the modules that went away before the gate opens; NULL: nobody. Set once, before the
 * first sample. */
extern void (*cp_dlclose_gate_unloaded)(struct cp_module_diff *u);

/* Close the gate. FRAME: frame address of dlclose's caller. Returns how many dlclose calls the
 * thread was in before, for cp_dlclose_gate_end. Waits. */
unsigned cp_dlclose_gate_begin(const void *frame);
/* Forget the cached data of modules and open the gate. The thread is then in BEFORE dlclose calls.
 * UNLOADED: the result of cp_heap_before_unload. */
void cp_dlclose_gate_end(unsigned before, struct cp_module_diff *unloaded);
/* Call when the thread ends. */
void cp_dlclose_gate_abandon(void);

/* imports.c
 *
 * Catches the program's calls where libcprof was loaded when the program ran already: the loader
 * has bound all calls to libc by then. The import tables of the modules (GOT) have the addresses of
 * the functions that the modules call. So have variables that the loader initialises with such an
 * address, as SQLite's table of system calls and libxml2's of malloc and free. An entry that leads
 * to the function that libcprof would forward to gets the address of libcprof's function; any other
 * entry stays. So a module that has an allocator of its own keeps it.
 *
 * Each entry is written whole, because other threads call through it. Pages that the loader has
 * made read-only are writable for that moment. A module that is being loaded is left for the next
 * look. Code is never changed, nor is what the program itself has stored: calls through such an
 * address are not caught.
 *
 * Nothing is remembered of an entry: what it had is the function that libcprof forwards to. An
 * entry that the loader had not bound yet is bound afterwards.
 *
 * Ordinary context, any thread; walks the loader's list of modules.
 */

/* Also catch calls of NAME, by FUNCTION; OLDEST: of its oldest version. Before the first
 * cp_imports_begin; two versions of a function one after the other. */
void cp_imports_add(const char *name, bool oldest, void *function);
/* Catch the calls of all modules from here on. Calls repeat. */
void cp_imports_begin(void);
/* Are calls caught? Safe in any thread, also one that libc does not know. */
bool cp_imports_are_caught(void);
/* Call after modules were loaded: catches their calls, too. Does nothing before begin or after end.
 * Does not wait for another thread that does the same. */
void cp_imports_look(void);
/* Put back all entries. Threads may be in libcprof's functions for long after that. */
void cp_imports_end(void);
/* Is F the function NAME whose calls are caught? */
bool cp_imports_catch(const char *name, const void *f);
/* Return how many entries the kernel didn't let be changed. */
unsigned cp_imports_refused(void);
/* Does the result of a dlopen of FILE depend on the module that calls it, which has the address
 * CALLER? */
bool cp_imports_depends(const char *file, const void *caller);
/* Call in a fork child. */
void cp_imports_fork_child(void);

/* library.c
 *
 * Opens a library for the profiler alone (zlib, libunwind) without calls of the program's malloc.
 *
 * dlopen allocates, with the first malloc of the process. If that is libcprof's, it lends the
 * loader memory of its own. If it is libc's, because libcprof was loaded late, it may be called.
 * Otherwise it is the program's: it may not be ready before main, or may have a lock that the
 * calling thread holds. Then no library can be opened, not even one that the program has loaded,
 * because dlopen allocates for those, too.
 *
 * Ordinary context: the loader's lock is taken.
 */

/* Open the library FILE with all its functions bound, outside the scope of the program's look-ups.
 * It calls its own functions even if the program exports others of that name, unless a sanitizer is
 * active or the library was loaded before. *WAS_LOADED (may be NULL) says whether it was. Returns a
 * handle, or NULL. */
void *cp_library_open(const char *file, bool *was_loaded);
/* Call F, in which libc may allocate, with memory of libcprof's if libcprof's malloc is the first.
 */
void cp_library_call_lending(void (*f)(void));
/* Keep the library FILE, which is loaded, until the process ends. */
void cp_library_keep(const char *file);
/* Return NAME of the opened library, or NULL. */
void *cp_library_symbol(void *handle, const char *name);

/* Makes the calling thread's allocations take libcprof's memory, or ends that. NULL until the
 * allocator is known. */
extern void (*cp_library_lend)(bool on);

/* loaded.c
 *
 * Looks symbols up in the loaded modules, without calls of the program's malloc.
 *
 * A dlsym that finds nothing formats an error message with malloc, and dlopen allocates even if it
 * only asks whether a library is loaded. That malloc may be the program's, which may not be ready
 * before main, or may have a lock that the calling thread holds. So nothing in libcprof calls dlsym
 * for a symbol that may be missing: the functions here read the modules' own tables. It is faster,
 * too: the constructor looks a hundred functions up, in every process of a tree.
 *
 * The modules come in the order in which the loader lists them. For those that are loaded at the
 * start, it is the order in which the loader searches them. Later ones follow, also those that were
 * opened with RTLD_LOCAL.
 *
 * Ordinary context: the loader's list of objects is locked (module.c).
 */

struct cp_loaded_name {
	const char *name;
	bool oldest;   /* wanted: the oldest version, not the one that programs are linked with */
	uint32_t hash; /* the dynamic symbol table's; set by cp_loaded_next */
	void *next;    /* the first definition after libcprof's; if libcprof was loaded after libc,
			* the first one after the program's */
	void *libc;    /* libc's definition, if libc precedes libcprof */
};

/* Look the COUNT names up, as dlsym(RTLD_NEXT) would. NULL means that there is no such
 * definition. */
void cp_loaded_next(struct cp_loaded_name *names, unsigned count);
/* Return the next definition of NAME after libcprof's. If there is none, because libcprof was
 * loaded late or privately, return libc's; NULL: libc has none. */
void *cp_loaded_next_one(const char *name);
/* Return the first definition of NAME, as dlsym(RTLD_DEFAULT) would, or NULL. For a thread-local
 * variable it is the calling thread's, or NULL if that isn't allocated yet. */
void *cp_loaded_first(const char *name);
/* The same; sets *SIZE to the size of the definition. */
void *cp_loaded_first_sized(const char *name, size_t *size);
/* Is the program built with a sanitizer? It ends the program on RTLD_DEEPBIND. */
static inline bool cp_loaded_has_sanitizer(void)
{
	return cp_loaded_first("__asan_init") || cp_loaded_first("__tsan_init") ||
	       cp_loaded_first("__msan_init");
}
/* Return the definition of NAME in the module that has ADDRESS in one of its segments, or NULL. */
void *cp_loaded_in(const void *address, const char *name);
/* Call VISIT for each function that libcprof has in place of another library's, those that have two
 * versions excepted. */
typedef void cp_loaded_visit(const char *name, void *function);
void cp_loaded_own_functions(cp_loaded_visit *visit);
/* Return the hash of NAME, as in DT_GNU_HASH. Any context. */
uint32_t cp_loaded_hash(const char *name);
/* Is F in libcprof? */
bool cp_loaded_is_own(const void *f);
/* Return libc's definition of NAME, or NULL. */
void *cp_loaded_in_libc(const char *name);

struct cp_loaded_object {
	uintptr_t low, high; /* the object's addresses: low <= address < high */
	const char *name;    /* the loader's; "" for the program */
};

/* Find the object that has ADDRESS in one of its segments. Returns false if none has, and leaves O
 * untouched. */
bool cp_loaded_at(const void *address, struct cp_loaded_object *o);
/* Find the first object whose file is called FILE, without its folder. The same. */
bool cp_loaded_named(const char *file, struct cp_loaded_object *o);

/* module.c
 *
 * Walks the loader's list of modules (dl_iterate_phdr), safely across forks.
 *
 * The loader guards the list by a lock that libc doesn't free in a fork's child. If a libcprof
 * thread is walking the list at the time of a fork, each dlopen and each walk of the list in the
 * child hangs, including the program's. So a fork waits for threads that are walking the list, and
 * a thread that wants to walk waits for the fork. Neither waits for more than a second, because the
 * forking thread may itself be walking the list.
 *
 * All of libcprof walks the list with these functions. Ordinary context, any thread; the three
 * functions for fork in any context.
 */

typedef int cp_module_visit(struct dl_phdr_info *info, size_t size, void *arg);

/* Walk the list that the program's functions see; the program may define its own dl_iterate_phdr.
 */
int cp_module_list(cp_module_visit *visit, void *arg);
/* Walk libc's list. */
int cp_module_list_of_libc(cp_module_visit *visit, void *arg);
/* Set libc's dl_iterate_phdr, past an interposed one. Call before the first walk by that function
 * (unwind/loaded.c does, in the constructor). */
void cp_module_list_set_libc(int (*iterate)(cp_module_visit *visit, void *arg));

/* Call these around a fork. */
void cp_module_list_fork_begin(void);
void cp_module_list_fork_end(void);
void cp_module_list_fork_child(void);

/* Compares the modules before and after a dlclose, to find those that went away. The heap mode's
 * part of the interposed dlclose calls this in ordinary context. Asks the loader, whose lock
 * dlclose takes anyway.
 */

struct cp_module_diff;

/* Returns the list of current modules, for one call of cp_module_diff_each. Returns NULL if there
 * is no memory or there are too many modules. */
struct cp_module_diff *cp_module_diff_before(void);

/* Call UNLOADED for each module in U that isn't loaded any more, and release U. Returns false if
 * more modules may have been unloaded without being reported: U is NULL, modules were loaded
 * meanwhile, or a module of another namespace was unloaded. */
bool cp_module_diff_each(struct cp_module_diff *u, void (*unloaded)(uint64_t low, uint64_t high));

/* Returns how many modules the loader has loaded so far. */
uint64_t cp_module_diff_loads(void);

/* unwinders.c
 *
 * Chooses an unwinder.
 */

/* Returns the prepared unwinder for CHOICE. If it can't work here, prints one line on stderr and
 * returns the next best. Ordinary context. */
const struct cp_unwinder *cp_unwinders_choose(enum cp_unwind_choice choice);

/* Choose the default unwinder, for stacks that are taken without a session, unless one is chosen.
 * Returns false if there is none. Ordinary context. */
bool cp_unwinders_default(void);

#endif
