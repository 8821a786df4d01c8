/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of profiles to send; see push.h.
 *
 * New profiles wait in memory. As soon as one can't be sent, all go to the spool, also later ones,
 * until the receiver takes profiles again. The oldest is always sent first.
 *
 *      add ──▶ memory ──▶ sender's thread ──▶ receiver
 *                 │           ▲
 *                 ▼           │
 *               spool ────────┘        after a failure, and from earlier pushes
 */
#include "push/push.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_WAIT 0.5
#define LAST_WAIT 300.0
/* Seconds to wait if the user must first change a credential or an address. */
#define HELD_WAIT 30.0
/* Most bytes kept in memory if there is no spool, or its disk is full. */
#define MEMORY_MAX ((uint64_t)32 << 20)
#define BATCH_BYTES ((size_t)2 << 20)
#define BATCH_MAX 64

struct entry {
	struct entry *next;
	struct ct_push_item *item;
};

struct ct_push_queue {
	const struct ct_push_queue_how *how;
	struct ct_push_sender *sender;
	struct ct_push_spool *spool;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* All fields below are under the lock. */
	struct entry *first, **last;
	uint64_t bytes; /* bytes of the entries' profiles */
	bool closing, failing;
	bool asked;	 /* the receiver has asked to wait */
	double until;	 /* time limit of the close */
	double next_try; /* time of the next try; 0: at once */
	double wait;	 /* seconds to wait before the next try */
	size_t alone;	 /* items to be sent one by one, because their batch was refused */
	uint64_t said;	 /* kinds of failures that were reported, as bits */
	struct ct_push_counts counts;
};

/* The items that the thread is sending. */
struct batch {
	struct ct_push_item *items[BATCH_MAX];
	size_t count, bytes;
	bool from_spool;
};

static void say_once(struct ct_push_queue *q, unsigned kind, const char *what, const char *why)
{
	if (q->how->quiet || (q->said >> kind & 1))
		return;
	q->said |= UINT64_C(1) << kind;
	fprintf(stderr, "cprof push: %s: %s%s%s\n", q->how->target->url, why, *what ? "; " : "",
		what);
}

enum { SAID_LATER, SAID_HELD, SAID_REFUSED, SAID_SPOOL };

/* ---- memory ---- */

static void append_item(struct ct_push_queue *q, struct ct_push_item *item)
{
	struct entry *e = ct_memory_alloc(sizeof(*e));

	e->item = item;
	*q->last = e;
	q->last = &e->next;
	q->bytes += item->size;
}

static void prepend(struct ct_push_queue *q, struct ct_push_item *item)
{
	struct entry *e = ct_memory_alloc(sizeof(*e));

	e->item = item;
	e->next = q->first;
	q->first = e;
	if (!e->next)
		q->last = &e->next;
	q->bytes += item->size;
}

static struct ct_push_item *take_first(struct ct_push_queue *q)
{
	struct entry *e = q->first;
	struct ct_push_item *item = e->item;

	q->first = e->next;
	if (!q->first)
		q->last = &q->first;
	q->bytes -= item->size;
	free(e);
	return item;
}

/* Puts ITEM into the spool. Returns whether it is there. */
static bool keep_item(struct ct_push_queue *q, struct ct_push_item *item)
{
	size_t lost = 0;
	int error = q->spool ? ct_push_spool_add(q->spool, item, &lost) : -ENOENT;

	q->counts.no_room += lost;
	if (!error)
		ct_push_item_free(item);
	else if (q->spool)
		say_once(q, SAID_SPOOL, "they are kept in memory, up to 32 MiB", strerror(-error));
	return !error;
}

/* Moves what is in memory to the spool, and limits what can't be moved. */
static void settle_memory(struct ct_push_queue *q)
{
	uint64_t most = q->how->size < MEMORY_MAX ? q->how->size : MEMORY_MAX;
	struct entry *e;

	if (q->failing || q->bytes > most) {
		/* Oldest first. What can't be written stays in order. */
		struct entry *left = q->first;

		q->first = NULL;
		q->last = &q->first;
		q->bytes = 0;
		while ((e = left)) {
			left = e->next;
			if (!keep_item(q, e->item))
				append_item(q, e->item);
			free(e);
		}
	}
	while (q->bytes > most) {
		ct_push_item_free(take_first(q));
		q->counts.no_room++;
	}
}

static bool is_too_big(const struct ct_push_target *t, const struct ct_push_item *item)
{
	return (t->samples_max && item->samples > t->samples_max) ||
	       (t->unpacked_max && ct_push_item_unpacked(item) > t->unpacked_max);
}

/* Appends ITEM, in parts if the receiver's limits demand that. */
static void append_parts(struct ct_push_queue *q, struct ct_push_item *item)
{
	struct ct_push_item *first, *second;

	if (!is_too_big(q->how->target, item) || ct_push_item_halve(item, &first, &second)) {
		append_item(q, item);
		return;
	}
	ct_push_item_free(item);
	append_parts(q, first);
	append_parts(q, second);
}

void ct_push_queue_add(struct ct_push_queue *q, struct ct_push_item *item)
{
	if (!item)
		return;
	pthread_mutex_lock(&q->lock);
	append_parts(q, item);
	settle_memory(q);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

/* ---- the sender's thread ---- */

static void expire(struct ct_push_queue *q)
{
	int64_t oldest = ((int64_t)time(NULL) - (int64_t)q->how->seconds) * INT64_C(1000000000);

	if (q->spool)
		q->counts.too_old += ct_push_spool_expire(q->spool);
	while (q->first && q->first->item->from_ns < oldest) {
		ct_push_item_free(take_first(q));
		q->counts.too_old++;
	}
}

static size_t batch_max(const struct ct_push_queue *q)
{
	return q->alone || q->how->target->batch < 1 ? 1
	       : q->how->target->batch < BATCH_MAX   ? q->how->target->batch
						     : BATCH_MAX;
}

static void take_from_spool(struct ct_push_queue *q, struct batch *b, size_t most)
{
	b->from_spool = true;
	while (b->count < most && b->count < ct_push_spool_count(q->spool) &&
	       b->bytes < BATCH_BYTES) {
		struct ct_push_item *item = ct_push_spool_load(q->spool, b->count);

		if (item) {
			b->bytes += item->size;
			b->items[b->count++] = item;
		} else if (!b->count) {
			/* The file is damaged. */
			ct_push_spool_remove(q->spool, 1);
			q->counts.refused++;
		} else {
			break;
		}
	}
}

static void take_batch(struct ct_push_queue *q, struct batch *b)
{
	size_t most = batch_max(q);

	*b = (struct batch){ .count = 0 };
	if (ct_push_spool_count(q->spool))
		take_from_spool(q, b, most);
	if (b->count)
		return;
	b->from_spool = false;
	while (b->count < most && q->first && b->bytes < BATCH_BYTES) {
		b->bytes += q->first->item->size;
		b->items[b->count++] = take_first(q);
	}
}

static void release_batch(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		ct_push_item_free(b->items[i]);
}

static void forget_batch(struct ct_push_queue *q, struct batch *b)
{
	if (b->from_spool)
		ct_push_spool_remove(q->spool, b->count);
	release_batch(b);
}

static void give_back(struct ct_push_queue *q, struct batch *b)
{
	if (b->from_spool)
		release_batch(b);
	else
		for (size_t i = b->count; i > 0; i--)
			prepend(q, b->items[i - 1]);
}

static void sent(struct ct_push_queue *q, struct batch *b)
{
	q->counts.sent += b->count;
	q->counts.sent_bytes += b->bytes;
	q->alone -= q->alone ? 1 : 0;
	if (q->failing && q->how->verbose)
		fprintf(stderr, "cprof push: %s: takes profiles again\n", q->how->target->url);
	q->failing = false;
	q->said &= ~(UINT64_C(1) << SAID_LATER | UINT64_C(1) << SAID_HELD);
	q->wait = 0;
	forget_batch(q, b);
}

static void try_later(struct ct_push_queue *q, struct batch *b, const struct ct_push_reply *r)
{
	bool held = r->outcome == CT_PUSH_HELD;
	double jitter = 0.5 + 0.5 * (double)random() / RAND_MAX;

	say_once(q, held ? SAID_HELD : SAID_LATER, "profiles are kept, and sent later", r->text);
	q->wait = q->wait * 2 < FIRST_WAIT ? FIRST_WAIT : q->wait * 2;
	if (q->wait < HELD_WAIT && held)
		q->wait = HELD_WAIT;
	if (q->wait > LAST_WAIT)
		q->wait = LAST_WAIT;
	q->next_try = ct_now() + (r->after > 0 ? r->after : q->wait * jitter);
	q->asked = r->after > 0;
	/* Nobody will change anything before the end, so give up. */
	if (held && q->closing)
		q->until = 0;
	q->failing = true;
	give_back(q, b);
	settle_memory(q);
}

static void batch_refused(struct ct_push_queue *q, struct batch *b, const struct ct_push_reply *r)
{
	struct ct_push_item *first, *second;

	if (b->count > 1) {
		/* One of the items may be the reason. */
		q->alone = b->count;
		give_back(q, b);
		return;
	}
	if (r->outcome == CT_PUSH_TOO_BIG && !ct_push_item_halve(b->items[0], &first, &second)) {
		forget_batch(q, b);
		prepend(q, second);
		prepend(q, first);
		return;
	}
	say_once(q, SAID_REFUSED, "such profiles are dropped", r->text);
	q->alone -= q->alone ? 1 : 0;
	q->counts.refused++;
	forget_batch(q, b);
}

static void settle_batch(struct ct_push_queue *q, struct batch *b, const struct ct_push_reply *r)
{
	switch (r->outcome) {
	case CT_PUSH_SENT: sent(q, b); break;
	case CT_PUSH_LATER:
	case CT_PUSH_HELD: try_later(q, b, r); break;
	case CT_PUSH_TOO_BIG:
	case CT_PUSH_REFUSED: batch_refused(q, b, r); break;
	}
}

static void wait_until(struct ct_push_queue *q, double when)
{
	struct timespec t = { (time_t)when, (long)((when - (double)(time_t)when) * 1e9) };

	pthread_cond_timedwait(&q->changed, &q->lock, &t);
}

/* Waits until there is something to send and the wait is over. Returns false at the end. */
static bool wait_for_work(struct ct_push_queue *q)
{
	for (;;) {
		double now = ct_now(), at = q->next_try;

		expire(q);
		if (q->closing &&
		    (now >= q->until || (!q->first && !ct_push_spool_count(q->spool))))
			return false;
		if (!q->first && !ct_push_spool_count(q->spool)) {
			pthread_cond_wait(&q->changed, &q->lock);
			continue;
		}
		if (now >= at)
			return true;
		wait_until(q, q->closing && q->until < at ? q->until : at);
	}
}

static void *send_batches(void *arg)
{
	struct ct_push_queue *q = arg;
	struct ct_push_reply reply;
	struct batch b;

	pthread_mutex_lock(&q->lock);
	while (wait_for_work(q)) {
		take_batch(q, &b);
		if (!b.count)
			continue;
		pthread_mutex_unlock(&q->lock);
		ct_push_send(q->sender, b.items, b.count, &reply);
		pthread_mutex_lock(&q->lock);
		settle_batch(q, &b, &reply);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* ---- open and close ---- */

static int open_spool(struct ct_push_queue *q, char **why)
{
	const struct ct_push_queue_how *how = q->how;
	char *reason = NULL;

	if (how->target->kind == CT_PUSH_DIRECTORY || (how->spool && !strcmp(how->spool, "none")))
		return 0;
	q->spool = ct_push_spool_open(how->spool, how->target, how->size, how->seconds, &reason);
	if (q->spool)
		return 0;
	/* A directory that the user named must be usable. */
	if (how->spool) {
		*why = reason;
		return -1;
	}
	if (!how->quiet)
		fprintf(stderr,
			"cprof push: no spool: %s; profiles that can't be sent are kept in "
			"memory, up to 32 MiB\n",
			reason);
	free(reason);
	return 0;
}

/* Starts the thread with signals blocked, so that other threads get them. */
static int start_thread(struct ct_push_queue *q)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&q->thread, NULL, send_batches, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct ct_push_queue *ct_push_queue_open(const struct ct_push_queue_how *how, char **why)
{
	struct ct_push_queue *q = ct_memory_alloc(sizeof(*q));
	pthread_condattr_t clock;

	q->how = how;
	q->last = &q->first;
	q->sender = ct_push_send_open(how->target, how->credentials, how->size, why);
	if (!q->sender || open_spool(q, why)) {
		if (q->sender)
			ct_push_send_close(q->sender);
		free(q);
		return NULL;
	}
	srandom((unsigned)getpid() ^ (unsigned)time(NULL));
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &clock);
	if (start_thread(q)) {
		fputs("cprof push: no thread can be made\n", stderr);
		exit(2);
	}
	return q;
}

/* Puts everything into the spool at the end. */
static void keep_rest(struct ct_push_queue *q)
{
	q->failing = true;
	settle_memory(q);
	while (q->first) {
		ct_push_item_free(take_first(q));
		q->counts.unsent++;
	}
	q->counts.kept = ct_push_spool_count(q->spool);
}

void ct_push_queue_close(struct ct_push_queue *q, double seconds, struct ct_push_counts *counts)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	q->until = ct_now() + seconds;
	/* One more try, unless the receiver asked for patience. */
	if (!q->asked)
		q->next_try = q->wait = 0;
	ct_push_send_until(q->sender, seconds);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	keep_rest(q);
	*counts = q->counts;
	ct_push_spool_close(q->spool);
	ct_push_send_close(q->sender);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
