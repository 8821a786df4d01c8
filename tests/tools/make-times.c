/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a profile with a time index from lines of text: make-times FILE <TEXT.
 *
 *     time NS                          when the run began
 *     dump NS                          when it ended; the file has no duration, as a heap profile
 *     type NAME UNIT                   before the first sample
 *     sample FRAME;FRAME[;KEY=LABEL]... VALUE...  outermost first
 *     comment TEXT
 *     thread TID NAME [BEGIN [END]]
 *     event BEGIN THREAD SAMPLE WEIGHT [DURATION [COUNT]]
 *     death BEGIN THREAD SAMPLE WEIGHT [COUNT]
 *     span BEGIN DURATION THREAD NAME [WEIGHT]
 *     counter WHEN RESIDENT CPU
 *     wake WHEN WOKEN WAKER [SAMPLE]
 *     recorded SAMPLE SUM              of all its events; default: of those here
 *     end NS, from NS, keep NS, budget BYTES, thinning N, seen N
 *
 * THREAD and SAMPLE are numbers from 0. Times are in nanoseconds; a suffix "ms" or "s" is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"

#define WORDS 70

static char *words[WORDS];
static size_t count;
static struct ct_profile *p;
static struct ct_times *t;
static uint64_t dumped;
static struct {
	size_t events, spans, threads, counters, wakes, recorded;
} room;

static uint64_t number(size_t i)
{
	char *end = NULL;
	double v;

	if (i >= count)
		return 0;
	v = strtod(words[i], &end);
	return (uint64_t)(v * (!strcmp(end, "s") ? 1e9 : !strcmp(end, "ms") ? 1e6 : 1) + 0.5);
}

static uint32_t frame(const char *name)
{
	struct ct_function f = { .name = ct_model_string(p, name) };
	struct ct_location l = { .mapping = CT_NONE };

	for (uint32_t i = 0; i < p->function_count; i++)
		if (p->functions[i].name == f.name)
			return i;
	f.system_name = f.name;
	return ct_model_add_location(
		p, &l, &(struct ct_line){ .function = ct_model_add_function(p, &f) }, 1);
}

static void sample(void)
{
	uint32_t frames[WORDS], depth = 0, label_count = 0;
	struct ct_label labels[WORDS];
	int64_t values[WORDS];

	for (char *word = strtok(words[1], ";"); word; word = strtok(NULL, ";")) {
		char *equal = strchr(word, '=');

		if (equal) {
			*equal = '\0';
			labels[label_count++] =
				(struct ct_label){ .key = ct_model_string(p, word),
						   .text = ct_model_string(p, equal + 1) };
		} else {
			memmove(frames + 1, frames, depth++ * sizeof(*frames));
			frames[0] = frame(word);
		}
	}
	for (size_t i = 0; i < p->type_count; i++)
		values[i] = (int64_t)number(2 + i);
	ct_model_add_sample(p, frames, depth, values, ct_model_label_set(p, labels, label_count));
	*CT_PUSH(t->recorded, t->recorded_count, room.recorded) = 0;
}

static void item(void)
{
	const char *kind = words[0];

	if (!strcmp(kind, "thread"))
		*CT_PUSH(t->threads, t->thread_count, room.threads) =
			(struct ct_times_thread){ .tid = (int64_t)number(1),
						  .name = ct_model_string(p, words[2]),
						  .begin = number(3),
						  .end = number(4) };
	else if (!strcmp(kind, "event") || !strcmp(kind, "death"))
		*CT_PUSH(t->events, t->event_count, room.events) = (struct ct_event){
			.begin = number(1),
			.thread = (uint32_t)number(2),
			.sample = (uint32_t)number(3),
			.weight = number(4),
			.duration = *kind == 'e' ? number(5) : 0,
			.count = (uint32_t)(count > (*kind == 'e' ? 6 : 5) ? number(count - 1) : 1),
			.death = *kind == 'd'
		};
	else if (!strcmp(kind, "span"))
		*CT_PUSH(t->spans, t->span_count, room.spans) =
			(struct ct_times_span){ .begin = number(1),
						.duration = number(2),
						.thread = (uint32_t)number(3),
						.name = ct_model_string(p, words[4]),
						.weight = count > 5 ? number(5) : 1 };
	else if (!strcmp(kind, "counter"))
		*CT_PUSH(t->counters, t->counter_count, room.counters) =
			(struct ct_times_counter){ number(1), number(2), number(3) };
	else if (!strcmp(kind, "wake"))
		*CT_PUSH(t->wakes, t->wake_count, room.wakes) =
			(struct ct_times_wake){ number(1), (uint32_t)number(2), (uint32_t)number(3),
						count > 4 ? (uint32_t)number(4) : CT_NONE };
	else
		fprintf(stderr, "make-times: %s?\n", kind), exit(1);
}

static void line(char *text)
{
	struct {
		const char *name;
		uint64_t *to;
	} numbers[] = { { "end", &t->end },
			{ "from", &t->from },
			{ "keep", &t->keep },
			{ "budget", &t->budget },
			{ "seen", &t->seen },
			{ "thinning", &t->thinning },
			{ "time", (uint64_t *)&p->time_nanos },
			{ "dump", &dumped } };

	count = 0;
	if (!strncmp(text, "comment ", 8)) {
		ct_model_add_comment(p, ct_model_string(p, text + 8));
		return;
	}
	for (char *word = strtok(text, " "); word && count < WORDS; word = strtok(NULL, " "))
		words[count++] = word;
	if (!count)
		return;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!strcmp(words[0], numbers[i].name)) {
			*numbers[i].to = number(1);
			return;
		}
	}
	if (!strcmp(words[0], "type"))
		ct_model_add_type(p, (struct ct_type){ ct_model_string(p, words[1]),
						       ct_model_string(p, words[2]) });
	else if (!strcmp(words[0], "sample"))
		sample();
	else if (!strcmp(words[0], "recorded"))
		t->recorded[number(1)] = number(2);
	else
		item();
}

/* The sums that no line gave are those of the events here. */
static void sum_up(void)
{
	double *kept = ct_times_kept(t);

	for (size_t i = 0; i < t->recorded_count; i++)
		if (!t->recorded[i])
			t->recorded[i] = (uint64_t)kept[i];
	free(kept);
}

int main(int argc, char **argv)
{
	char text[4096];
	int status;

	if (argc != 2)
		return 2;
	p = ct_model_new();
	t = ct_times_new(p);
	t->thinning = 1;
	while (fgets(text, sizeof(text), stdin)) {
		text[strcspn(text, "#\n")] = '\0';
		line(text);
	}
	sum_up();
	p->duration_nanos = dumped ? 0 : (int64_t)t->end;
	p->time_nanos = dumped ? (int64_t)dumped : p->time_nanos;
	if (!t->thread_count && !t->end)
		ct_times_drop(p); /* a file of an older version */
	status = ct_write_file(p, argv[1]) ? 1 : 0;
	ct_model_free(p);
	return status;
}
