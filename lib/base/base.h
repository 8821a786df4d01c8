/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/base/, by the file that implements them. */
#ifndef CP_BASE_BASE_H
#define CP_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* arena.c
 *
 * A bump allocator over the profiler's own pages (pages.c).
 *
 * Nothing here locks. An arena belongs to one thread at a time; its owner makes sure of this. Every
 * function is async-signal-safe.
 */

/* A zeroed struct is an empty arena. Blocks are 8-byte aligned and zeroed, and live until the whole
 * arena is released. */
struct cp_arena {
	struct cp_arena_chunk *chunks; /* newest first; owned */
	size_t used;		       /* bytes of the newest chunk in use */
	size_t mapped;		       /* bytes mapped over all chunks */
	size_t limit;		       /* most bytes to map; 0 = no limit */
};

/* Returns SIZE zeroed bytes, or NULL (out of memory, or over the arena's limit). */
void *cp_arena_alloc(struct cp_arena *a, size_t size);
/* Returns a NUL-terminated copy of the N bytes at S, or NULL. */
char *cp_arena_text(struct cp_arena *a, const char *s, size_t n);
void cp_arena_release(struct cp_arena *a);

/* fdwrite.c
 *
 * Writes to a descriptor that may be a closed pipe, a file past its size limit, or the terminal of
 * another process group. The program gets no signal for these writes.
 */

/* Writes all N bytes of DATA to FD. Returns 0, the negative errno of write, or -EIO if write
 * accepted no bytes. Blocks SIGXFSZ (file size limit), SIGPIPE and SIGTTOU and takes them out
 * again, so the program sees no signal and the caller sees only -EFBIG or -EPIPE. With WAIT,
 * sleeps when a non-blocking descriptor returns EAGAIN. */
int cp_fdwrite_all(int fd, const void *data, size_t n, bool wait);

/* filestat.c
 *
 * Reads the kind of a file, without waiting for the file's server where that is possible. Any
 * context; errno stays. */

struct cp_filestat {
	unsigned mode;	/* has the bits of st_mode */
	unsigned major; /* major number of a device */
	uint64_t inode;
};

/* Ask about PATH, relative to DIR. FLAGS: AT_EMPTY_PATH or 0. Returns 0 or a negative errno; TO is
 * untouched on failure. A network file system answers from its cache, because its server may not
 * answer. Kernels without statx can't do that: they return -EINVAL or, with MAY_WAIT, ask the
 * server. */
long cp_filestat_read(int dir, const char *path, int flags, bool may_wait, struct cp_filestat *to);

/* Kinds of descriptors. */
enum cp_fd_kind {
	CP_FD_NOTHING, /* no descriptor, or a bad one */
	CP_FD_FILE,
	CP_FD_PIPE,
	CP_FD_UNIX,
	CP_FD_TCP,
	CP_FD_UDP,
	CP_FD_SOCKET, /* of another family or type */
	CP_FD_TTY,
	CP_FD_DEVICE,
	CP_FD_DIRECTORY,
	CP_FD_BLOCK,
	CP_FD_EVENTFD,
	CP_FD_TIMERFD,
	CP_FD_SIGNALFD,
	CP_FD_EPOLL,
	CP_FD_INOTIFY,
	CP_FD_OTHER,
	CP_FD_PATH, /* the call names a path; what is there isn't asked */
	CP_FD_KINDS
};

/* Returns the kind of the descriptor with S; any socket is CP_FD_SOCKET. LINK is its link in /proc,
 * which tells the kernel's own objects apart. */
enum cp_fd_kind cp_filestat_kind(const struct cp_filestat *s, const char *link);
/* Returns the text of label "kind"; "" for CP_FD_NOTHING. */
const char *cp_filestat_kind_name(unsigned kind);

/* globs.c
 *
 * Matches program names against a list of patterns (CPROF_ONLY).
 *
 * Any context. libc's fnmatch depends on the locale and may allocate.
 */

/* Returns whether the whole of TEXT matches one of the comma-separated GLOBS: * is any run, ? any
 * one byte, [a-z] one of these bytes, [!a-z] one of the others. A bracket that is never closed is
 * literal. Empty items match nothing. */
bool cp_globs_match(const char *globs, const char *text);

/* index.c
 *
 * A hash index over items that live elsewhere (in an array, addressed by number). Open addressing
 * in mmapped pages. Items are never removed one by one. One thread at a time.
 */

struct cp_index_slot {
	uint32_t hash, item; /* number of the item + 1; 0 = empty */
};

/* A zeroed struct is an empty index. */
struct cp_index {
	struct cp_index_slot *slots;
	size_t room, count;
};

#define CP_INDEX_NONE UINT32_MAX

/* Returns the item with HASH for which SAME(item, KEY, CONTEXT) is true, or CP_INDEX_NONE. */
uint32_t cp_index_find(const struct cp_index *ix, uint32_t hash,
		       bool (*same)(uint32_t item, const void *key, const void *context),
		       const void *key, const void *context);
/* Adds ITEM. The caller has checked that it isn't in the index. Returns 0 or -ENOMEM. */
int cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item);
/* Empties the index and keeps its memory. */
void cp_index_clear(struct cp_index *ix);
void cp_index_release(struct cp_index *ix);

/* Returns a hash of N bytes (Murmur3's finalizer over 8-byte words). */
uint32_t cp_index_hash(const void *data, size_t n);

/* log.c
 *
 * The library's only output to the user: single lines on stderr.
 */

/* Remembers which file descriptor 2 is; lines are written only to that file. Called in the
 * constructor. */
void cp_log_begin(void);

/* Writes "libcprof: " + text + "\n" in one write to descriptor 2, cut at 512 bytes. Writes nothing
 * if descriptor 2 is another file than at the start, unless it is a terminal or a file opened for
 * appending. Any context; never touches stdout or errno. See cp_text_format for the conversions
 * that FMT may hold. */
void cp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes N bytes, a whole line, to FD under the same conditions, in the calling task. FD is the
 * program's descriptor 2. Any context. */
void cp_log_put(int fd, const char *text, size_t n);

/* Until it is turned off, no line is written: the tool tells those who attach to a process, and the
 * program's stderr is not theirs. */
void cp_log_silence(bool on);

/* If set, called before cp_log writes. Returns true if the line is taken care of. The collector's
 * task sets it, because its descriptors are not the program's. */
extern bool (*cp_log_other_way)(const char *text, size_t n);

/* Returns the name of an errno value ("ENOSPC: no space left on device"); never NULL. Any
 * context. */
const char *cp_log_errno_text(int err);

/* Returns advice after ERR: how to get a profile next time. Never NULL. Any context. */
const char *cp_log_errno_advice(int err);

/* notes.c
 *
 * Notes: facts about a run that are worth knowing but are no failure. Each note becomes a comment,
 * "note: ...", of every file that is written afterwards, and `cprof run` shows it. Notes go to
 * stderr only when CPROF_VERBOSE is set, because the program's stderr may be compared.
 *
 * cp_log is for problems that the user has to act on: a setting that can't be honoured, a profile
 * that can't be made.
 */

/* The first note of each kind is kept. */
enum cp_notes_note {
	CP_NOTE_DUMP_SIGNAL,
	CP_NOTE_HANDLER,
	CP_NOTE_CPU_TIMER,
	CP_NOTE_WALL_TIMER,
	CP_NOTE_TRACED,
	CP_NOTE_CAUGHT,
	CP_NOTE_COLLECTOR,
	CP_NOTE_END,
	CP_NOTE_PROC,
	CP_NOTE_ATTACHED,
	CP_NOTE_IMPORTS,
	CP_NOTES
};

/* Starts a session without notes. Ordinary context. */
void cp_notes_begin(bool verbose);
/* Records a note. Any context. */
void cp_notes_note(enum cp_notes_note which, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the note, or NULL if there is none. */
const char *cp_notes_get(enum cp_notes_note which);
/* In a fork child: drops the notes about the parent's threads. */
void cp_notes_fork_child(void);

/* pages.c
 *
 * The profiler's own memory: pages from mmap, never the program's heap. Every function is
 * async-signal-safe. arena.c and vec.c allocate from these pages.
 */

/* Returns SIZE zeroed bytes of pages, or NULL. Large sizes get huge pages if the kernel has some,
 * because a million stacks are read and written in random order. */
void *cp_pages_map(size_t size);

/* Returns SIZE bytes for a stack, or NULL. The lowest page is a guard page: an overflow faults and
 * doesn't write into the mapping below. */
void *cp_pages_stack(size_t size);

/* Returns the size of the kernel's pages: 4 KiB, and 16 or 64 KiB with some kernels for aarch64.
 * Only what shares pages with the kernel or the program needs it; the profiler's own memory is
 * laid out in steps of CP_PAGES_SIZE, in mappings that begin at multiples of CP_ARCH_PAGE_MAX. */
size_t cp_pages_kernel(void);

/* The same, with a reserve (reserve.c) in the same mapping, below the stack. */
char *cp_pages_stack_and_reserve(size_t size);
/* Make the reserve larger if ROWS rows need it. Call with the collector's lock. */
void cp_pages_reserve_grow(size_t rows);
void cp_pages_reserve_fork_child(void);

/* The smallest page. */
#define CP_PAGES_SIZE ((size_t)4096)

/* Returns SIZE rounded up to a multiple of the smallest page. */
static inline size_t cp_pages_round(size_t size)
{
	return (size + CP_PAGES_SIZE - 1) & ~(CP_PAGES_SIZE - 1);
}

/* reserve.c
 *
 * Address space that is kept for the profiles of a process that gets no more memory:
 * because of RLIMIT_AS or RLIMIT_DATA, or because it has too many mappings.
 *
 * The reserve is inaccessible until it is needed, so it takes no memory, counts for RLIMIT_AS
 * alone, and mlockall doesn't fill it. The cp_sys_map of the thread that has the collector's lock
 * takes from the reserve what the kernel refuses, and cp_sys_unmap gives that back.
 */

/* Returns how much to reserve at the start: 8 MiB, or a sixteenth of RLIMIT_AS if that is less. */
size_t cp_reserve_size(void);
/* Keep *SIZE inaccessible bytes at AT as the reserve. Returns the reserve before, and its size. */
void *cp_reserve_keep(void *at, size_t *size);
/* Returns the size that a reserve for ROWS rows should have; 0: the present size is enough. */
size_t cp_reserve_wanted(size_t rows);

/* Thread TID may use half of the reserve from here on: what its drains and dumps keep must leave
 * enough for the last write. Call with the collector's lock. */
void cp_reserve_open(uint32_t tid);
/* This is the last write: the thread may use all of the reserve. */
void cp_reserve_use_all(void);
void cp_reserve_close(void);

/* Returns SIZE zeroed bytes of the reserve; NULL if the calling thread may not use it, or if there
 * is not enough left. */
void *cp_reserve_take(size_t size);
/* Gives back SIZE bytes at AT and returns true, if they are in the reserve. */
bool cp_reserve_give(void *at, size_t size);

/* Call in a fork child. Returns the size of the reserve that the child needs; 0: it goes on with
 * the parent's. The parent's data in the reserve is abandoned by the child but stays in place,
 * because the child may still read some of it. */
size_t cp_reserve_fork_child(void);

/* sort.c
 *
 * Sorting and searching without libc, whose qsort may call malloc. Items begin with a uint64_t
 * key.
 */

/* Sorts N items of SIZE bytes by rising key. Heap sort: in place, no recursion. Input that is
 * already sorted costs one pass. */
void cp_sort(void *items, size_t n, size_t size);

/* Returns the index of the first of N sorted items whose key is at least KEY; N if all keys are
 * below KEY. */
size_t cp_sort_first(const void *items, size_t n, size_t size, uint64_t key);

/* stackcopy.c
 *
 * Reads another thread's stack through the kernel.
 *
 * That thread may wake up and unmap its stack at any moment, so no byte is read directly. The
 * kernel copies a window around the requested address. The caller must find out afterwards whether
 * the thread slept all along; only then do the windows fit together. The wall clock's pacer uses
 * this, with one struct per walk; nothing is shared.
 */

/* Most stacks of waiting threads fit into one or two windows. */
#define CP_STACKCOPY_WINDOW ((size_t)8192)

struct cp_stackcopy {
	uint64_t low, size; /* the range that DATA is a copy of; size 0 = no copy yet */
	int mem;	    /* /proc/.../mem, used if process_vm_readv is denied; -1 = not opened */
	bool denied;
	unsigned char data[CP_STACKCOPY_WINDOW];
};

void cp_stackcopy_begin(struct cp_stackcopy *c);
void cp_stackcopy_end(struct cp_stackcopy *c);

/* Reads the word at ADDR into *WORD. Returns false if ADDR can't be read; *WORD is then
 * unchanged. */
bool cp_stackcopy_read(struct cp_stackcopy *c, uint64_t addr, uint64_t *word);

/* thread_file.c
 *
 * Reads the files in which the kernel tells of a thread of this process, /proc/self/task/TID/FILE.
 * Any context: no lock, no memory. Each call opens the file, reads it, and closes it.
 */

#define CP_THREAD_FILE_PATH 64

/* Writes the path of FILE of the calling thread to TO, and returns TO. Not /proc/self/FILE, most of
 * which is empty once main has left through pthread_exit. /proc/thread-self/FILE only where /proc
 * belongs to another pid namespace, in which the thread has another number: where a sandbox (proot)
 * makes the program's system calls, thread-self is the tracer's. */
const char *cp_thread_file_path(char to[CP_THREAD_FILE_PATH], const char *file);
/* Opens FILE of the calling thread, to be read. Returns the descriptor, or a negative errno. */
int cp_thread_file_open(const char *file);

/* Reads the first SIZE - 1 bytes of FILE into TEXT and ends them with NUL. Returns the number of
 * bytes, at least 1, or a negative errno: -ENOENT or -ESRCH if the thread has ended, -ENODATA if
 * the file is empty. TEXT is unchanged on failure. */
long cp_thread_file_read(int tid, const char *file, char *text, size_t size);

/* Reads the thread's stat into TEXT. Returns the text from the state on, or NULL: the thread has
 * ended, or *ERR is a negative errno. */
const char *cp_thread_file_stat(int tid, char *text, size_t size, int *err);

/* Reads the thread's name, without the newline, and fills all of NAME, of SIZE bytes, with NULs.
 * NAME is unchanged if the thread has ended. */
void cp_thread_file_name(int tid, char *name, size_t size);

/* Reads the end of the thread's status into TEXT: at least the last SIZE / 2 bytes. The numbers are
 * there, after a list of groups of any length. Returns false, with TEXT as it was or empty, if it
 * can't be read. */
bool cp_thread_file_status(int tid, char *text, size_t size);

/* Finds the number in BASE (10 or 16) of the line KEY of a status. KEY has the newline before it
 * and the blanks after it: "\nSigBlk:\t". Returns false if there is no such line. */
bool cp_thread_file_number(const char *status, const char *key, unsigned base, uint64_t *n);

/* vec.c
 *
 * A growing array of fixed-size items in the profiler's own pages (pages.c).
 *
 * Nothing here locks. A vector belongs to one thread at a time; its owner makes sure of this. Every
 * function is async-signal-safe.
 */

/* A zeroed struct with .size set is an empty array. Items move when the array grows: hold indices,
 * not pointers. */
struct cp_vec {
	void *items;
	size_t count, room; /* in items */
	size_t size;	    /* bytes per item */
};

/* Appends a zeroed item. Returns its address, or NULL. */
void *cp_vec_add(struct cp_vec *v);
/* Grows the array to at least COUNT items; new items are zeroed. Returns false without memory. */
bool cp_vec_extend(struct cp_vec *v, size_t count);
void cp_vec_release(struct cp_vec *v);
#define CP_VEC_AT(v, type, i) (&((type *)(v)->items)[i])

#endif
