/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack as calls and returns make it; see oracle.h.
 *
 * A return, or a jump to where a register says (longjmp, an exception's landing), with the stack
 * pointer above a return address has left that frame. A jump at a function's end (a tail call)
 * changes nothing, as it should. Generated code pops its return address, moves the stack pointer,
 * and pushes it again: the frame is still there in between, and then its slot is another one.
 */
#include "oracle.h"

#define SHADOW 65536

static struct oracle_call calls[SHADOW];
static unsigned depth;
static struct oracle_walk outside; /* from where the stepping began outwards */
static unsigned left;		   /* frames of it that were returned from */
static unsigned long confirmed, refuted;

void oracle_shadow_begin(const struct oracle_walk *outer)
{
	depth = left = 0;
	outside = *outer;
}

void oracle_shadow_push(const struct oracle_call *call)
{
	if (depth < SHADOW)
		calls[depth++] = *call;
}

void oracle_shadow_pop(uint64_t sp)
{
	while (depth && calls[depth - 1].slot < sp)
		oracle_skip_returned(calls[--depth].callee);
}

/* The prefixes that occur before a call: notrack, bnd, data16 (__tls_get_addr's padding), REX; and
 * rep before ret. */
static const uint8_t *skip_prefixes(const uint8_t *p)
{
	while (*p == 0x3e || *p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x67 || *p == 0x64 ||
	       (*p & 0xf0) == 0x40)
		p++;
	return p;
}

/* Can the instruction at P leave its function? A return, a jump to where a register or a word
 * says, a call, a system call (sigreturn). */
static bool leaves(const uint8_t *p)
{
	unsigned op;

	p = skip_prefixes(p);
	op = p[1] >> 3 & 7;
	return *p == 0xc3 || *p == 0xc2 || *p == 0xe8 || (*p == 0xff && (op == 2 || op == 4)) ||
	       (*p == 0x0f && p[1] == 0x05);
}

void oracle_shadow_moved(uint64_t from, uint64_t last, uint64_t sp)
{
	struct oracle_call *top = depth ? &calls[depth - 1] : NULL;

	if (leaves((const uint8_t *)from)) {
		oracle_shadow_pop(sp);
		return;
	}
	if (!top)
		return;
	top->lifted |= top->slot < sp;
	if (top->lifted && sp < last && *(const uint64_t *)sp == top->ra) {
		top->slot = sp;
		top->lifted = false;
	}
}

static unsigned call_size(const uint8_t *p)
{
	const uint8_t *begin = p;

	p = skip_prefixes(p);
	return *p == 0xe8 || (*p == 0xff && (p[1] & 0x38) == 0x10) ? (unsigned)(p - begin) + 2 : 0;
}

bool oracle_shadow_is_call(uint64_t from, uint64_t sp, uint64_t *ra)
{
	unsigned size = call_size((const uint8_t *)from);

	*ra = *(const uint64_t *)sp;
	return size && *ra >= from + size && *ra <= from + 15;
}

const struct oracle_call *oracle_shadow_call(unsigned i)
{
	return i < depth ? &calls[depth - 1 - i] : NULL;
}

uint64_t oracle_shadow_right(unsigned i)
{
	if (i <= depth)
		return calls[depth - i].ra - !calls[depth - i].exact;
	i -= depth;
	return left + i < outside.n ? outside.pcs[left + i] : 0;
}

void oracle_shadow_returned(uint64_t from, uint64_t pc)
{
	const uint8_t *p = (const uint8_t *)from;

	p += *p == 0xf3 || *p == 0xf2;
	if (depth || (*p != 0xc3 && *p != 0xc2) || left + 1 >= outside.n)
		return;
	left++;
	if (outside.pcs[left] + 1 == pc) {
		confirmed++;
		return;
	}
	refuted++;
	fprintf(stderr, "oracle: where the stepping began, frame %u was wrong:\n", left);
	oracle_show(stderr, outside.pcs[left]);
	oracle_show(stderr, pc - 1);
	outside.pcs[left] = pc - 1;
}

bool oracle_shadow_report(FILE *out)
{
	if (confirmed + refuted)
		fprintf(out,
			"frames from before the stepping began: %lu returned to as walked, %lu "
			"not\n",
			confirmed, refuted);
	return refuted == 0;
}
