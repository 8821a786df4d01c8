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
	/* All N bytes, or a negative errno. */
	int (*write)(struct cp_sink *s, const void *data, size_t n);
};

/* A whole file by rename: written as a temporary file beside the target (O_CREAT,
 * O_EXCL, O_NOFOLLOW, O_CLOEXEC, mode 0600), fsync'd, renamed. */
struct cp_file_sink {
	struct cp_sink sink;
	int fd;
	int error; /* first failure */
	uint64_t written;
	bool direct; /* the target is a character device: no rename */
	char path[4096], temporary[4096];
};

/* Absolute PATH. 0; -EISDIR, -ENAMETOOLONG, -EINVAL (target is a FIFO, socket or block device), or
 * what open gave. A character device (/dev/null, /dev/full) is written to directly. */
int cp_file_sink_open(struct cp_file_sink *f, const char *path);
/* Ends the file: with FAIL set (or after a failed write) the temporary file is
 * removed and the old target stays; otherwise fsync and rename. REPLACE false: never
 * over an existing file: -EEXIST, the temporary file kept for another try with
 * cp_file_sink_rename. 0 or the first error. */
int cp_file_sink_close(struct cp_file_sink *f, bool fail, bool replace);
/* After -EEXIST: try PATH instead. -EEXIST keeps the temporary file for another try; any other
 * failure removes it. */
int cp_file_sink_rename(struct cp_file_sink *f, const char *path);

/* A descriptor of the caller's; not closed, no fsync. */
struct cp_fd_sink {
	struct cp_sink sink;
	int fd;
};
void cp_fd_sink_open(struct cp_fd_sink *f, int fd);

/* gzip in front of another sink, through zlib loaded on a private handle. */
struct cp_gzip_sink {
	struct cp_sink sink;
	struct cp_sink *next;
	void *state; /* z_stream and its memory, our own pages */
	size_t state_size;
	int error;
};

/* Find zlib: dlopen(RTLD_LOCAL, and RTLD_DEEPBIND where no sanitizer runs), so that
 * a host that exports its own `deflate` is not called. Ordinary context only.
 * 0 or -ENOENT: then cp_gzip_sink passes the bytes on uncompressed, which pprof reads too. */
int cp_gzip_load(void);
int cp_gzip_sink_open(struct cp_gzip_sink *g, struct cp_sink *next);
int cp_gzip_sink_close(struct cp_gzip_sink *g); /* flushes; does not close NEXT */

#endif
