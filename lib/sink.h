/* Where an encoded profile goes: a chain of sinks, each passing bytes on.
 *
 * Used by the dump on one thread at a time, in any context (raw system calls and
 * pages of our own only).
 */
#ifndef CP_SINK_H
#define CP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_sink {
	/* 0 when all N bytes were taken, or a negative errno. */
	int (*write)(struct cp_sink *s, const void *data, size_t n);
	/* What was written so far is what another one will begin with; NULL: nobody asks. */
	void (*mark)(struct cp_sink *s);
};

/* A whole file by rename: written as a temporary file beside the target (O_CREAT,
 * O_EXCL, O_NOFOLLOW, O_CLOEXEC, mode 0600), fsync'd, renamed. The temporary file is
 * ".NAME.PID.tmp", locked with flock while it is written: one that nobody locks was left
 * by a killed process and is removed. A target that is a symbolic link is replaced itself.
 *
 * Before each write the descriptor is checked to be still this file: a program that closes
 * all descriptors in the meantime and opens its own gets none of our bytes (-EBADF). */
struct cp_file_sink {
	struct cp_sink sink;
	int fd;	   /* -1 = none */
	int error; /* first failure */
	uint64_t written;
	bool direct;		/* the target is a character device: no rename */
	uint64_t device, inode; /* identity of the file behind fd */
	char path[4096];
	char temporary[4096]; /* "" = there is none */
};

/* Absolute PATH. 0; -EISDIR, -ENAMETOOLONG, -EINVAL (relative; target is a FIFO, socket or block
 * device; something below /dev, /dev/shm excepted, that is no character device: a symbolic link
 * like /dev/stdout must not be replaced), or what open gave. A character device (/dev/null,
 * /dev/full) is written to directly and never waited for. After a failure there is nothing to
 * close. */
int cp_file_sink_open(struct cp_file_sink *f, const char *path);
/* Ends the file: with FAIL set (or after a failed write) the temporary file is
 * removed and the old target stays; otherwise fsync and rename. REPLACE false: never
 * over an existing file: -EEXIST, the temporary file kept for another try with
 * cp_file_sink_rename (or removed by a second close with FAIL set). 0 or the first error. */
int cp_file_sink_close(struct cp_file_sink *f, bool fail, bool replace);
/* After -EEXIST: try PATH instead. -EEXIST keeps the temporary file for another try; any other
 * failure removes it. */
int cp_file_sink_rename(struct cp_file_sink *f, const char *path);

/* Pages of our own: for what is to be written after the lock is given back, because the reader
 * of a pipe or socket may keep us waiting for ever. */
struct cp_memory_sink {
	struct cp_sink sink;
	uint8_t *data;
	size_t used, room;
};
void cp_memory_sink_open(struct cp_memory_sink *m);
void cp_memory_sink_release(struct cp_memory_sink *m);

/* gzip in front of another sink, through zlib loaded on a private handle. */
struct cp_gzip_sink {
	struct cp_sink sink;
	struct cp_sink *next;
	struct cp_gzip_state *state; /* in pages of its own; NULL = bytes pass unchanged */
	struct cp_gzip_state **kept; /* what a beginning is kept in; NULL = in nothing */
	size_t same;		     /* bytes so far, all of them those of the kept beginning */
	bool large, keeps, resumed;  /* RESUMED: from the state at the mark of another one */
	int error;
};

/* Find zlib: dlopen(RTLD_LOCAL, and RTLD_DEEPBIND where no sanitizer runs), so that
 * a host that exports its own `deflate` is not called. Ordinary context only, once, before
 * the first open. 0, or -ENOENT: no zlib, or one that was loaded earlier in a way that lets
 * the host's functions take the place of its own. Then cp_gzip_sink passes the bytes on
 * uncompressed, which pprof reads too. */
int cp_gzip_load(void);
/* 0, or -ENOMEM. NEXT must outlive G. LARGE: there is much to come, and time counts more than a
 * few per cent of the size. KEPT may be NULL. If *KEPT is, what is written up to the mark
 * is kept in it, unless that is too much. Else it was, and is used up: what G begins with that is
 * the same need not be compressed again. */
int cp_gzip_sink_open(struct cp_gzip_sink *g, struct cp_sink *next, bool large,
		      struct cp_gzip_state **kept);
/* Flushes and releases the memory; does not close NEXT. 0, or the first error. */
int cp_gzip_sink_close(struct cp_gzip_sink *g);
/* *KEPT, or NULL, is given back. */
void cp_gzip_forget(struct cp_gzip_state **kept);

#endif
