/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that no table knows, as a JIT's: for the tests of the walk through it. x86-64 only. */
#ifndef GENERATED_CODE_H
#define GENERATED_CODE_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define GENERATED_PAGE 4096
#define GENERATED_OFFSET 128 /* there is something before it to read */
#define GENERATED_NEXT 64    /* from one function to the next, which is the same */
#define GENERATED_RETURN 6   /* the function that it calls returns to this place */

/* push %rbp; mov %rsp,%rbp; call *%rax; pop %rbp; ret */
static const uint8_t generated_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x5d, 0xc3 };

/* Two of them; NULL where no memory may be executed. */
static inline uint8_t *generated_map(void)
{
	uint8_t *page = mmap(NULL, GENERATED_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	page += GENERATED_OFFSET;
	memcpy(page, generated_code, sizeof(generated_code));
	memcpy(page + GENERATED_NEXT, generated_code, sizeof(generated_code));
	return page;
}

static inline void generated_unmap(uint8_t *code)
{
	munmap(code - GENERATED_OFFSET, GENERATED_PAGE);
}

/* The return address of its call, in the first or the second. */
static inline uint64_t generated_return(const uint8_t *code, unsigned which)
{
	return (uint64_t)code + which * GENERATED_NEXT + GENERATED_RETURN;
}

#endif
