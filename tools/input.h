/* Bytes of a profile, wherever they are: a file, "-", http(s)://, memory; gzip or plain.
 *
 * Called by read.c. What comes out is decompressed, and never more than CT_INPUT_MAX: some
 * kilobytes of gzip can hold gigabytes of zeros.
 */
#ifndef CT_INPUT_H
#define CT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define CT_INPUT_MAX ((uint64_t)4 << 30)

/* What is wrong and where, for one line to the user. */
struct ct_fault {
	uint64_t offset; /* in the decompressed bytes */
	char text[256];
};

struct ct_input;

/* 0, or a negative errno and FAULT says why. */
int ct_input_open(struct ct_input **in, const char *source, struct ct_fault *fault);
/* DATA stays the caller's. */
struct ct_input *ct_input_memory(const void *data, size_t size);
/* Up to SIZE bytes; 0 at the end; -EIO, -EBADMSG (not gzip after all), -EFBIG. */
long ct_input_read(struct ct_input *in, void *buffer, size_t size, struct ct_fault *fault);
void ct_input_close(struct ct_input *in);
/* Another limit than CT_INPUT_MAX. */
void ct_input_limit(struct ct_input *in, uint64_t most);

/* Is this a URL rather than a file's name? */
int ct_input_is_url(const char *source);
/* The body behind a URL, to be freed; 0, or -errno and FAULT says why (fetch.c). */
int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault);

void ct_fault_say(struct ct_fault *fault, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
