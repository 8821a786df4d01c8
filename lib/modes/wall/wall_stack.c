/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at a thread from outside; see wall.h. */
#include "modes/wall/wall.h"

#include <errno.h>

#include "base/text.h"
#include "unwind/signal/unwind_signal.h"
#include "collect/collect.h"

/* A thread that runs briefly now and then may run just during a look. */
#define TRIES 5

uint64_t cp_wall_stack_clock_of(int tid)
{
	struct timespec t;

	if (cp_sys2(SYS_clock_gettime, CP_THREAD_CLOCK(tid), &t) < 0)
		return UINT64_MAX;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Parse the last two words of TEXT, "0xSP 0xPC". Returns false if they are malformed. */
static bool parse_registers(const char *text, const char *end, uint64_t *sp, uint64_t *pc)
{
	const char *p = end;

	for (int words = 0; words < 2 && p > text; words += *--p == ' ')
		;
	if (p == text || strncmp(p, " 0x", 3) != 0)
		return false;
	p += 3;
	if (cp_text_parse_u64(&p, 16, sp) || strncmp(p, " 0x", 3) != 0)
		return false;
	p += 3;
	return cp_text_parse_u64(&p, 16, pc) == 0;
}

/* The first words of TEXT, "NUMBER 0xARG 0xARG ..."; "-1" has no arguments. */
static struct cp_wall_call parse_call(const char *text)
{
	struct cp_wall_call call = { .number = -1 };
	uint64_t number;

	if (*text == '-' || cp_text_parse_u64(&text, 10, &number))
		return call;
	call.number = (int64_t)number;
	for (int i = 0; i < 4 && strncmp(text, " 0x", 3) == 0; i++) {
		text += 3;
		if (cp_text_parse_u64(&text, 16, &call.args[i]))
			break;
	}
	return call;
}

/* Return what ERR, from the thread's /proc file, means. */
static enum cp_wall_doing no_file(int err, int tid)
{
	if (cp_wall_stack_clock_of(tid) == UINT64_MAX)
		return CP_WALL_ENDED;
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EINTR ? CP_WALL_HIDDEN
										   : CP_WALL_DENIED;
}

/* Tell where TID waits. The line in its /proc file is "running", or the number of a system call
 * (-1: none) with arguments, sp and pc. */
static enum cp_wall_doing where(int tid, uint64_t *sp, uint64_t *pc, struct cp_wall_call *call)
{
	char text[256];
	long got = cp_thread_file_read(tid, "syscall", text, sizeof(text));

	if (got <= 0)
		return no_file((int)got, tid);
	if (text[0] == 'r')
		return CP_WALL_RUNS;
	*call = parse_call(text);
	if (!parse_registers(text, text + got, sp, pc))
		return CP_WALL_DENIED;
	/* After its end main stays as a zombie. */
	return *sp ? CP_WALL_WAITS : CP_WALL_ENDED;
}

static void walk_stack(uint64_t sp, uint64_t pc, struct cp_record *to, unsigned max_depth)
{
	static struct cp_stackcopy copy; /* guarded by the collector's lock */
	struct cp_unwind_input in = { .copy = &copy };
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned phase;

	in.regs.r[CP_REG_SP] = sp;
	in.regs.r[CP_REG_PC] = pc;
	cp_stackcopy_begin(&copy);
	phase = cp_gate_enter(&in.stable_modules);
	to->depth = (uint16_t)cp_unwind_dwarf_walk(&in, to->pcs, max_depth, &end);
	cp_gate_leave(phase);
	cp_stackcopy_end(&copy);
	to->end = (uint8_t)end;
}

enum cp_wall_doing cp_wall_stack_look(int tid, struct cp_record *to, unsigned max_depth,
				      uint64_t *clock, struct cp_wall_call *call)
{
	uint64_t before = cp_wall_stack_clock_of(tid), sp, pc, after;

	for (int i = 0; i < TRIES && before != UINT64_MAX; i++) {
		enum cp_wall_doing doing = where(tid, &sp, &pc, call);

		if (doing == CP_WALL_WAITS)
			walk_stack(sp, pc, to, max_depth);
		else if (doing != CP_WALL_RUNS)
			return doing;
		after = cp_wall_stack_clock_of(tid);
		*clock = after;
		if (after == before)
			return doing == CP_WALL_WAITS ? CP_WALL_WAITS : CP_WALL_QUEUES;
		/* A wait that ends during the look is a wait, too: of short ones there would be too
		 * few. The next one will do. */
		before = after;
	}
	return before == UINT64_MAX ? CP_WALL_ENDED : CP_WALL_RUNS;
}
