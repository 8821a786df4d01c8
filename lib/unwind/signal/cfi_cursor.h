/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads call frame information byte by byte, never past its end.
 *
 * A read past the end returns 0, sets BAD and stays at the end, so a parser checks once, when it is
 * done. Any context.
 */
#ifndef CP_CFI_CURSOR_H
#define CP_CFI_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cp_cfi_cursor {
	const uint8_t *p, *end;
	uint64_t bias; /* added to the address of *p, gives the byte's address in the module; not 0
			  in a copy */
	bool cut;      /* the bytes after END were not copied */
	bool bad;
};

/* Pointer encodings of .eh_frame: how a value is stored, and what is added to it. */
enum {
	CP_CFI_ENC_OMIT = 0xff,
	CP_CFI_ENC_FORMAT = 0x0f,
	CP_CFI_ENC_SDATA4 = 0x0b,
	CP_CFI_ENC_BASE = 0x70,
	CP_CFI_ENC_PCREL = 0x10,
	CP_CFI_ENC_INDIRECT = 0x80,
};

static inline bool cp_cfi_has(struct cp_cfi_cursor *c, uint64_t n)
{
	if ((uint64_t)(c->end - c->p) >= n)
		return true;
	c->bad = true;
	c->p = c->end;
	return false;
}

static inline void cp_cfi_skip(struct cp_cfi_cursor *c, uint64_t n)
{
	if (cp_cfi_has(c, n))
		c->p += n;
}

static inline uint8_t cp_cfi_u8(struct cp_cfi_cursor *c)
{
	return cp_cfi_has(c, 1) ? *c->p++ : 0;
}

#define CP_CFI_FIXED(name, type)                                                                   \
	static inline type name(struct cp_cfi_cursor *c)                                           \
	{                                                                                          \
		type v = 0;                                                                        \
                                                                                                   \
		if (cp_cfi_has(c, sizeof(v))) {                                                    \
			memcpy(&v, c->p, sizeof(v));                                               \
			c->p += sizeof(v);                                                         \
		}                                                                                  \
		return v;                                                                          \
	}
CP_CFI_FIXED(cp_cfi_u16, uint16_t)
CP_CFI_FIXED(cp_cfi_u32, uint32_t)
CP_CFI_FIXED(cp_cfi_u64, uint64_t)

static inline uint64_t cp_cfi_leb(struct cp_cfi_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = cp_cfi_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (is_signed && b & 0x40 && shift < 64)
		v |= ~UINT64_C(0) << shift;
	return v;
}

static inline uint64_t cp_cfi_uleb(struct cp_cfi_cursor *c)
{
	/* Fast path: nearly all numbers have one byte. */
	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cp_cfi_leb(c, false);
}

static inline int64_t cp_cfi_sleb(struct cp_cfi_cursor *c)
{
	return (int64_t)cp_cfi_leb(c, true);
}

/* Read a pointer in encoding ENC; an indirect pointer isn't followed. The 64-bit ports use no bases
 * but the pointer's own address; other bases set BAD. */
static inline uint64_t cp_cfi_pointer(struct cp_cfi_cursor *c, uint8_t enc)
{
	uint64_t at = (uint64_t)(uintptr_t)c->p + c->bias, v = 0;

	switch (enc & CP_CFI_ENC_FORMAT) {
	case 0x01: v = cp_cfi_uleb(c); break;
	case 0x02: v = cp_cfi_u16(c); break;
	case 0x03: v = cp_cfi_u32(c); break;
	case 0x00:
	case 0x04:
	case 0x0c: v = cp_cfi_u64(c); break;
	case 0x09: v = (uint64_t)cp_cfi_sleb(c); break;
	case 0x0a: v = (uint64_t)(int16_t)cp_cfi_u16(c); break;
	case 0x0b: v = (uint64_t)(int32_t)cp_cfi_u32(c); break;
	default: c->bad = true;
	}
	if ((enc & CP_CFI_ENC_BASE) == CP_CFI_ENC_PCREL)
		return v + at;
	if (enc & CP_CFI_ENC_BASE)
		c->bad = true;
	return v;
}

#endif
