/* SPDX-License-Identifier: BSD-3-Clause */
/* Events without a stack, on their way to the drain; see diary.h.
 *
 * A ring of slots that any thread may write. A slot's TURN counts how often it was written and
 * read: even, it waits for the writer of that round; odd, for the reader. So fresh pages are an
 * empty ring. A handler may jump out of a writer, whose slot then waits for ever: the reader gives
 * up a slot that has held it up for a second. Nobody uses that slot again, because its writer may
 * only be late. */
#include "sample/diary.h"

#include "base/base.h"
#include "base/sys.h"
#include "sample/sample.h"

#define SLOTS 8192u
#define GIVEN_UP UINT64_MAX
#define GIVE_UP_NS UINT64_C(1000000000)

struct slot {
	uint64_t turn;
	struct cp_diary_entry entry;
};

static struct slot *slots;
static uint64_t head, tail, marked; /* entries ever written, read, and before the mark */
static uint64_t held_up_ns;	    /* since when the reader waits for a writer; 0 = it doesn't */

static uint64_t round_of(uint64_t at)
{
	return at / SLOTS * 2;
}

bool cp_diary_open(void)
{
	if (!slots)
		cp_store_release(&slots, cp_sys_map(SLOTS * sizeof(*slots)));
	return slots != NULL;
}

static void sign(struct cp_diary_entry *e)
{
	struct cp_thread *t = cp_self.thread;

	e->thread = t ? t->index : CP_DIARY_NOBODY;
	e->tid = t ? t->tid : 0;
	if (t)
		t->in_diary = true;
}

bool cp_diary_add(const struct cp_diary_entry *e)
{
	struct slot *s = cp_load_acquire(&slots);
	uint64_t at = cp_load_relaxed(&head), turn;

	if (!s)
		return false;
	for (;;) {
		turn = cp_load_acquire(&s[at % SLOTS].turn);
		if (turn == round_of(at)) {
			if (cp_cas_acqrel(&head, &at, at + 1))
				break;
		} else if (turn == GIVEN_UP) {
			if (cp_cas_acqrel(&head, &at, at + 1))
				at++;
		} else if (turn > round_of(at)) {
			at = cp_load_relaxed(&head);
		} else {
			cp_count(CP_COUNT_LOST_TIMES, 1);
			return false;
		}
	}
	turn = round_of(at);
	s[at % SLOTS].entry = *e;
	sign(&s[at % SLOTS].entry);
	/* Release: the reader that sees the turn sees the entry. */
	if (!cp_cas_acqrel(&s[at % SLOTS].turn, &turn, turn + 1))
		return false;
	if (at - cp_load_relaxed(&tail) == SLOTS / 2)
		cp_capture_settings.wake();
	return true;
}

void cp_diary_mark(void)
{
	marked = cp_load_acquire(&head);
}

/* Returns whether the reader has waited for S's writer for long enough, and S is given up. */
static bool gives_up(struct slot *s)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), turn = round_of(tail);

	held_up_ns = held_up_ns ? held_up_ns : now;
	if (now - held_up_ns < GIVE_UP_NS || !cp_cas_acqrel(&s->turn, &turn, GIVEN_UP))
		return false;
	cp_count(CP_COUNT_LOST_TIMES, 1);
	return true;
}

bool cp_diary_next(struct cp_diary_entry *e)
{
	for (; tail != marked; cp_store_relaxed(&tail, tail + 1)) {
		struct slot *s = &slots[tail % SLOTS];
		uint64_t turn = cp_load_acquire(&s->turn);

		if (turn == GIVEN_UP)
			continue;
		/* A writer that is interrupted has not written its entry yet. */
		if (turn != round_of(tail) + 1) {
			if (gives_up(s))
				continue;
			return false;
		}
		*e = s->entry;
		held_up_ns = 0;
		/* Release: the slot's next writer comes after this reading. */
		cp_store_release(&s->turn, round_of(tail) + 2);
		cp_store_relaxed(&tail, tail + 1);
		return true;
	}
	return false;
}

void cp_diary_fork_child(void)
{
	head = tail = marked = held_up_ns = 0;
	if (slots)
		cp_sys3(SYS_madvise, (void *)slots, SLOTS * sizeof(*slots), 4 /* MADV_DONTNEED */);
}
