/* SPDX-License-Identifier: BSD-3-Clause */
/* Events by the names that perf gives them; see event_names.h. */
#include "modes/event/event_names.h"

#include <linux/perf_event.h>

#include "base/text.h"

/* Events between two samples. Rare events, and those that cost far more than a sample, are sampled
 * each time. A page fault takes half a microsecond or more, and a sample of one with its signal
 * ten. A processor counts up to 10^7 (misses) or 10^9 of the others per second. */
#define EACH 1
#define OF_FAULTS 100
#define OF_MISSES 100000
#define OF_WORK 10000000

/* The kernel counts a page fault when it begins. If the fault must wait for a lock or the disk, and
 * a signal has come, the program gets the signal first and then faults again, which counts again:
 * with a sample each time it would never go on. Minor and major faults are counted when they are
 * done. */
#define LEAST_OF_FAULTS 2

/* context-switches and cpu-migrations are left out: they happen in calls that wait, and a signal
 * there ends the call, or makes it wait again, which is one more of them. The wall mode measures
 * waits. */
static const struct named {
	const char *name, *other; /* the profile has NAME */
	unsigned type, config, period;
} events[] = {
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, OF_FAULTS },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, OF_FAULTS },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EACH },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, EACH },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, EACH },
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, OF_WORK },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, OF_WORK },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, OF_MISSES },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, OF_MISSES },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  OF_WORK },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, OF_MISSES },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, OF_MISSES },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, OF_WORK },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND, OF_WORK },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, OF_WORK },
};

/* In the order of the kernel's numbers. */
static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
				      "iTLB",	   "branch",	"node" };
static const char *const operations[] = { "load", "store", "prefetch" };

/* Read N names as one word at *AT. Returns the word's number, or -1; moves *AT after it. */
static int read_word(const char **at, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		size_t size = strlen(words[i]);

		if (!strncmp(*at, words[i], size)) {
			*at += size;
			return (int)i;
		}
	}
	return -1;
}

/* Find a cache event: "LLC-loads", "dTLB-store-misses". "prefetches" has an irregular plural. */
static bool find_cache(const char *text, struct cp_event_name *to)
{
	const char *at = text;
	int cache = read_word(&at, caches, sizeof(caches) / sizeof(*caches)), operation;
	bool misses;

	if (cache < 0 || *at++ != '-')
		return false;
	operation = read_word(&at, operations, sizeof(operations) / sizeof(*operations));
	if (operation < 0)
		return false;
	misses = !strcmp(at, "-misses");
	if (!misses && strcmp(at, operation == 2 ? "es" : "s") != 0)
		return false;
	to->what.type = PERF_TYPE_HW_CACHE;
	to->what.config = (unsigned)cache | (unsigned)operation << 8 | (unsigned)misses << 16;
	to->period = misses ? OF_MISSES : OF_WORK;
	return true;
}

/* Find a raw event: "r01c2" is the processor's own number of an event. */
static bool find_raw(const char *text, struct cp_event_name *to)
{
	const char *at = text + 1;

	if (*text != 'r' || cp_text_parse_u64(&at, 16, &to->what.config) < 0 || *at)
		return false;
	to->what.type = PERF_TYPE_RAW;
	to->period = OF_MISSES;
	return true;
}

static bool find_named(char *text, struct cp_event_name *to)
{
	for (unsigned i = 0; i < sizeof(events) / sizeof(*events); i++) {
		const struct named *e = &events[i];

		if (strcmp(text, e->name) != 0 && (!e->other || strcmp(text, e->other) != 0))
			continue;
		to->what.type = e->type;
		to->what.config = e->config;
		to->period = e->period;
		if (e->config == PERF_COUNT_SW_PAGE_FAULTS && e->type == PERF_TYPE_SOFTWARE)
			to->least = LEAST_OF_FAULTS;
		cp_text_format(text, CP_EVENT_NAME_SIZE, "%s", e->name);
		return true;
	}
	return false;
}

bool cp_event_names_find(const char *text, struct cp_event_name *to)
{
	const char *colon = strchr(text, ':');
	size_t size = colon ? (size_t)(colon - text) : strlen(text);
	struct cp_event_name found = { .least = 1, .what = { .user = colon != NULL } };

	if (size >= sizeof(found.text) || (colon && strcmp(colon, ":u") != 0))
		return false;
	memcpy(found.text, text, size);
	if (!find_named(found.text, &found) && !find_cache(found.text, &found) &&
	    !find_raw(found.text, &found))
		return false;
	/* If each return from a sample's handler causes the next event, the kernel throttles the
	 * event, and loses counts. */
	if (found.what.type != PERF_TYPE_SOFTWARE)
		found.least = found.period / 100;
	*to = found;
	return true;
}

bool cp_event_names_is_good(const char *text)
{
	struct cp_event_name found;

	return cp_event_names_find(text, &found);
}
