/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/output/, by the file that implements them. */
#ifndef CP_OUTPUT_PPROF_H
#define CP_OUTPUT_PPROF_H

#include "profile/profile.h"

/* deflate.c
 *
 * A small gzip for where zlib can't be used (sink_gzip.c): repeated bytes become references, and
 * all codes are deflate's fixed ones. Files are about a third larger than zlib's.
 *
 * Pure: works on the caller's memory.
 */

#define CP_DEFLATE_WINDOW ((size_t)32 << 10) /* the farthest that a reference reaches back */
#define CP_DEFLATE_OUT ((size_t)8 << 10)
#define CP_DEFLATE_HASHES ((size_t)4096)

/* All fields but WRITE and TO are zero at the beginning. */
struct cp_deflate {
	int (*write)(void *to, const void *data,
		     size_t n); /* takes the output; returns 0 or an error */
	void *to;
	int error;	     /* the first error of WRITE */
	uint32_t crc, total; /* checksum and size of the input */
	uint64_t bits;	     /* bits that are not yet in OUT, the first one lowest */
	unsigned bit_count;
	size_t begun;	      /* 1 after the header was written */
	size_t filled, coded; /* bytes in WINDOW, and how many of them were coded */
	size_t used;	      /* used bytes of OUT */
	/* By hash of three bytes: 1 + their last place in WINDOW; 0: nowhere. */
	uint32_t last[CP_DEFLATE_HASHES];
	uint8_t out[CP_DEFLATE_OUT];
	uint8_t window[2 * CP_DEFLATE_WINDOW];
};

/* Code N bytes. Returns 0 or the error of WRITE. */
int cp_deflate_put(struct cp_deflate *d, const void *data, size_t n);
/* Code the rest, and the end. Returns 0 or the error of WRITE. */
int cp_deflate_end(struct cp_deflate *d);

/* pprof.c
 *
 * Interned text: each distinct string once, numbered in order of first use.
 *
 * The profile writer uses this for the string table, on one thread at a time. Memory comes from its
 * own pages. (Not called strings.h, which would shadow libc's <strings.h>.)
 */

struct cp_intern_entry {
	const char *text; /* in the arena, followed by NUL */
	uint32_t length;
	uint32_t hash;
};

/* A zeroed struct is an empty table. Invariant: slot_count is 0 or a power of two, and at most
 * three quarters of the slots are taken. */
struct cp_intern {
	struct cp_arena texts;
	struct cp_vec entries; /* struct cp_intern_entry; index = id */
	uint32_t *slots;       /* id + 1, 0 = free; linear probing */
	size_t slot_count;
};

/* Where an encoded profile goes: a chain of sinks, each of which passes bytes on.
 *
 * The dump uses sinks on one thread at a time, in any context (raw system calls and own pages
 * only).
 */

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

/* A sink in own pages, for data that is written after the lock is released, because the reader of a
 * pipe or socket may keep the writer waiting for ever. */
struct cp_memory_sink {
	struct cp_sink sink;
	uint8_t *data;
	size_t used, room;
};
void cp_sink_memory_open(struct cp_memory_sink *m);
void cp_sink_memory_release(struct cp_memory_sink *m);

/* How much data will follow. LITTLE, up to some 10 KB: zlib gets a small state, because in a short
 * process the page faults of a large one take longer than the write. MUCH: speed matters more than
 * a few per cent of the size. */
enum cp_gzip_amount { CP_GZIP_LITTLE, CP_GZIP_USUAL, CP_GZIP_MUCH };

/* Compresses with gzip and passes the bytes on to another sink; uses a zlib that was loaded on a
 * private handle. */
struct cp_gzip_sink {
	struct cp_sink sink;
	struct cp_sink *next;
	struct cp_gzip_state *state; /* zlib's state, in pages of its own */
	struct cp_deflate *small;    /* the compressor's state if zlib isn't used */
	enum cp_gzip_amount amount;
	int error;
};

/* Open zlib (unwind/unwind.h) so that a `deflate` that the program exports is not called. Ordinary
 * context only, once, before the first open. Returns 0, or -ENOENT: there is no zlib, zlib was
 * loaded earlier in a way that lets the program's functions replace its own, or only the program's
 * malloc could load it. Then cp_gzip_sink compresses by itself (deflate.c). */
int cp_sink_gzip_load(void);
/* Returns 0 or -ENOMEM. NEXT must outlive G. */
int cp_sink_gzip_open(struct cp_gzip_sink *g, struct cp_sink *next, enum cp_gzip_amount amount);
/* Flush and release the memory. Doesn't close NEXT. Returns 0 or the first error. */
int cp_sink_gzip_close(struct cp_gzip_sink *g);

/* pprof.c
 *
 * Streaming encoder of pprof's profile.proto. The sink compresses the output.
 *
 * The dump calls this on one thread at a time. Order of calls: open; then mappings, functions,
 * locations and samples in any order; comments; close. Ids are not checked here: the caller hands
 * out 1..N in order of its calls. Memory comes from the writer's own pages. After the first failure
 * every call does nothing, and close returns that error. A NULL text is the same as "".
 */

struct cp_pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct cp_pprof_head {
	const struct cp_pprof_type *sample_types; /* count first */
	unsigned sample_type_count;
	struct cp_pprof_type period_type;
	const char *default_sample_type;
	const char *drop_frames; /* as in struct cp_mode_ops, or NULL */
	int64_t period;		 /* in period_type's unit */
	int64_t time_nanos;	 /* UTC: start of the window, or the moment of the values */
	int64_t duration_nanos;	 /* length of the window, or 0 */
};

struct cp_pprof_mapping {
	uint64_t start, limit, offset; /* memory range, file offset of start */
	const char *path;
	const char *build_id; /* lower-case hex, "" = none */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct cp_pprof_function {
	const char *name, *system_name, *filename; /* filename "" = unknown */
	int64_t start_line;
};

struct cp_pprof_line {
	uint64_t function_id; /* 1.. */
	int64_t line;	      /* 0 = unknown */
};

struct cp_pprof_label {
	const char *key;
	const char
		*text; /* NULL = numeric; "": the label is left out (the format can't express it) */
	int64_t number;
	const char *unit; /* "" = none; numeric only */
};

/* A label whose strings are in the string table. */
struct cp_pprof_known {
	uint64_t key, text, unit; /* 0 = none */
	int64_t number;
	bool left_out; /* the text is empty */
};

struct cp_pprof {
	struct cp_sink *sink;
	struct cp_intern strings; /* the string table so far */
	unsigned value_count;
	int64_t time_nanos, duration_nanos; /* as in the head */
	int error;			    /* first failure, negative errno; 0 = none */
	uint8_t *scratch; /* complete messages that the sink hasn't got yet, then the message being
			     built */
	size_t scratch_room, scratch_used;
};

/* Open the writer. */
void cp_pprof_open(struct cp_pprof *w, struct cp_sink *sink, const struct cp_pprof_head *head);
void cp_pprof_mapping(struct cp_pprof *w, uint64_t id, const struct cp_pprof_mapping *m);
void cp_pprof_function(struct cp_pprof *w, uint64_t id, const struct cp_pprof_function *f);
/* LINES innermost first; LINE_COUNT may be 0. MAPPING_ID 0 = no mapping. */
void cp_pprof_location(struct cp_pprof *w, uint64_t id, uint64_t mapping_id, uint64_t address,
		       const struct cp_pprof_line *lines, size_t line_count);
/* LOCATION_IDS leaf first. A sample without locations is left out, because readers reject it.
 * VALUES has one value per sample type. */
void cp_pprof_sample(struct cp_pprof *w, const uint64_t *location_ids, size_t depth,
		     const int64_t *values, const struct cp_pprof_known *labels,
		     size_t label_count);
/* Put the strings of a sample's label into the string table. The result is valid as long as the
 * writer is open. */
struct cp_pprof_known cp_pprof_know(struct cp_pprof *w, const struct cp_pprof_label *label);
void cp_pprof_comment(struct cp_pprof *w, const char *text);
/* A message of other fields: each begin has its end, which takes the begin's result. */
size_t cp_pprof_begin(struct cp_pprof *w, unsigned field);
void cp_pprof_end(struct cp_pprof *w, size_t start);
/* Within it: a number, which is left out if it is 0; a text's number; and bare bytes. */
void cp_pprof_number(struct cp_pprof *w, unsigned field, uint64_t v);
void cp_pprof_text(struct cp_pprof *w, unsigned field, const char *text);
void cp_pprof_bytes(struct cp_pprof *w, const void *bytes, size_t n);
/* After the outermost end. */
void cp_pprof_flush(struct cp_pprof *w);
/* Write the times and the rest of the string table, and release the writer's memory. Doesn't close
 * the sink. Returns 0 or the first error: -ENOMEM, or the sink's. Text that is not valid UTF-8 is
 * repaired when it is added. */
int cp_pprof_close(struct cp_pprof *w);

/* row_labels.c
 *
 * Labels of samples, from four sources: the configuration, the thread's label set, the thread, the
 * row.
 *
 * The encoder calls this while it writes, under the collector's lock. A row has one value per key:
 * a later source in this list overrides an earlier one.
 */

#define CP_ROW_LABELS 16
#define CP_ROW_LABEL_TEXT 256
#define CP_ROW_LABELS_CONFIGURED 16

/* The labels that a mode gives to a row. */
struct cp_encode_labels {
	struct cp_pprof_label labels[CP_ROW_LABELS];
	unsigned count;
	char text[CP_ROW_LABEL_TEXT]; /* storage for label texts */
};

/* A finished list of labels, as written. */
struct cp_row_label_list {
	uint32_t thread, set; /* thread and set that the list belongs to */
	bool is_kept;	      /* the list is cached; fresh pages hold false */
	size_t count;
	struct cp_pprof_known labels[2 + CP_ROW_LABELS_CONFIGURED + CP_LABELS_MAX + CP_ROW_LABELS];
};

/* A numeric label of a row. */
struct cp_row_label_own {
	const char *key, *unit;
	struct cp_pprof_known known;
};

struct cp_row_labels {
	struct cp_pprof *w;
	struct cp_pprof_label configured[CP_ROW_LABELS_CONFIGURED];
	size_t configured_count;
	char text[1024];			    /* text of the configured labels */
	struct cp_row_label_own own[CP_ROW_LABELS]; /* labels of the row before this one */
	struct cp_row_label_list *kept;		    /* a cache of lists */
};

/* Open for the writer W, which is opened later. CONFIGURED: k=v,...; NULL or "" = no labels.
 * Returns 0 or -ENOMEM. */
int cp_row_labels_open(struct cp_row_labels *x, struct cp_pprof *w, const char *configured);
/* Returns the labels that all rows of a thread and a label set share; the list is made once for
 * many rows. T: the thread's labels, or NULL. THREAD and SET: numbers that identify the thread and
 * the set. */
const struct cp_row_label_list *cp_row_labels_of(struct cp_row_labels *x, uint32_t thread,
						 const struct cp_thread_label *t, uint32_t set);
/* Write COMMON to TO with the labels of OWN added; a label of OWN replaces one of COMMON with the
 * same key. */
void cp_row_labels_add(struct cp_row_labels *x, const struct cp_row_label_list *common,
		       const struct cp_encode_labels *own, struct cp_row_label_list *to);
void cp_row_labels_close(struct cp_row_labels *x);

/* encode.c
 *
 * Encodes aggregated and named samples as a pprof profile.
 *
 * The dump calls this under the collector's lock. The encoder doesn't know where samples came from:
 * struct cp_profile_info describes the value types and the meaning of the weights.
 */

/* The most values that a row may have besides those in struct cp_stack. */
#define CP_ENCODE_MORE 4

struct cp_profile_info {
	const struct cp_pprof_type
		*types;	       /* of the values, count first, then of the further values */
	unsigned type_count;   /* number of types, without the further ones */
	unsigned default_type; /* as in struct cp_mode_ops */
	unsigned more_count;
	void (*more_values)(const void *context, uint32_t row, uint64_t *values);
	struct cp_pprof_type period_type;
	const char *drop_frames; /* as in struct cp_mode_ops, or NULL */
	uint64_t period;	 /* in period_type's unit */
	uint64_t time_ns;     /* UTC: start of the window; for values of one moment, that moment */
	uint64_t duration_ns; /* 0 = values of one moment */
	const char *labels;   /* k=v,... on every sample; "" = none */
	/* Adds labels of a row to those of its thread and to LABELS; NULL = no such labels. Keys
	 * and units must be constants, because they are compared by address. */
	void (*row_labels)(const void *context, const struct cp_stack *s,
			   struct cp_encode_labels *to);
	const void *context;
	const char *const *comments;
	unsigned comment_count;
	const struct cp_run_times *times; /* NULL = the file gets no time index */
	const struct cp_vec *base; /* the values at the begin of a window, which are subtracted
				      (cp_aggregate_since); NULL = none */
};

/* Write A to SINK as a profile. A's locations must already be named. Returns 0 or the first error.
 */
int cp_encode_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		    struct cp_sink *sink);

/* write_times.c
 *
 * The time index of a run as field 7361 of its file, which readers of pprof's format skip. All
 * times are ns since the run's start, or since FROM. Parts of it are messages of their own with the
 * same number, which protobuf's rules join, so no part is large.
 */

/* The index, and the run's clocks at its start and now. */
struct cp_run_times {
	const struct cp_times *times;
	uint64_t start_utc_ns, start_ns, start_cpu_ns; /* universal; monotonic; of the process */
	struct cp_times_counter now;		       /* when the profile's time was read */
	uint64_t from; /* the file begins so many ns after the run's start; 0 = it has all */
};

/* What becomes of rows in the file: its row FIRST stands for it, too, and SAMPLE is FIRST's number
 * in the file, from 1; 0 = it isn't written. */
struct cp_times_row {
	uint32_t first, sample;
};

struct cp_times_rows {
	struct cp_vec rows; /* struct cp_times_row; empty: none are noted */
};

static inline void cp_write_times_row(struct cp_times_rows *x, uint32_t row, uint32_t first)
{
	if (row < x->rows.count)
		CP_VEC_AT(&x->rows, struct cp_times_row, row)->first = first;
}

static inline void cp_write_times_sample(struct cp_times_rows *x, uint32_t first, uint64_t sample)
{
	if (first < x->rows.count)
		CP_VEC_AT(&x->rows, struct cp_times_row, first)->sample = (uint32_t)sample;
}

/* Writes the index after all SAMPLES samples. */
void cp_write_times(struct cp_pprof *w, const struct cp_run_times *times,
		    const struct cp_aggregate *a, const struct cp_times_rows *rows,
		    uint64_t samples);

/* utf8.c
 *
 * UTF-8 checks. Names come from ELF files and from the program and may be invalid; a profile must
 * be valid. No allocation, no locale, any context.
 */

/* Is it valid as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF? */
bool cp_utf8_valid(const char *s, size_t n);

/* Copy the bytes at S to TO, with each ill-formed part (Unicode's maximal subpart) replaced by
 * U+FFFD. TO must have room for 3 * N bytes and must not overlap S. No NUL is added. Returns the
 * number of bytes written. */
size_t cp_utf8_repair(char *to, const char *s, size_t n);

#endif
