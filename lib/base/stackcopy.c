/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads windows of another thread's stack; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define PAGE UINT64_C(4096)
/* A frame's saved registers lie a little below its return address, which is read first. */
#define BELOW UINT64_C(256)

void cp_stackcopy_begin(struct cp_stackcopy *c)
{
	c->low = c->size = 0;
	c->mem = -1;
	c->denied = false;
}

void cp_stackcopy_end(struct cp_stackcopy *c)
{
	if (c->mem >= 0)
		cp_sys_close(c->mem);
	c->mem = -1;
}

/* Copies from FROM on into DATA, up to the first unreadable page. Returns the number of bytes, or
 * a negative errno. Any error other than EFAULT (no readable byte) means that the call is denied;
 * /proc is used then. */
static long copy_pages(struct cp_stackcopy *c, uint64_t from)
{
	long got = -EPERM;

	if (!c->denied)
		got = cp_sys_peek_some(c->data, from, sizeof(c->data));
	if (got >= 0 || got == -EFAULT)
		return got;
	c->denied = true;
	if (c->mem < 0)
		c->mem = cp_thread_file_open("mem");
	return c->mem < 0 ? c->mem : cp_sys_pread(c->mem, c->data, sizeof(c->data), from);
}

static bool copy_holds(const struct cp_stackcopy *c, uint64_t addr)
{
	return c->size >= sizeof(addr) && addr - c->low <= c->size - sizeof(addr);
}

bool cp_stackcopy_read(struct cp_stackcopy *c, uint64_t addr, uint64_t *word)
{
	uint64_t from = addr - BELOW;
	long got;

	if (addr < PAGE || addr + sizeof(*word) < addr)
		return false;
	if (!copy_holds(c, addr)) {
		/* The next lower page may be the stack's guard page. */
		if (from < (addr & -PAGE))
			from = addr & -PAGE;
		got = copy_pages(c, from);
		c->low = from;
		c->size = got > 0 ? (uint64_t)got : 0;
		if (!copy_holds(c, addr))
			return false;
	}
	memcpy(word, c->data + (addr - c->low), sizeof(*word));
	return true;
}
