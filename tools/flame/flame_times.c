/* SPDX-License-Identifier: BSD-3-Clause */
/* The time indices of a page's tabs, as tools/flame/page/times.js reads them; see flame.h.
 *
 * Threads of all tabs become lanes: one process, number and name are one lane. Events and spans are
 * written by lane, in the order of their times, as differences; about 9 bytes an event. Times count
 * from the start of the first profile.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "flame/flame.h"

struct lane {
	uint32_t name; /* in the pool */
	int64_t tid, process;
	uint64_t begin, end;
};

struct ct_flame_times {
	int64_t start; /* ns since 1970 */
	uint64_t length;
	struct lane *lanes;
	size_t count, room;
	struct ct_flame_map map;
};

struct ct_flame_times_tab {
	uint64_t offset;	/* from the page's start to the tab's */
	uint32_t *lane_of;	/* by thread */
	bool several_processes; /* then its counters are mixed */
};

static void take_thread(struct ct_flame *flame, struct ct_flame_tab *tab, size_t i)
{
	const struct ct_times_thread *one = &tab->profile->times->threads[i];
	int64_t process = one->process ? one->process : ct_times_join_process(tab->profile);
	struct ct_flame_times *all = flame->times;
	uint64_t end = one->end ? one->end : tab->profile->times->end;
	uint32_t name = ct_model_string(flame->frames.pool, ct_text(tab->profile, one->name));
	uint32_t *at = ct_flame_map_at(
		&all->map, (struct ct_flame_key){ (uint64_t)process, (uint64_t)one->tid, name });
	struct lane *lane;

	if (*at == CT_NONE) {
		*at = (uint32_t)all->count;
		*CT_PUSH(all->lanes, all->count, all->room) =
			(struct lane){ name, one->tid, process, UINT64_MAX, 0 };
	}
	tab->times->lane_of[i] = *at;
	tab->times->several_processes |= one->process != tab->profile->times->threads[0].process;
	lane = &all->lanes[*at];
	if (one->begin + tab->times->offset < lane->begin)
		lane->begin = one->begin + tab->times->offset;
	if (end + tab->times->offset > lane->end)
		lane->end = end + tab->times->offset;
}

static void take_tab(struct ct_flame *flame, struct ct_flame_tab *tab)
{
	const struct ct_times *t = tab->profile->times;

	tab->times = ct_memory_alloc(sizeof(*tab->times));
	tab->times->offset = (uint64_t)ct_times_start(tab->profile) - (uint64_t)flame->times->start;
	tab->times->lane_of = ct_memory_alloc((t->thread_count + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < t->thread_count; i++)
		take_thread(flame, tab, i);
	for (size_t i = 0; i < t->span_count; i++)
		ct_model_string(flame->frames.pool, ct_text(tab->profile, t->spans[i].name));
	if (tab->times->offset + t->end > flame->times->length)
		flame->times->length = tab->times->offset + t->end;
}

static bool has_times(const struct ct_flame_tab *tab)
{
	return tab->profile->times && tab->profile->times->end && !tab->base;
}

void ct_flame_times_make(struct ct_flame *flame)
{
	for (size_t i = 0; i < flame->tab_count; i++) {
		int64_t start;

		if (!has_times(&flame->tabs[i]))
			continue;
		start = ct_times_start(flame->tabs[i].profile);
		if (!flame->times) {
			flame->times = ct_memory_alloc(sizeof(*flame->times));
			flame->times->start = start;
		}
		if (start < flame->times->start)
			flame->times->start = start;
	}
	for (size_t i = 0; i < flame->tab_count; i++)
		if (has_times(&flame->tabs[i]))
			take_tab(flame, &flame->tabs[i]);
}

void ct_flame_times_release(struct ct_flame *flame)
{
	for (size_t i = 0; i < flame->tab_count; i++) {
		if (flame->tabs[i].times)
			free(flame->tabs[i].times->lane_of);
		free(flame->tabs[i].times);
	}
	if (flame->times) {
		ct_flame_map_release(&flame->times->map);
		free(flame->times->lanes);
	}
	free(flame->times);
}

/* The items of a lane are order[first[L] .. first[L + 1] - 1], in the order of their times. */
struct grouped {
	uint32_t *order;
	size_t *first;
};

/* Groups COUNT items; THREADS is the first one's thread, and the next one's STRIDE bytes on. */
static struct grouped group(const uint32_t *threads, size_t stride, size_t count,
			    const uint32_t *lane_of, size_t lanes)
{
	struct grouped g = { ct_memory_alloc((count + 1) * sizeof(*g.order)),
			     ct_memory_alloc((lanes + 2) * sizeof(*g.first)) };

#define LANE(i) lane_of[*(const uint32_t *)(const void *)((const char *)threads + (i)*stride)]
	for (size_t i = 0; i < count; i++)
		g.first[LANE(i) + 2]++;
	for (size_t i = 2; i < lanes + 2; i++)
		g.first[i] += g.first[i - 1];
	for (size_t i = 0; i < count; i++)
		g.order[g.first[LANE(i) + 1]++] = (uint32_t)i;
#undef LANE
	return g;
}

static void release(struct grouped *g)
{
	free(g->order);
	free(g->first);
}

/* ---- a tab's own: its samples, its events by lane, and its wakes ---- */

enum { DURATION = 1, NEW_WEIGHT = 2, COUNT = 4, DEATH = 8 };

static void put_event(struct ct_flame_packer *p, const struct ct_event *e, bool new_weight)
{
	unsigned flags = (e->duration ? DURATION : 0) | (new_weight ? NEW_WEIGHT : 0) |
			 (e->count != 1 ? COUNT : 0) | (e->death ? DEATH : 0);

	ct_flame_data_number(p, (uint64_t)e->sample << 4 | flags);
	if (flags & DURATION)
		ct_flame_data_number(p, e->duration);
	if (flags & NEW_WEIGHT)
		ct_flame_data_number(p, e->weight);
	if (flags & COUNT)
		ct_flame_data_number(p, e->count);
}

static void put_events(const struct ct_flame_tab *tab, size_t lanes, FILE *to)
{
	const struct ct_times *t = tab->profile->times;
	struct grouped g = group(t->events ? &t->events->thread : NULL, sizeof(*t->events),
				 t->event_count, tab->times->lane_of, lanes);
	struct ct_flame_packer p = ct_flame_data_begin(to, "events");

	for (size_t lane = 0; lane < lanes; lane++) {
		uint64_t last = 0, weight = 0;

		ct_flame_data_number(&p, g.first[lane + 1] - g.first[lane]);
		for (size_t i = g.first[lane]; i < g.first[lane + 1]; i++) {
			const struct ct_event *e = &t->events[g.order[i]];

			ct_flame_data_number(&p, e->begin + tab->times->offset - last);
			put_event(&p, e, e->weight != weight);
			last = e->begin + tab->times->offset;
			weight = e->weight;
		}
	}
	ct_flame_data_end(&p);
	release(&g);
}

/* Writes each sample's row, 0 for none, with whether it waits for something to do, and its values,
 * because a row may be made of several. */
static void put_samples(const struct ct_flame_tab *tab, FILE *to)
{
	const struct ct_profile *profile = tab->profile;
	struct ct_own *own = ct_own_new(profile, NULL);
	struct ct_idle *idle = ct_idle_new(own, profile);
	struct ct_flame_packer p = ct_flame_data_begin(to, "samples");

	for (size_t i = 0; i < profile->sample_count; i++) {
		uint32_t row = tab->tree.row_of[i] + 1; /* CT_NONE + 1 is 0 */

		ct_flame_data_number(&p, (uint64_t)row << 1 | ct_idle_is(idle, i));
		ct_flame_data_number(&p, profile->times->recorded[i]);
		for (size_t type = 0; row && type < profile->type_count; type++)
			ct_flame_data_number(&p, (uint64_t)ct_values(profile, i)[type]);
	}
	ct_flame_data_end(&p);
	ct_idle_free(idle);
	ct_own_free(own);
}

void ct_flame_times_tab(const struct ct_flame *flame, const struct ct_flame_tab *tab, FILE *to)
{
	const struct ct_profile *profile = tab->profile;
	const struct ct_times *t = profile->times;
	struct ct_flame_packer p;
	uint64_t last = 0;

	fprintf(to,
		",\n\"times\":{\"thinning\":%" PRIu64 ",\"main\":%zu,\"end\":%" PRIu64
		",\"counts\":[%zu,%zu,%zu],\"moments\":[",
		t->thinning, ct_times_type(profile), t->end + tab->times->offset,
		profile->sample_count, t->event_count, t->wake_count);
	for (size_t i = 0; i < profile->type_count; i++)
		fprintf(to, "%s%d", i ? "," : "", ct_model_is_of_moment(profile, i));
	fputc(']', to);
	put_samples(tab, to);
	put_events(tab, flame->times->count, to);
	p = ct_flame_data_begin(to, "wakes");
	for (size_t i = 0; i < t->wake_count; i++) {
		ct_flame_data_number(&p, t->wakes[i].when + tab->times->offset - last);
		ct_flame_data_number(&p, tab->times->lane_of[t->wakes[i].woken]);
		ct_flame_data_number(&p, tab->times->lane_of[t->wakes[i].waker]);
		last = t->wakes[i].when + tab->times->offset;
	}
	ct_flame_data_end(&p);
	fputc('}', to);
}

/* ---- what all tabs share ---- */

/* All files of a run have the same spans. So a lane's are those of the tab that has most of them.
 */
static void put_spans(const struct ct_flame *flame, FILE *to)
{
	size_t lanes = flame->times->count;
	struct grouped *all = ct_memory_alloc((flame->tab_count + 1) * sizeof(*all));
	struct ct_flame_packer p = ct_flame_data_begin(to, "spans");

	for (size_t i = 0; i < flame->tab_count; i++) {
		const struct ct_times *t = flame->tabs[i].profile->times;

		if (flame->tabs[i].times)
			all[i] = group(t->spans ? &t->spans->thread : NULL, sizeof(*t->spans),
				       t->span_count, flame->tabs[i].times->lane_of, lanes);
	}
	for (size_t lane = 0; lane < lanes; lane++) {
		size_t most = 0, best = 0;
		uint64_t last = 0;

		for (size_t i = 0; i < flame->tab_count; i++) {
			size_t has = all[i].first ? all[i].first[lane + 1] - all[i].first[lane] : 0;

			best = has > most ? i : best;
			most = has > most ? has : most;
		}
		ct_flame_data_number(&p, most);
		for (size_t i = 0; i < most; i++) {
			const struct ct_profile *from = flame->tabs[best].profile;
			const struct ct_times_span *s =
				&from->times->spans[all[best].order[all[best].first[lane] + i]];
			uint64_t begin = s->begin + flame->tabs[best].times->offset;

			ct_flame_data_number(&p, begin - last);
			ct_flame_data_number(&p, s->duration);
			ct_flame_data_number(
				&p, ct_model_string(flame->frames.pool, ct_text(from, s->name)));
			ct_flame_data_number(&p, s->weight);
			last = begin;
		}
	}
	ct_flame_data_end(&p);
	for (size_t i = 0; i < flame->tab_count; i++)
		release(&all[i]);
	free(all);
}

/* Writes memory and CPU time of the tab that has most of them. */
static void put_counters(const struct ct_flame *flame, FILE *to)
{
	struct ct_flame_packer p = ct_flame_data_begin(to, "counters");
	const struct ct_flame_tab *best = NULL;
	uint64_t last = 0;

	for (size_t i = 0; i < flame->tab_count; i++) {
		const struct ct_flame_tab *tab = &flame->tabs[i];

		if (tab->times && !tab->times->several_processes &&
		    (!best ||
		     tab->profile->times->counter_count > best->profile->times->counter_count))
			best = tab;
	}
	for (size_t i = 0; best && i < best->profile->times->counter_count; i++) {
		const struct ct_times_counter *c = &best->profile->times->counters[i];

		ct_flame_data_number(&p, c->when + best->times->offset - last);
		ct_flame_data_number(&p, c->resident);
		ct_flame_data_number(&p, c->cpu);
		last = c->when + best->times->offset;
	}
	ct_flame_data_end(&p);
}

void ct_flame_times_data(const struct ct_flame *flame, FILE *to)
{
	const struct ct_flame_times *all = flame->times;

	fprintf(to, ",\n\"times\":{\"startMs\":%" PRId64 ",\"length\":%" PRIu64 ",\"lanes\":[",
		all->start / 1000000, all->length);
	for (size_t i = 0; i < all->count; i++) {
		const struct lane *l = &all->lanes[i];

		fprintf(to, "%s[%u,%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			l->name, l->tid, l->process, l->begin, l->end);
	}
	fputc(']', to);
	put_spans(flame, to);
	put_counters(flame, to);
	fputc('}', to);
}
