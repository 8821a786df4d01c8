/* SPDX-License-Identifier: BSD-3-Clause */
/* A module's .eh_frame_hdr and .eh_frame, made by hand: one CIE, one FDE, for the tests
 * and the fuzzer of lib/sigsafe/cfi*.c.
 */
#ifndef CFI_IMAGE_H
#define CFI_IMAGE_H

#include <stdint.h>
#include <string.h>

#include "unwind/signal/unwind_signal.h"

#define IMAGE_SIZE 4096
#define CODE_AT 8192 /* the code that is described, from the image's begin */
#define CODE_SIZE 256

struct image {
	uint8_t b[IMAGE_SIZE] __attribute__((aligned(16)));
	size_t n;
	struct cp_cfi_module module;
};

static void put(struct image *im, const void *p, size_t n)
{
	memcpy(im->b + im->n, p, n);
	im->n += n;
}

static void put32(struct image *im, uint64_t v)
{
	uint32_t w = (uint32_t)v;

	put(im, &w, sizeof(w));
}

/* A record: its length, filled in at its end with padding to 4 bytes. */
static size_t record_begin(struct image *im)
{
	put32(im, 0);
	return im->n;
}

static void record_end(struct image *im, size_t from)
{
	uint32_t length;

	while (im->n % 4)
		im->b[im->n++] = 0;
	length = (uint32_t)(im->n - from);
	memcpy(im->b + from - 4, &length, 4);
}

/* x86_64's usual CIE is: version 1, "zR", 1, -8, 16, pcrel sdata4; CFA = rsp + 8, RA at
 * CFA - 8. aarch64's: CFA = sp. */
#if defined(__x86_64__)
#define CIE_HEAD "\001zR\0\001\170\020\001\033"
#define CIE_PROGRAM "\014\007\010\220\001"
#define CIE_HEAD_OF_COMPILERS CIE_HEAD
#else
#define CIE_HEAD "\001zR\0\001\170\036\001\033"
#define CIE_PROGRAM "\014\037\0"
#define CIE_HEAD_OF_COMPILERS "\001zR\0\004\170\036\001\033" /* code counted in instructions */
#endif
#define BYTES(s) (s), sizeof(s) - 1

/* The module is the first SIZE bytes of IM, wherever that is now. */
static void image_place(struct image *im, size_t size)
{
	struct cp_cfi_module *m = &im->module;

	m->start = m->hdr = m->tables = (uint64_t)(uintptr_t)im->b;
	m->end = m->tables_end = m->start + size;
}

static void image_make(struct image *im, const void *cie_head, size_t head_size,
		       const void *cie_program, size_t cie_size, const void *program, size_t size)
{
	size_t cie, fde, from;

	memset(im, 0, sizeof(*im));
	put(im, "\001\033\003\073", 4);
	put32(im, 0);	    /* .eh_frame: not used */
	put32(im, 1);	    /* one entry */
	put32(im, CODE_AT); /* its code */
	put32(im, 0);	    /* its FDE: filled in below */
	cie = im->n;
	from = record_begin(im);
	put32(im, 0);
	put(im, cie_head, head_size);
	put(im, cie_program, cie_size);
	record_end(im, from);
	fde = im->n;
	from = record_begin(im);
	put32(im, im->n - cie);
	put32(im, CODE_AT - im->n);
	put32(im, CODE_SIZE);
	put(im, "", 1); /* no augmentation data */
	put(im, program, size);
	record_end(im, from);
	memcpy(im->b + 16, &(uint32_t){ (uint32_t)fde }, 4);
	image_place(im, IMAGE_SIZE);
}

static inline uint64_t image_code(const struct image *im)
{
	return im->module.start + CODE_AT;
}

#endif
