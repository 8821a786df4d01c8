/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds circles of waits; see session.h. Each thread waits for one thread at most, so a walk from
 * any thread ends, or comes to where it has been. */
#include "session/session.h"

#include "base/base.h"
#include "base/sys.h"

/* A thread on the walks, by its tid. */
struct node {
	uint64_t tid; /* the sort key */
	struct cp_thread_look *of;
	size_t walk; /* the walk that came here first; 0 = none */
};

static struct node *find(const struct cp_vec *nodes, int tid)
{
	size_t i = cp_sort_first(nodes->items, nodes->count, nodes->size, (uint64_t)tid);
	struct node *n = CP_VEC_AT(nodes, struct node, i);

	return i < nodes->count && n->tid == (uint64_t)tid ? n : NULL;
}

static struct node *next_of(const struct cp_vec *nodes, const struct node *n)
{
	const struct cp_thread_wait *w = &n->of->wait;
	int tid = w->joined ? w->joined : w->holder;

	return tid > 0 && !w->limited ? find(nodes, tid) : NULL;
}

/* Return true if the circle through FIRST was there at one moment: all locks are read again, and
 * afterwards no thread has run since before that. */
static bool is_true(const struct cp_vec *nodes, const struct node *first)
{
	const struct node *n = first, *next;

	do {
		next = next_of(nodes, n);
		if (cp_thread_waits_for(n->of) != (int)next->tid)
			return false;
		n = next;
	} while (n != first);
	do {
		if (!cp_thread_waits_still(n->of))
			return false;
		n = next_of(nodes, n);
	} while (n != first);
	return true;
}

static void number(const struct cp_vec *nodes, const struct node *first, unsigned deadlock)
{
	const struct node *n = first;

	do {
		n->of->wait.deadlock = deadlock;
		n = next_of(nodes, n);
	} while (n != first);
}

/* Return the first thread that the walk from FROM comes to for the second time, if no earlier walk
 * was there; NULL: there is none. */
static struct node *walk(const struct cp_vec *nodes, struct node *from, size_t number_of_walk)
{
	struct node *n = from;

	for (; n && !n->walk; n = next_of(nodes, n))
		n->walk = number_of_walk;
	return n && n->walk == number_of_walk ? n : NULL;
}

void cp_deadlocks_find(struct cp_thread_look *t, size_t count)
{
	struct cp_vec nodes = { .size = sizeof(struct node) };
	unsigned found = 0;

	for (size_t i = 0; i < count; i++) {
		struct node *n = t[i].tid > 0 ? cp_vec_add(&nodes) : NULL;

		if (n)
			*n = (struct node){ .tid = (uint64_t)t[i].tid, .of = &t[i] };
	}
	cp_sort(nodes.items, nodes.count, nodes.size);
	for (size_t i = 0; i < nodes.count; i++) {
		struct node *n = walk(&nodes, CP_VEC_AT(&nodes, struct node, i), i + 1);

		if (n && is_true(&nodes, n))
			number(&nodes, n, ++found);
	}
	cp_vec_release(&nodes);
}
