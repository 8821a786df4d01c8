/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of a thread, the sets that samples carry, and the public calls. */
#include "harness.h"

#include <sys/time.h>

#include "cprof.h"
#include "base/arch.h"
#include "base/atomic.h"
#include "sample/thread.h"

static int set(struct cp_labels *l, const char *key, const char *value)
{
	return cp_labels_set(l, key, strlen(key), value, strlen(value));
}

/* The set as "key=value key=value". */
static const char *shown(uint32_t number)
{
	static char text[4096];
	size_t size, n = 0;
	const char *s = cp_labelset_text(number, &size);

	for (size_t at = 0, field = 0; at < size; at += strlen(s + at) + 1, field++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      field % 2 ? "="
				      : field	? " "
						: "",
				      s + at);
	text[n] = '\0';
	return text;
}

TEST(test_a_set_is_the_same_in_any_order)
{
	struct cp_labels *a = cp_labels_new(), *b = cp_labels_new();

	CHECK_EQ(cp_labels_current(a), CP_LABELSET_NONE);
	CHECK_EQ(set(a, "route", "/x"), 0);
	CHECK_EQ(set(a, "id", "7"), 0);
	CHECK_EQ(set(b, "id", "7"), 0);
	CHECK_EQ(set(b, "route", "/x"), 0);
	CHECK_STR(shown(cp_labels_current(a)), "id=7 route=/x");
	CHECK_EQ(cp_labels_current(a), cp_labels_current(b));
	CHECK_EQ(cp_labels_of_other(a, NULL), cp_labels_current(a));
	CHECK_EQ(set(a, "id", "8"), 0);
	CHECK_STR(shown(cp_labels_current(a)), "id=8 route=/x");
	CHECK_EQ(cp_labels_clear(a, "route", 5), 0);
	CHECK_EQ(cp_labels_clear(a, "route", 5), -ENOENT);
	CHECK_STR(shown(cp_labels_current(a)), "id=8");
	cp_labels_clear_all(a);
	CHECK_EQ(cp_labels_current(a), CP_LABELSET_NONE);
	cp_labels_free(a);
	cp_labels_free(b);
	cp_labels_free(NULL);
}

TEST(test_labels_are_bounded)
{
	struct cp_labels *l = cp_labels_new();
	char key[8];

	for (int i = 0; i < CP_LABELS_MAX; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		CHECK_EQ(set(l, key, "v"), 0);
	}
	CHECK_EQ(set(l, "one-more", "v"), -ENOSPC);
	CHECK_EQ(set(l, "k3", "w"), 0);
	cp_labels_free(l);
}

TEST(test_a_label_amid_a_change_is_not_there)
{
	struct cp_labels *l = cp_labels_new();

	CHECK_EQ(set(l, "a", "1"), 0);
	CHECK_EQ(set(l, "b", "2"), 0);
	/* As a handler finds them between two stores of cp_labels_set. */
	l->version++;
	l->used &= ~1u;
	CHECK_STR(shown(cp_labels_current(l)), "b=2");
	CHECK_EQ(cp_labels_of_other(l, NULL), CP_LABELSET_NONE);
	l->used |= 1;
	l->version++;
	CHECK_STR(shown(cp_labels_current(l)), "a=1 b=2");
	cp_labels_free(l);
}

TEST(test_public_calls)
{
	char value[128], key64[65], long_value[300];

	memset(key64, 'k', 64);
	key64[64] = '\0';
	CHECK_EQ(cprof_label_clear("route"), -ENOENT);
	CHECK_EQ(cprof_label_set("route", "/a"), 0);
	CHECK_EQ(cprof_label_get("route", value, sizeof(value)), 2);
	CHECK_STR(value, "/a");
	CHECK_EQ(cprof_label_get("route", value, 2), -ENOSPC);
	CHECK_EQ(cprof_label_set("route", NULL), 0);
	CHECK_EQ(cprof_label_get("route", value, sizeof(value)), -ENOENT);
	CHECK_EQ(cprof_label_set(NULL, "x"), -EINVAL);
	CHECK_EQ(cprof_label_set("", "x"), -EINVAL);
	CHECK_EQ(cprof_label_set("tid", "x"), -EINVAL);
	CHECK_EQ(cprof_label_set("pprof::x", "x"), -EINVAL);
	CHECK_EQ(cprof_label_set(key64, "x"), -EINVAL);
	/* Cut before the character that doesn't fit whole. */
	memset(long_value, 'v', sizeof(long_value));
	memcpy(long_value + 126, "\xc3\xa4", 2);
	long_value[299] = '\0';
	CHECK_EQ(cprof_label_set("long", long_value), -ENAMETOOLONG);
	CHECK_EQ(cprof_label_get("long", value, sizeof(value)), 126);
	cprof_labels_clear();
	CHECK_EQ(cprof_label_get("long", value, sizeof(value)), -ENOENT);
}

/* A signal may come at every moment of a change: its handler sees one of the two values, or none.
 */
static struct cp_labels *shared;
static volatile sig_atomic_t seen, wrong;

static void look(int sig)
{
	const char *s = shown(cp_labels_current(shared));

	(void)sig;
	seen++;
	if (strcmp(s, "") != 0 && strcmp(s, "k=aaaaaaaaaaaaaaaaaaaaaaaa") != 0 &&
	    strcmp(s, "k=bbbbbbbb") != 0)
		wrong++;
}

TEST(test_a_handler_sees_whole_labels)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };

	shared = cp_labels_new();
	signal(SIGALRM, look);
	setitimer(ITIMER_REAL, &every, NULL);
	while (seen < 500) {
		set(shared, "k", "aaaaaaaaaaaaaaaaaaaaaaaa");
		set(shared, "k", "bbbbbbbb");
	}
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
	CHECK_EQ(wrong, 0);
	cp_labels_free(shared);
}

static uint32_t stop_changing;

static void *change(void *arg)
{
	struct cp_labels *l = arg;

	while (!cp_load_relaxed(&stop_changing)) {
		set(l, "k", "aaaaaaaaaaaaaaaaaaaaaaaa");
		set(l, "k", "bbbbbbbb");
	}
	return NULL;
}

TEST(test_another_thread_sees_whole_labels)
{
	struct cp_labels *l = cp_labels_new();
	unsigned whole = 0, torn = 0;
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, change, l), 0);
	for (int i = 0; i < 200000 || !whole; i++) {
		const char *s = shown(cp_labels_of_other(l, NULL));

		if (!strcmp(s, "k=aaaaaaaaaaaaaaaaaaaaaaaa") || !strcmp(s, "k=bbbbbbbb"))
			whole++;
		else if (*s)
			torn++;
	}
	cp_store_relaxed(&stop_changing, 1);
	pthread_join(t, NULL);
	CHECK_EQ(torn, 0);
	cp_labels_free(l);
}

static __thread struct published *published;

struct published {
	struct cp_trace_ids ids;
	uint8_t valid, flags;
	uint16_t more;
};

static uint64_t my_tls(void)
{
	return (uint64_t)(uintptr_t)cp_thread_pointer();
}

TEST(test_a_published_trace_is_read_and_checked)
{
	struct published p = { .ids = { .trace = { 1 }, .span = { 2 } }, .valid = 1 };
	struct cp_trace_ids ids;

	CHECK(!cp_trace_context_read(my_tls(), &ids)); /* no variable */
	cp_trace_context_at = (char *)&published - cp_thread_pointer();
	CHECK(!cp_trace_context_read(my_tls(), &ids)); /* no record */
	published = &p;
	CHECK(cp_trace_context_read(my_tls(), &ids));
	CHECK(ids.trace[0] == 1 && ids.span[0] == 2);
	CHECK(!cp_trace_context_read(0, &ids));
	p.valid = 0;
	CHECK(!cp_trace_context_read(my_tls(), &ids));
	p.valid = 1;
	p.ids.span[0] = 0;
	CHECK(!cp_trace_context_read(my_tls(), &ids));
	published = (struct published *)16;
	CHECK(!cp_trace_context_read(my_tls(), &ids));
	cp_trace_context_at = 0;
}

#define TRACED "span_id=0200000000000000 trace_id=01000000000000000000000000000000"

TEST(test_a_trace_is_two_labels)
{
	struct cp_trace_ids ids = { .trace = { 1 }, .span = { 2 } };
	struct cp_labels *l = cp_labels_new();

	CHECK_STR(shown(cp_labels_traced(NULL, &ids)), TRACED);
	CHECK_EQ(set(l, "route", "/x"), 0);
	CHECK_STR(shown(cp_labels_traced(l, &ids)), "route=/x " TRACED);
	CHECK_EQ(cp_labels_of_other(l, &ids), cp_labels_traced(l, &ids));
	CHECK_STR(shown(cp_labels_current(l)), "route=/x");
	/* What the program says itself stays. */
	CHECK_EQ(set(l, "trace_id", "mine"), 0);
	CHECK_STR(shown(cp_labels_traced(l, &ids)), "route=/x trace_id=mine");
	cp_labels_free(l);
}

TEST(test_traces_leave_room_for_other_sets)
{
	struct cp_trace_ids ids = { .trace = { 1 } };
	unsigned kept = 0;
	uint32_t set = 0;

	for (uint32_t i = 1; i < 100000 && set != CP_LABELSET_LOST; i++, kept++) {
		memcpy(ids.span, &i, sizeof(i));
		set = cp_labels_traced(NULL, &ids);
	}
	CHECK_EQ(set, CP_LABELSET_LOST);
	CHECK(kept > 30000);
	set = cp_labelset_add("other\0set", 10);
	CHECK_STR(shown(set), "other=set");
}

static void *add_many(void *arg)
{
	char text[32];

	for (unsigned i = 0; i < 20000; i++) {
		int n = snprintf(text, sizeof(text), "k%c%u", 0, i);
		uint32_t number = cp_labelset_add(text, (size_t)n + 1);
		size_t size;

		if (number == CP_LABELSET_LOST ||
		    strcmp(cp_labelset_text(number, &size) + 2, text + 2))
			cp_add_relaxed((uint32_t *)arg, 1);
	}
	return NULL;
}

TEST(test_sets_are_added_by_many_threads_and_bounded)
{
	uint32_t failed = 0, number;
	pthread_t t[4];
	char text[32];
	unsigned lost = 0;

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, add_many, &failed), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(failed, 0);
	for (unsigned i = 0; i < 100000; i++) {
		int n = snprintf(text, sizeof(text), "m%c%u", 0, i);

		number = cp_labelset_add(text, (size_t)n + 1);
		lost += number == CP_LABELSET_LOST;
	}
	CHECK(lost > 0 && lost < 100000);
	/* Those that are there are still found. */
	number = cp_labelset_add("k\0"
				 "77",
				 5);
	CHECK_STR(shown(number), "k=77");
}
