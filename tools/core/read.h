/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/core/, by the file that implements them. */
#ifndef CP_CORE_READ_H
#define CP_CORE_READ_H

#include <protobuf-c/protobuf-c.h>

#include "core/model.h"

/* foreign.c
 *
 * Recognizes files of other kinds by their first bytes.
 */

/* The formats that can be read, for messages. */
#define CT_FOREIGN_READS                                                                           \
	"pprof's format, and jemalloc's and gperftools' files, plain or packed by gzip"

/* Describes a file that begins with these SIZE bytes and is no profile: what it is, and how to get
 * a pprof profile from it, as "but a zip archive: ...". TEXT becomes "" if the kind is unknown. */
void ct_foreign_describe(char *text, size_t room, const unsigned char *begin, size_t size);

/* input.c
 *
 * Bytes of a profile from any source: a file, "-", http(s)://, memory; gzip or plain.
 *
 * Called by read.c. The result is decompressed and never longer than CT_INPUT_MAX, because some
 * kilobytes of gzip can hold gigabytes of zeros.
 */

#define CT_INPUT_MAX ((uint64_t)4 << 30)

/* An error and its source, for one line to the user. */
struct ct_fault {
	uint64_t offset; /* offset in the decompressed bytes */
	char text[256];
};

struct ct_input;

/* Returns 0, or a negative errno with the reason in FAULT. */
int ct_input_open(struct ct_input **in, const char *source, struct ct_fault *fault);
/* Reads FD from where it stands; the caller closes it afterwards. */
struct ct_input *ct_input_descriptor(int fd);
/* The caller still owns DATA. */
struct ct_input *ct_input_memory(const void *data, size_t size);
/* Reads up to SIZE bytes. Returns their number, 0 at the end, or -EIO, -EBADMSG (invalid gzip),
 * -EFBIG. */
long ct_input_read(struct ct_input *in, void *buffer, size_t size, struct ct_fault *fault);
void ct_input_close(struct ct_input *in);
/* Returns when the file was written, in nanoseconds, 0 if that is unknown. */
int64_t ct_input_written(const struct ct_input *in);
/* Sets another limit than CT_INPUT_MAX. */
void ct_input_limit(struct ct_input *in, uint64_t most);

/* Is this a URL, and not the name of a file? */
int ct_input_is_url(const char *source);
/* Fetches the body of a URL, which the caller frees. Returns 0, or -errno with the reason in FAULT
 * (fetch.c). */
int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault);

void ct_input_fault_say(struct ct_fault *fault, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Opens PATH, which a profile names, if it is a plain file: to open a device may already do
 * something, as root starts /dev/watchdog so. Returns a descriptor, or -1 with errno set. */
int ct_input_open_plain(const char *path);
/* The same for FOUND, a descriptor opened with O_PATH, which is closed; -1 stays -1. */
int ct_input_reopen_plain(int found);

/* load.c
 *
 * Makes the profile that a verb works on: reads and merges the sources, and subtracts a base.
 *
 *     static struct ct_load my_load;
 *     ... ct_options_parse(..., { ct_load_options, ... })
 *     p = ct_load(argv + first, argc - first);
 */

/* -base, -diff_base, -normalize, -drop_frames, for ct_options_parse. */
extern const struct ct_option ct_load_options[];

/* Reads SOURCES (files, "-", URLs), merges them, subtracts the base that the options name, and
 * leaves out the frames that the profile itself says to drop; those of libcprof's profiles only
 * with -drop_frames. Returns NULL after a message on stderr. */
struct ct_profile *ct_load(char *const *sources, int count);
/* Reads and merges FILES, applies the options of times_filter.c, and says so on stderr. Returns
 * NULL after a message. */
struct ct_profile *ct_load_files(char *const *files, int count);
static inline struct ct_profile *ct_load_file(const char *file)
{
	return ct_load_files((char *const[]){ (char *)file }, 1);
}
/* Is what ct_load() made as ct_combine leaves it: each stack once, and nothing that is not used? */
bool ct_load_is_combined(void);
/* Returns why what ct_load() made has no time index, or none of all sources, though a source has
 * one; NULL: nothing was lost. */
const char *ct_load_lost_times(void);
/* Was a base subtracted from what ct_load() made? */
bool ct_load_is_difference(void);
/* With -diff_base, the base's samples have this label with the value "true", and shares are
 * relative to them. */
#define CT_BASE_LABEL "pprof::base"

/* read.c
 *
 * Reads a profile's bytes into a profile in memory. Called by every verb that reads.
 *
 * The input is hostile until proven otherwise: decompressed size, message sizes and counts are
 * limited, and every index is checked. An error message gives the offset of the error.
 */

/* Returns 0, or a negative errno with the reason in FAULT: -EBADMSG if the profile is not valid,
 * -EFBIG if it is over a limit, or the input's error. */
int ct_read(struct ct_profile **p, struct ct_input *in, struct ct_fault *fault);

/* Reads SOURCE (a file, "-" or a URL). Returns NULL after a message on stderr that says why it
 * can't be read. */
struct ct_profile *ct_read_source(const char *source);
/* Reads COUNT sources into P, files by as many threads as there are processors; messages come in
 * the order of the sources. Returns -1, with nothing in P, if one can't be read. */
int ct_read_sources(struct ct_profile **p, const char *const *sources, size_t count);

/* read_messages.c
 *
 * The half of the reader that knows the meaning of the messages; used by read.c only.
 */

/* Memory of one unpacked message, which is freed all at once. */
struct ct_scratch {
	struct ct_scratch_block *blocks;
};

struct ct_messages {
	struct ct_profile *p;
	struct ct_fault *fault;
	uint64_t offset; /* offset of the current message */
	struct ct_scratch scratch;
	ProtobufCAllocator allocator;
	struct ct_ids location_ids, function_ids, mapping_ids;
	/* By number: index + 1 in the profile's table; 0 = mentioned, but not (yet) read. */
	uint32_t *location_at, *function_at, *mapping_at;
	size_t location_room, function_room, mapping_room;
	uint32_t *frames; /* frames of one sample */
	size_t frame_room;
	size_t types_seen, strings_seen;
};

void ct_read_messages_init(struct ct_messages *m, struct ct_profile *p, struct ct_fault *fault);
void ct_read_messages_release(struct ct_messages *m);

/* Each of these reads one message's body, and returns 0, or a negative errno with the reason in
 * FAULT. */
int ct_read_messages_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_period_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_sample(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_mapping(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_location(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_function(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_string(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_comment(struct ct_messages *m, uint64_t string);
/* Reads a string index of the top level that may occur once; it is checked at the end. */
int ct_read_messages_index(struct ct_messages *m, uint64_t string, uint32_t *to);

/* legacy.c
 *
 * Reads jemalloc's heap profiles, and gperftools' CPU and heap profiles, whose values are scaled up
 * as those tools' own readers do. They don't say when they were written: the time is the file's.
 * Sample types are named as libcprof's, so that every verb takes them for profiles of its kind.
 */

/* Do these bytes begin such a profile? */
bool ct_legacy_is(const void *begin, size_t size);
/* Reads the whole file; DATA[SIZE] is NUL, and DATA is changed. WRITTEN is when the file was
 * written, or 0. Returns 0, or -EBADMSG with the reason in FAULT. */
int ct_legacy_read(struct ct_messages *m, char *data, size_t size, int64_t written);
/* Gives a profile without names those of the modules that are here, and says on stderr for which
 * modules that can't be done. */
void ct_legacy_name(struct ct_profile *p, const char *source);
/* What adds the names; set by main.c. */
extern void (*ct_legacy_names)(struct ct_profile *p);
/* Take the names from the files that are there, be they the same or not? */
extern bool ct_legacy_any_file;

/* write.c
 *
 * From a profile in memory to a gzipped pprof file. Called by the verbs that make profiles.
 */

/* Returns 0 or a negative errno. Ids are 1..N in the order of the tables. Entries that nothing
 * refers to are written, too. */
int ct_write(const struct ct_profile *p, FILE *to);

/* Writes PATH ("-": stdout, unless that is a terminal) as a whole; see core.h. Prints a message
 * on stderr if that fails. Returns 0 or a negative errno. */
int ct_write_file(const struct ct_profile *p, const char *path);
/* The same for a file that was read from PATH: it is as old as before. */
int ct_write_file_in_place(const struct ct_profile *p, const char *path);

#endif
