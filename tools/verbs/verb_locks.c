/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof locks`: shows, for each lock, the functions that wait for it and the functions that hold
 * it during those waits, or that end the waits for conditions, semaphores and barriers. These come
 * from the files of holders and of wakers beside the profile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"
#include "verbs/verbs.h"

/* Width of " 12.34ms function" on either side. */
#define NUMBER_WIDTH 10
#define WIDTH_WITHOUT_TERMINAL 100
/* The stack of waits that are shorter than the threshold. */
#define SHORT "[short waits]"

static struct {
	long rows, locks;
} my = { .rows = 5, .locks = 10 };

static const struct ct_option options[] = {
	CT_INTEGER("nodecount", "N", &my.rows, "functions of a lock (5; 0: all)"),
	CT_INTEGER("locks", "N", &my.locks, "locks shown (10; 0: all)"), CT_END
};
static const struct ct_option *const tables[] = {
	options,	   ct_own_options,	  ct_times_window_options,
	ct_filter_options, ct_short_name_options, NULL
};

/* One side: waiters, holders or wakers. Names in FUNCTIONS are "lock\tfunction". */
struct side {
	struct ct_profile *p; /* NULL: there is no such file */
	struct ct_sums locks, functions;
	int64_t total;	  /* without waits for something to do */
	bool has_longest; /* the file has the longest wait of each row */
	bool wakers;	  /* each stack begins with the waking thread's stack */
};

/* Finds the file's types for counts and times of waits or of holders. */
static bool find_types(const struct ct_profile *p, size_t *count, size_t *time)
{
	*time = p->type_count ? ct_model_default_type(p) : 0;
	*count = 0;
	return p->type_count > 1 && *time && !strcmp(ct_text(p, p->types[0].unit), "count") &&
	       !strcmp(ct_text(p, p->types[*time].unit), "nanoseconds");
}

/* Has P rows of locks? Profiles of wall and CPU time also have counts and times. */
static bool has_locks(const struct ct_profile *p)
{
	const char *type = p->type_count ? ct_text(p, p->types[ct_model_default_type(p)].type) : "";

	return strcmp(type, "wall") != 0 && strcmp(type, "cpu") != 0;
}

static int wrong_file(const char *file)
{
	fprintf(stderr,
		"cprof locks: %s is no lock profile; \"cprof run --lock -- COMMAND\" makes one\n",
		file);
	return -1;
}

static void add_to(struct ct_sum *sum, int64_t delay, int64_t waits, int64_t longest)
{
	sum->value = ct_add(sum->value, delay);
	sum->count = ct_add(sum->count, waits);
	sum->longest = longest > sum->longest ? longest : sum->longest;
}

/* Waits below the threshold are counted together, without a lock and a stack. Wakers without a lock
 * ended waits for the end of a thread. */
static const char *lock_of(const struct side *s, size_t sample)
{
	const char *lock = ct_own_stack_label(s->p, sample, "lock");

	if (lock)
		return lock;
	if (s->wakers)
		return "(end of a thread)";
	return strcmp(ct_own_stack_name(s->p, &s->p->samples[sample], 0), SHORT) ? "(no lock)"
										 : SHORT;
}

/* Is the lock mostly waited for by threads that have nothing to do? */
static bool is_idle(const struct ct_sum *lock)
{
	return lock->idle && lock->idle > lock->value / 2;
}

static int idle_last(const void *x, const void *y)
{
	const struct ct_sum *a = x, *b = y;

	if (is_idle(a) != is_idle(b))
		return is_idle(a) - is_idle(b);
	return a->value != b->value ? (a->value > b->value ? -1 : 1) : strcmp(a->name, b->name);
}

/* Returns -1 after a message if FILE is no lock profile, or an option is no valid expression. */
static int sum_up(struct side *s, const char *file, bool filtered)
{
	const struct ct_profile *p = s->p;
	size_t delay, waits;
	struct ct_idle *t;
	struct ct_own *o;

	if (!find_types(p, &waits, &delay) || !has_locks(p))
		return wrong_file(file);
	if (filtered && ct_filter_alone(s->p))
		return -1;
	o = ct_own_new(p, ct_own_asked);
	if (!o)
		return -1;
	t = ct_idle_new(o, p);
	for (size_t i = 0; i < p->sample_count; i++) {
		const char *cause = ct_idle_cause(p, i);
		const char *lock = lock_of(s, i);
		int64_t value = ct_values(p, i)[delay], count = ct_values(p, i)[waits];
		int64_t longest = ct_own_stack_number(p, i, "longest", 0);
		struct ct_sum *sum = ct_own_stack_sum(&s->locks, lock);
		char *function = s->wakers ? ct_own_stack_waker(o, p, i)
					   : ct_memory_strdup(ct_own_stack_function(o, p, i));
		char *both = ct_memory_printf("%s\t%s", sum->name, function);

		add_to(sum, value, count, longest);
		if (cause)
			sum->cause = cause;
		if (ct_idle_is(t, i))
			sum->idle = ct_add(sum->idle, value);
		add_to(ct_own_stack_sum(&s->functions, both), value, count, longest);
		s->has_longest |= longest > 0;
		free(both);
		free(function);
	}
	for (size_t i = 0; i < s->locks.count; i++)
		if (!is_idle(&s->locks.list[i]))
			s->total = ct_add(s->total, s->locks.list[i].value);
	if (s->locks.count)
		qsort(s->locks.list, s->locks.count, sizeof(*s->locks.list), idle_last);
	ct_own_stack_sort(&s->functions);
	ct_idle_free(t);
	ct_own_free(o);
	return 0;
}

static const struct ct_sum *next_of(const struct side *s, const char *lock, size_t *at)
{
	size_t n = strlen(lock);

	for (; *at < s->functions.count; ++*at)
		if (!strncmp(s->functions.list[*at].name, lock, n) &&
		    s->functions.list[*at].name[n] == '\t')
			return &s->functions.list[(*at)++];
	return NULL;
}

/* Writes the longest wait. A row may have no recorded one, because those below the threshold are
 * only counted. */
static const char *put_longest(char *to, const struct ct_sum *sum)
{
	return sum->longest ? ct_numbers_format(to, sum->longest, "nanoseconds", "auto") : "-";
}

/* Prints "  12.34ms  function", or "  12.34ms    1.23ms  function", as wide as WIDTH. */
static void put_half(const struct ct_sum *sum, const char *lock, size_t width, bool longest,
		     bool pad)
{
	char number[CT_NUMBER_ROOM], *shown;
	size_t used = NUMBER_WIDTH * (longest ? 2 : 1) + 2;

	if (!sum) {
		printf("%*s", pad ? (int)width : 0, "");
		return;
	}
	shown = ct_short_name(sum->name + strlen(lock) + 1, width - used);
	printf("%*s", NUMBER_WIDTH, ct_numbers_format(number, sum->value, "nanoseconds", "auto"));
	if (longest)
		printf("%*s", NUMBER_WIDTH, put_longest(number, sum));
	fputs("  ", stdout);
	ct_out_text(stdout, shown);
	used += ct_short_name_width(shown);
	if (pad)
		printf("%*s", used < width ? (int)(width - used) : 0, "");
	free(shown);
}

/* Returns true if the side has rows of LOCK. */
static bool has_lock(const struct side *s, const char *lock)
{
	size_t at = 0;

	return s->p && next_of(s, lock, &at);
}

/* RIGHT_SIDE: for holders or wakers. */
static void put_functions(const struct side *waiters, const struct side *right_side,
			  const char *lock)
{
	size_t columns = ct_short_name_columns(), w = 0, h = 0;
	size_t half = (columns ? columns : WIDTH_WITHOUT_TERMINAL) / 2 - 1;
	bool longest = waiters->has_longest;
	const char *filter;
	/* The rows of holders and wakers don't know whose waits were chosen. */
	const char *whole = ct_filter_active(&filter, 1) ? ", of all waits" : "";
	size_t left = half + (longest ? NUMBER_WIDTH / 2 : 0), right = 2 * half - left;

	printf("%s%*s%*s  %-*s %*s  %s%s%s\n", ct_out_paint(CT_DIM), NUMBER_WIDTH, "waited",
	       longest ? NUMBER_WIDTH : 0, longest ? "longest" : "",
	       (int)left - NUMBER_WIDTH * (longest ? 2 : 1) - 2, "by", NUMBER_WIDTH,
	       right_side->wakers ? "ended" : "caused",
	       right_side->wakers ? "mostly woken by" : "by holder", right_side->p ? whole : "",
	       ct_out_paint(CT_PLAIN));
	for (long row = 0; !my.rows || row < my.rows; row++) {
		const struct ct_sum *a = next_of(waiters, lock, &w);
		const struct ct_sum *b = right_side->p ? next_of(right_side, lock, &h) : NULL;

		if (!a && !b)
			break;
		put_half(a, lock, left, longest, b != NULL);
		if (b) {
			putchar(' ');
			put_half(b, lock, right, false, false);
		}
		putchar('\n');
	}
}

/* Prints the lock's name. An address or "(no lock)" says nothing, so the function that waits most
 * is named, too. */
static void put_lock_name(const struct side *waiters, const char *lock)
{
	size_t at = 0;
	const struct ct_sum *function = next_of(waiters, lock, &at);

	ct_out_text(stdout, lock);
	if (!function || (!ct_starts(lock, "0x") && *lock != '('))
		return;
	fputs(" in ", stdout);
	ct_out_text(stdout, function->name + strlen(lock) + 1);
}

static void put_lock(const struct side *waiters, const struct side *holders,
		     const struct side *wakers, const struct ct_sum *lock)
{
	char number[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM], wall[CT_NUMBER_ROOM],
		mean[CT_NUMBER_ROOM];

	putchar('\n');
	fputs(ct_out_paint(CT_BOLD), stdout);
	if (lock->cause)
		printf("%s ", lock->cause);
	put_lock_name(waiters, lock->name);
	printf("%s: %s in ", ct_out_paint(CT_PLAIN),
	       ct_numbers_format(number, lock->value, "nanoseconds", "auto"));
	if (lock->count)
		printf("%lld wait%s, ", (long long)lock->count, lock->count == 1 ? "" : "s");
	else
		fputs("a part of a wait, ", stdout);
	if (is_idle(lock))
		fputs("mostly for something to do", stdout);
	else
		printf("%s of all",
		       ct_trimmed(ct_numbers_percent(share, lock->value, waiters->total)));
	if (lock->count > 0)
		printf(", %s each",
		       ct_numbers_format(mean, lock->value / lock->count, "nanoseconds", "auto"));
	if (lock->longest)
		printf(", the longest %s",
		       ct_numbers_format(mean, lock->longest, "nanoseconds", "auto"));
	if (waiters->p->duration_nanos)
		printf(", %s of wall time",
		       ct_trimmed(
			       ct_numbers_percent(wall, lock->value, waiters->p->duration_nanos)));
	putchar('\n');
	if (strcmp(lock->name, SHORT) != 0)
		put_functions(waiters, has_lock(wakers, lock->name) ? wakers : holders, lock->name);
}

static int print_locks(const struct side *waiters, const struct side *holders,
		       const struct side *wakers)
{
	char total[CT_NUMBER_ROOM], length[CT_NUMBER_ROOM];
	size_t idle = 0, several = 0, busy;
	size_t shown = my.locks && (size_t)my.locks < waiters->locks.count ? (size_t)my.locks
									   : waiters->locks.count;

	for (size_t i = 0; i < waiters->locks.count; i++) {
		idle += is_idle(&waiters->locks.list[i]);
		several += !strcmp(waiters->locks.list[i].name, SHORT);
	}
	busy = waiters->locks.count - idle - several;
	ct_out_begin();
	printf("Waits for locks: %s of threads' time in %s, %zu lock%s",
	       ct_numbers_format(total, waiters->total, "nanoseconds", "auto"),
	       ct_numbers_format(length, waiters->p->duration_nanos, "nanoseconds", "auto"), busy,
	       busy == 1 ? "" : "s");
	if (idle)
		printf("; and %zu where workers wait for something to do", idle);
	putchar('\n');
	for (size_t i = 0; i < shown; i++)
		put_lock(waiters, holders, wakers, &waiters->locks.list[i]);
	if (shown < waiters->locks.count)
		printf("\n%zu more lock%s\n", waiters->locks.count - shown,
		       waiters->locks.count - shown == 1 ? "" : "s");
	return ct_out_end();
}

/* A companion has the form of a file of waits, but other types. Returns its name, or NULL. */
static const char *companion_of(const struct ct_profile *p)
{
	if (!p->type_count)
		return NULL;
	if (!strcmp(ct_text(p, p->types[ct_model_default_type(p)].type), "blocking"))
		return "holders";
	return !strcmp(ct_text(p, p->types[0].type), "waits") ? "wakers" : NULL;
}

static void release_side(struct side *s)
{
	ct_own_stack_release(&s->locks);
	ct_own_stack_release(&s->functions);
	ct_model_free(s->p);
}

/* Reads the companions of FILES into S, if there are any. */
static void read_beside(struct side *s, char *const *files, int count, const char *companion)
{
	char **beside = ct_memory_alloc((size_t)count * sizeof(*beside));
	int n = 0;

	for (int i = 0; i < count; i++) {
		beside[n] = ct_run_show_beside(files[i], companion);
		if (access(beside[n], R_OK))
			free(beside[n]);
		else
			n++;
	}
	if (n)
		s->p = ct_load_files(beside, n);
	if (s->p && sum_up(s, *beside, false)) {
		ct_model_free(s->p);
		s->p = NULL;
	}
	while (n > 0)
		free(beside[--n]);
	free(beside);
}

/* Prints NAME as an expression that matches it, without the quote that would end a shell's word. */
static void put_expression(const char *name)
{
	char *text = ct_memory_alloc(2 * strlen(name) + 1), *to = text;

	for (; *name; name++) {
		if (strchr("\\.^$*+?()[]{}|", *name))
			*to++ = '\\';
		*to++ = *name == '\'' ? '.' : *name;
	}
	ct_out_text(stderr, text);
	free(text);
}

/* Prints the next command. A lock profile ends at the unlocking function; another mode tells what
 * it did until then. */
static void say_next(const struct side *waiters, const struct side *holders)
{
	const char *lock = waiters->locks.count ? waiters->locks.list[0].name : "";
	size_t at = 0;
	const struct ct_sum *holder = holders->p ? next_of(holders, lock, &at) : NULL;

	if (!holder || !holder->value)
		return;
	fputs("cprof: hint: what the holder of ", stderr);
	ct_out_text(stderr, lock);
	fputs(" does meanwhile: \"cprof run --wall -- COMMAND\", then \"cprof tree -focus='",
	      stderr);
	put_expression(holder->name + strlen(lock) + 1);
	fputs("' -ignore='^pthread_.*lock$' FILE\"\n", stderr);
}

static int print_all(const struct side *waiters, char *const *files, int count)
{
	struct side holders = { .p = NULL }, wakers = { .wakers = true };
	int status;

	read_beside(&holders, files, count, "holders");
	read_beside(&wakers, files, count, "wakers");
	status = print_locks(waiters, &holders, &wakers);
	say_next(waiters, &holders);
	if (!holders.p && !wakers.p && waiters->total) {
		char *beside = ct_run_show_beside(*files, "holders");

		fprintf(stderr, "cprof: the holders of the locks are not known: there is no %s\n",
			beside);
		free(beside);
	}
	release_side(&holders);
	release_side(&wakers);
	return status;
}

static int verb_locks(int argc, char **argv)
{
	const char *file = *argv;
	struct side waiters = { .p = ct_load_files(argv, argc) };
	const char *companion = waiters.p ? companion_of(waiters.p) : NULL;
	int status = CT_FAILED;

	if (companion)
		fprintf(stderr,
			"cprof locks: %s is of the %s; give the lock profile itself, the name "
			"without \".%s\"\n",
			file, companion, companion);
	else if (waiters.p && !sum_up(&waiters, file, true))
		status = print_all(&waiters, argv, argc);
	if (argc == 1 && status == CT_OK)
		ct_siblings_say(waiters.p, file);
	release_side(&waiters);
	return status;
}

const struct ct_verb ct_verb_locks = {
	.name = "locks",
	.operands = "FILE...",
	.summary = "Each lock by name, with the functions that wait for it and that hold it",
	.details =
		"FILE is a lock profile; several are merged. Holders are read from "
		"NAME.holders.EXT "
		"beside each. For a "
		"condition, a\nsemaphore, a barrier or a futex, NAME.wakers.EXT tells who ended "
		"the waits.\n"
		"Waiters, holders and wakers are the innermost functions of your own code. Filters "
		"choose waits;\nwho holds their locks is shown whole. Those by time and span also "
		"choose what "
		"holders caused:\nof the chosen waits.\n",
	.tables = tables,
	.wanted = "a lock profile is needed",
	.least = 1,
	.run = verb_locks,
};
