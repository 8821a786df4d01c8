/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a profile from any source: a file, "-", http(s)://, memory; gzip or plain.
 *
 * Called by read.c. The result is decompressed and never longer than CT_INPUT_MAX, because some
 * kilobytes of gzip can hold gigabytes of zeros.
 */
#ifndef CT_INPUT_H
#define CT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define CT_INPUT_MAX ((uint64_t)4 << 30)

/* The error and its source, for one line to the user. */
struct ct_fault {
	uint64_t offset; /* in the decompressed bytes */
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
/* The same of FOUND, opened with O_PATH, which it closes; -1 stays -1. */
int ct_input_reopen_plain(int found);

#endif
