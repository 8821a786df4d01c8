/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an encoded profile goes: a chain of sinks, each of which passes bytes on.
 *
 * The dump uses sinks on one thread at a time, in any context (raw system calls and own pages
 * only).
 */
#ifndef CP_SINK_H
#define CP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_sink {
	/* Returns 0 when all N bytes were taken, or a negative errno. */
	int (*write)(struct cp_sink *s, const void *data, size_t n);
};

/* A whole file by rename: written as a temporary file beside the target (O_CREAT, O_EXCL,
 * O_NOFOLLOW, O_CLOEXEC, mode 0600), fsync'd if it replaces one, renamed. The temporary file is
 * ".NAME.PID.tmp" and is locked with flock while it is written. An unlocked temporary file was left
 * by a killed process and is removed. If the target is a symbolic link, the link itself is
 * replaced.
 *
 * Before each write the sink checks that the descriptor still refers to this file. A program may
 * close all descriptors meanwhile and open its own: then nothing is written to the program's file
 * (-EBADF).
 */
struct cp_file_sink {
	struct cp_sink sink;
	int fd;	   /* -1 = none */
	int error; /* first failure */
	uint64_t written;
	bool direct;		/* the target is a character device: no rename */
	uint64_t device, inode; /* identity of the file that fd refers to */
	uint64_t created_ns;	/* by the file system's clock */
	char path[4096];
	char temporary[4096]; /* "" = there is no temporary file */
};

/* Open the absolute PATH. Returns 0, or -EISDIR; -ENAMETOOLONG; -EINVAL: PATH is relative, the
 * target is a FIFO, socket or block device, or PATH is below /dev (except /dev/shm) and not a
 * character device, because a symbolic link like /dev/stdout must not be replaced; or the error of
 * open.
 *
 * A character device (/dev/null, /dev/full) is written to directly and never waited for. After a
 * failure there is nothing to close.
 */
int cp_sink_file_open(struct cp_file_sink *f, const char *path);
/* Remove the temporary files that killed processes have left in the directory of PATH, for PATH or
 * for a file that a process called after it (NAME.PID). */
void cp_sink_file_sweep(const char *path);
/* Returns 0, or -ENAMETOOLONG if opening PATH would fail because of the temporary file's name. */
int cp_sink_file_check(const char *path);
/* End the file. With FAIL set (or after a failed write) the temporary file is removed and the old
 * target stays; otherwise the file is renamed, after fsync if it replaces one. REPLACE false: an
 * existing file is never replaced; then the result is -EEXIST, and the temporary file is kept for
 * another try with cp_sink_file_rename (a second close with FAIL set removes it). Returns 0 or the
 * first error. */
int cp_sink_file_close(struct cp_file_sink *f, bool fail, bool replace);
/* Try PATH instead, after -EEXIST. Another -EEXIST keeps the temporary file for the next try; any
 * other failure removes it. */
int cp_sink_file_rename(struct cp_file_sink *f, const char *path);

/* A sink in own pages, for data that is written after the lock is released: the reader of a pipe or
 * socket may keep the writer waiting for ever. */
struct cp_memory_sink {
	struct cp_sink sink;
	uint8_t *data;
	size_t used, room;
};
void cp_sink_memory_open(struct cp_memory_sink *m);
void cp_sink_memory_release(struct cp_memory_sink *m);

/* Compresses with gzip and passes the bytes on to another sink; uses a zlib that was loaded on a
 * private handle. */
struct cp_gzip_sink {
	struct cp_sink sink;
	struct cp_sink *next;
	struct cp_gzip_state *state; /* zlib's state, in pages of its own */
	struct cp_deflate *small;    /* the compressor's state if zlib isn't used */
	bool large;
	int error;
};

/* Open zlib (unwind/library.h) so that a `deflate` that the program exports is not called. Ordinary
 * context only, once, before the first open. Returns 0, or -ENOENT: there is no zlib, zlib was
 * loaded earlier in a way that lets the program's functions replace its own, or only the program's
 * malloc could load it. Then cp_gzip_sink compresses by itself (deflate.h). */
int cp_sink_gzip_load(void);
/* Returns 0 or -ENOMEM. NEXT must outlive G. LARGE: much data will follow, and speed matters more
 * than a few per cent of the size. */
int cp_sink_gzip_open(struct cp_gzip_sink *g, struct cp_sink *next, bool large);
/* Flush and release the memory. Doesn't close NEXT. Returns 0 or the first error. */
int cp_sink_gzip_close(struct cp_gzip_sink *g);

#endif
