/* SPDX-License-Identifier: BSD-3-Clause */
/* Do events return at equal distances? See verbs.h.
 *
 * Events near to each other are a burst. If bursts began at random, each would begin within a part
 * D of the period around one of its multiples with the probability 2 * D. So N of them do so with
 * (2 * D)^N, and that times the number of sets of events and of ways to join them must be below
 * FALSE_ALARM. */
#include <math.h>
#include <stdlib.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"

#define FALSE_ALARM 0.01
#define LEAST_PERIOD 1e8 /* ns */
#define TOUCHING 1e6	 /* ns: events with smaller gaps are always of one burst */
#define STEP 3		 /* gaps between bursts are so many times as long as those in bursts */
#define STEPS 4		 /* places of such a step that are tried */
#define EXPONENTS 64	 /* of gaps in ns */
#define FAINT 0.3	 /* of the usual burst, by amount: less is left out at the second try */
#define OFF 0.1		 /* of a period: how far off a burst may be */
#define LEAST_OFF 0.005
#define NEAR 0.8   /* of the bursts are no further off */
#define MISSED 1.5 /* mean of the periods between two bursts */
#define SHORT 3	   /* a period is at least so many bursts long */

/* ---- bursts ---- */

/* Returns the element that would be in the middle of LIST if it were sorted, which it partly is
 * afterwards. */
static double median(double *list, size_t count)
{
	size_t low = 0, high = count - 1, middle = count / 2;

	while (low < high) {
		double pivot = list[low + (high - low) / 2], swapped;
		size_t i = low, k = high;

		for (;; i++, k--) {
			while (list[i] < pivot)
				i++;
			while (pivot < list[k])
				k--;
			if (i >= k)
				break;
			swapped = list[i];
			list[i] = list[k];
			list[k] = swapped;
		}
		/* What is up to K is not above the pivot, and the rest is not below it. */
		if (middle <= k)
			high = k;
		else
			low = k + 1;
	}
	return list[middle];
}

/* Joins the COUNT events of LIST that are no further apart than LIMIT. Returns the number of
 * bursts.
 */
static size_t join(const struct ct_timeline_burst *list, size_t count, double limit,
		   struct ct_timeline_burst *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!n || list[i].begin - to[n - 1].end > limit) {
			to[n++] = list[i];
			continue;
		}
		to[n - 1].end = fmax(to[n - 1].end, list[i].end);
		to[n - 1].amount += list[i].amount;
		to[n - 1].pieces += list[i].thread == to[n - 1].thread;
		to[n - 1].lasts |= list[i].lasts;
	}
	return n;
}

/* Drops faint ones of the COUNT bursts: a few samples that came to a wrong function, or little work
 * of the same function. Returns how many are left. */
static size_t drop_faint(struct ct_timeline_burst *list, size_t count)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		sum += list[i].amount;
		squares += list[i].amount * list[i].amount;
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].amount >= FAINT * squares / sum)
			list[n++] = list[i];
	return n;
}

/* Gaps whose lengths have one binary exponent: they are no step apart. */
struct gaps {
	double shortest, longest;
	size_t count;
};

/* Sorts the COUNT events' gaps into BY. Returns how many there are. */
static size_t sort_gaps(const struct ct_timeline_burst *list, size_t count, struct gaps *by)
{
	double end = count ? list[0].end : 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		double gap = list[i].begin - end;

		end = fmax(end, list[i].end);
		if (gap > TOUCHING) {
			struct gaps *g = &by[ilogb(gap)];

			g->shortest = g->count && g->shortest < gap ? g->shortest : gap;
			g->longest = fmax(g->longest, gap);
			g->count++;
			n++;
		}
	}
	return n;
}

/* Stores the longest gaps within bursts that may be meant, at most STEPS: where, in the order of
 * their sizes, the next one is much longer; those with the widest step first. */
static size_t find_limits(const struct ct_timeline_burst *list, size_t count, double *limits)
{
	struct gaps by[EXPONENTS] = { { 0 } }, last = { 0 };
	size_t left = sort_gaps(list, count, by), found = 1;
	double steps[STEPS] = { 0 };

	limits[0] = TOUCHING;
	for (int i = 0; i < EXPONENTS && left >= CT_TIMELINE_BURSTS - 1; i++) {
		double step = last.count ? by[i].shortest / last.longest : 0;
		size_t at;

		if (step >= STEP && (found < STEPS || step > steps[STEPS - 1])) {
			for (at = found < STEPS ? found++ : STEPS - 1;
			     at > 1 && steps[at - 1] < step; at--)
				steps[at] = steps[at - 1], limits[at] = limits[at - 1];
			steps[at] = step;
			limits[at] = last.longest;
		}
		left -= by[i].count;
		last = by[i].count ? by[i] : last;
	}
	return found;
}

/* ---- periods ---- */

struct regularity {
	double every, off; /* OFF: the largest part of a period by which those NEAR are off */
	size_t near, periods;
};

static double off_by(double d, double every)
{
	return fabs(d / every - fmax(round(d / every), 1));
}

/* How regular are the COUNT distances D with a period of about EVERY? */
static struct regularity measure(const double *d, size_t count, double every)
{
	struct regularity r = { .every = every };
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (off_by(d[i], every) > OFF)
			continue;
		r.near++;
		r.off = fmax(r.off, off_by(d[i], every));
		r.periods += (size_t)fmax(round(d[i] / every), 1);
		sum += d[i];
	}
	if (r.near)
		r.every = sum / (double)r.periods;
	return r;
}

/* Returns the logarithm of the probability that COUNT distances are as regular as R by chance,
 * whichever of them are. */
static double chance(size_t tries, const struct regularity *r, size_t count, double grain)
{
	double off = fmax(fmax(r->off, LEAST_OFF), grain / r->every / 2);

	double all = (double)count, near = (double)r->near;

	return (near - 1) * ct_log(fmin(2 * off, 1)) + lgamma(all + 1) - lgamma(near + 1) -
	       lgamma(all - near + 1) + ct_log((double)(tries * STEPS * 2));
}

/* Are the COUNT bursts at equal distances? Stores them in TO. GRAIN: how exact their beginnings
 * are. One sample of CPU time of a thread is no burst: samples of a steady load are at equal
 * distances, too. */
static bool is_periodic(const struct ct_timeline_burst *list, size_t count, size_t tries,
			double grain, struct ct_timeline_moment *to)
{
	double *d, amount = 0, length, lengths = 0;
	struct regularity r;
	size_t pieces = 0, lasting = 0;

	if (count < CT_TIMELINE_BURSTS)
		return false;
	d = ct_memory_realloc(NULL, count, sizeof(*d));
	for (size_t i = 0; i < count; i++) {
		d[i] = list[i].end - list[i].begin;
		lengths += d[i];
		amount += list[i].amount;
		pieces += list[i].pieces;
		lasting += list[i].lasts;
	}
	length = median(d, count);
	for (size_t i = 0; i + 1 < count; i++)
		d[i] = list[i + 1].begin - list[i].begin;
	r = measure(d, count - 1, median(d, count - 1));
	r = measure(d, count - 1, r.every);
	free(d);
	if ((double)r.near < NEAR * (double)(count - 1) || r.every < LEAST_PERIOD ||
	    (double)r.periods > MISSED * (double)r.near || length * SHORT > r.every ||
	    (pieces < 2 * count && lasting * 2 < count) ||
	    chance(tries, &r, count - 1, grain) > ct_log(FALSE_ALARM))
		return false;
	*to = (struct ct_timeline_moment){ .file = to->file,
					   .from = list[0].begin,
					   .to = list[0].begin + length,
					   .rate = to->file->is_time
							   ? amount / fmax(lengths, 1) * 1e9
							   : amount / (double)count,
					   .every = r.every,
					   .first = list[0].begin,
					   .count = count,
					   .score = amount };
	return true;
}

bool ct_timeline_bursts_find(const struct ct_timeline_burst *list, size_t count,
			     struct ct_timeline_burst *room, size_t tries,
			     struct ct_timeline_moment *to)
{
	double limits[STEPS], grain = list[count / 2].end - list[count / 2].begin;
	size_t n = find_limits(list, count, limits);

	for (size_t i = 0; i < n; i++) {
		size_t joined = join(list, count, limits[i], room);

		if (is_periodic(room, joined, tries, grain, to) ||
		    is_periodic(room, drop_faint(room, joined), tries, grain, to))
			return true;
	}
	return false;
}

bool ct_timeline_bursts_same(const struct ct_timeline_moment *a, const struct ct_timeline_moment *b)
{
	double apart = fabs(remainder(a->first - b->first, a->every));

	return fabs(a->every - b->every) < a->every / 20 &&
	       apart < fmax(a->to - a->from, b->to - b->from) + a->every / 20;
}
