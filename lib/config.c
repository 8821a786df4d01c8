/* The settings from the environment; see config.h.
 *
 * One rule for all variables: empty is as if not set; text that can't be read leaves
 * the default; a number out of range becomes the nearest one in range.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "config_values.h"
#include "globs.h"
#include "log.h"
#include "path.h"
#include "sigsafe/text.h"

#define SECOND UINT64_C(1000000000)
/* Below this a checkpoint would cost more than the sampling; above it, it is "off". */
#define CHECKPOINT_MIN (SECOND / 100)
#define CHECKPOINT_MAX (SECOND * 3600 * 24 * 365)

#define SIGNAL_VALUES                                                                              \
	"a signal's name or number (not KILL, STOP, PROF, ABRT, a fault's, or one that libc "      \
	"keeps) or none"

struct reader {
	const char *(*name)(const char *key);
	bool quiet;
};

void cp_config_defaults(struct cp_config *c)
{
	memset(c, 0, sizeof(*c));
	c->cpu_frequency = 99;
	c->wall_frequency = 50;
	c->heap_interval = 512 << 10;
	c->lock_threshold_ns = 1000;
	c->lock_budget = 100;
	c->engine = CP_ENGINE_AUTO;
	c->unwind = CP_UNWIND_AUTO;
	c->max_depth = 512;
	c->checkpoint_ns = 60 * SECOND;
	c->dump_signal = SIGUSR2;
	c->follow = true;
	c->symbolize = CP_SYMBOLIZE_FULL;
}

static const char *get(const struct reader *r, const char *key)
{
	const char *value = r->name(key);

	return value && *value ? value : NULL;
}

/* VALUE as one short piece of a line, whatever bytes it holds. */
static void say(const struct reader *r, const char *key, const char *value, const char *accepted,
		const char *used)
{
	char shown[64];
	size_t n;

	if (r->quiet)
		return;
	for (n = 0; n < sizeof(shown) - 4 && value[n]; n++)
		shown[n] = value[n] >= ' ' && value[n] != 127 ? value[n] : '?';
	cp_format(shown + n, sizeof(shown) - n, "%s", value[n] ? "..." : "");
	cp_log("%s=%s: accepted is %s; using %s", key, shown, accepted, used);
}

static void read_number(const struct reader *r, const char *key, const char *accepted, unsigned min,
			unsigned max, unsigned *to)
{
	const char *value = get(r, key);
	uint64_t n = 0;
	char used[16];
	int err;

	if (!value)
		return;
	err = cp_value_number(value, &n);
	if (!err && n >= min && n <= max) {
		*to = (unsigned)n;
		return;
	}
	if (err != -EINVAL)
		*to = !err && n < min ? min : max;
	cp_format(used, sizeof(used), "%u", *to);
	say(r, key, value, accepted, used);
}

static void read_bool(const struct reader *r, const char *key, bool *to)
{
	const char *value = get(r, key);

	if (value && cp_value_bool(value, to))
		say(r, key, value, "0 or 1, no or yes, off or on", *to ? "1" : "0");
}

static void read_choice(const struct reader *r, const char *key, const char *accepted,
			const char *const *names, unsigned count, unsigned *to)
{
	const char *value = get(r, key);

	if (value && cp_value_choice(value, names, count, to))
		say(r, key, value, accepted, names[*to]);
}

static void read_signal(const struct reader *r, const char *key, int *to)
{
	const char *value = get(r, key);
	char used[16];

	if (!value || !cp_value_signal(value, to))
		return;
	cp_value_signal_text(*to, used, sizeof(used));
	say(r, key, value, SIGNAL_VALUES, used);
}

/* A duration from MIN to MAX, or 0. */
static void read_duration(const struct reader *r, const char *key, const char *accepted,
			  uint64_t min, uint64_t max, uint64_t *to)
{
	const char *value = get(r, key);
	uint64_t ns = 0;
	char used[24];
	int err;

	if (!value)
		return;
	err = cp_value_duration(value, &ns);
	if (!err && (!ns || (ns >= min && ns <= max))) {
		*to = ns;
		return;
	}
	if (err != -EINVAL)
		*to = !err && ns < min ? min : max;
	cp_value_duration_text(*to, used, sizeof(used));
	say(r, key, value, accepted, used);
}

/* A size from MIN to MAX, or 0 where MIN is. */
static void read_size(const struct reader *r, const char *key, const char *accepted, uint64_t min,
		      uint64_t max, uint64_t *to)
{
	const char *value = get(r, key);
	uint64_t bytes = 0;
	char used[24];
	int err;

	if (!value)
		return;
	err = cp_value_size(value, &bytes);
	if (!err && bytes >= min && bytes <= max) {
		*to = bytes;
		return;
	}
	if (err != -EINVAL)
		*to = !err && bytes < min ? min : max;
	cp_format(used, sizeof(used), "%lu", (unsigned long)*to);
	say(r, key, value, accepted, used);
}

/* True when VALUE fits TO, which then holds it. */
static bool take_text(const char *value, char *to, size_t size)
{
	size_t n = strlen(value);

	if (n >= size)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

static void read_only(const struct reader *r, struct cp_config *c)
{
	const char *value = get(r, "CPROF_ONLY");

	if (value && !take_text(value, c->only, sizeof(c->only)))
		say(r, "CPROF_ONLY", value, "a list of globs of up to 1023 bytes", "all programs");
}

/* key=value, separated by commas, no key empty. */
static bool are_labels(const char *s)
{
	while (*s) {
		size_t key = strcspn(s, "=,");

		if (!key || s[key] != '=')
			return false;
		s += key + strcspn(s + key, ",");
		if (*s && !*++s)
			return false;
	}
	return true;
}

static void read_labels(const struct reader *r, struct cp_config *c)
{
	const char *value = get(r, "CPROF_LABELS");

	if (value && (!are_labels(value) || !take_text(value, c->labels, sizeof(c->labels))))
		say(r, "CPROF_LABELS", value, "key=value,key=value of up to 1023 bytes",
		    "no labels");
}

static void read_label_keys(const struct reader *r, struct cp_config *c)
{
	const char *value = get(r, "CPROF_LABEL_KEYS");

	if (!value || take_text(value, c->label_keys, sizeof(c->label_keys)))
		return;
	/* Meant to keep something out: rather none than all. */
	memcpy(c->label_keys, ",", 2);
	say(r, "CPROF_LABEL_KEYS", value, "a list of globs of up to 1023 bytes",
	    "no labels of the program's");
}

static void read_choices(const struct reader *r, struct cp_config *c)
{
	static const char *const engines[] = { "auto", "timer", "perf", "itimer" };
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "libunwind" };
	static const char *const symbolizers[] = { "none", "names", "full" };
	unsigned engine = c->engine, unwind = c->unwind, symbolize = c->symbolize;

	read_choice(r, "CPROF_CPU_ENGINE", "auto, timer, perf or itimer", engines, 4, &engine);
	read_choice(r, "CPROF_UNWIND", "auto, fp, dwarf or libunwind", unwinders, 4, &unwind);
	read_choice(r, "CPROF_SYMBOLIZE", "none, names or full", symbolizers, 3, &symbolize);
	c->engine = (enum cp_engine_choice)engine;
	c->unwind = (enum cp_unwind_choice)unwind;
	c->symbolize = (enum cp_symbolize_choice)symbolize;
}

/* gperftools' users often toggle with USR2, our default for dumps, or dump the heap with it: what
 * was asked for wins. */
static void read_signals(const struct reader *r, struct cp_config *c)
{
	const char *dump = get(r, "CPROF_SIGNAL");

	read_signal(r, "CPROF_SIGNAL", &c->dump_signal);
	read_signal(r, "CPUPROFILESIGNAL", &c->toggle_signal);
	read_signal(r, "HEAPPROFILESIGNAL", &c->heap_signal);
	if (c->heap_signal && c->heap_signal == c->toggle_signal) {
		say(r, "HEAPPROFILESIGNAL", get(r, "HEAPPROFILESIGNAL"),
		    "a signal other than CPUPROFILESIGNAL's", "none");
		c->heap_signal = 0;
	}
	if (!c->dump_signal ||
	    (c->dump_signal != c->toggle_signal && c->dump_signal != c->heap_signal))
		return;
	c->dump_signal = 0;
	if (dump)
		say(r, "CPROF_SIGNAL", dump,
		    "a signal other than CPUPROFILESIGNAL's and HEAPPROFILESIGNAL's", "none");
}

/* gperftools' switches of how to sample. Ours always has a timer a thread, so
 * CPUPROFILE_PER_THREAD_TIMERS needs no word. */
static void read_gperftools(const struct reader *r, struct cp_config *c)
{
	static const char *const prof[] = { "PROF", "SIGPROF", "27" };
	unsigned ignored = 0;

	read_bool(r, "CPUPROFILE_USE_PID", &c->use_pid);
	read_choice(r, "CPUPROFILE_TIMER_SIGNAL", "PROF or 27", prof, 3, &ignored);
}

static const struct {
	const char *variable, *name;
} modes[CP_MAIN_MODES] = {
	[CP_MODE_CPU] = { "CPUPROFILE", "cpu" },
	[CP_MODE_WALL] = { "WALLPROFILE", "wall" },
	[CP_MODE_HEAP] = { "HEAPPROFILE", "heap" },
	[CP_MODE_LOCK] = { "LOCKPROFILE", "lock" },
};

const char *cp_config_variable(unsigned mode)
{
	return modes[mode].variable;
}

bool cp_config_any(const struct cp_config *c)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		if (c->path[m][0])
			return true;
	return false;
}

void cp_config_take_mode(struct cp_config *to, const struct cp_config *c, unsigned m)
{
	memcpy(to->path[m], c->path[m], sizeof(to->path[m]));
	switch (m) {
	case CP_MODE_CPU:
		to->cpu_frequency = c->cpu_frequency;
		to->engine = c->engine;
		break;
	case CP_MODE_WALL:
		to->wall_frequency = c->wall_frequency;
		to->span_slow_ns = c->span_slow_ns;
		break;
	case CP_MODE_HEAP:
		to->heap_interval = c->heap_interval;
		to->heap_allocated = c->heap_allocated;
		to->heap_freed = c->heap_freed;
		to->heap_inuse = c->heap_inuse;
		to->heap_time_ns = c->heap_time_ns;
		to->heap_mmap = c->heap_mmap;
		break;
	case CP_MODE_LOCK:
		to->lock_threshold_ns = c->lock_threshold_ns;
		to->lock_budget = c->lock_budget;
		break;
	default: break;
	}
}

static void read_modes(const struct reader *r, struct cp_config *c)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *path = get(r, modes[m].variable);

		if (path && !take_text(path, c->path[m], sizeof(c->path[m])))
			say(r, modes[m].variable, path, "a path of up to 4095 bytes", "none");
	}
}

/* gperftools' wall clock: it turns what CPUPROFILE names into a wall profile. */
static void read_realtime(const struct reader *r, struct cp_config *c)
{
	bool on = false;

	read_bool(r, "CPUPROFILE_REALTIME", &on);
	if (!on || !c->path[CP_MODE_CPU][0])
		return;
	if (c->path[CP_MODE_WALL][0]) {
		say(r, "CPUPROFILE_REALTIME", "1", "0 where WALLPROFILE is set", "0");
		return;
	}
	memcpy(c->path[CP_MODE_WALL], c->path[CP_MODE_CPU], sizeof(c->path[0]));
	c->path[CP_MODE_CPU][0] = '\0';
	c->toggle_mode = CP_MODE_WALL;
	if (!get(r, "WALLPROFILE_FREQUENCY"))
		read_number(r, "CPUPROFILE_FREQUENCY", "1 to 1000 with CPUPROFILE_REALTIME", 1,
			    1000, &c->wall_frequency);
}

/* Two modes can't share a file: the later one goes beside it, as NAME.heap.EXT. */
static void part_paths(struct cp_config *c)
{
	for (unsigned m = 1; m < CP_MAIN_MODES; m++)
		for (unsigned other = 0; c->path[m][0] && other < m; other++)
			if (!strcmp(c->path[m], c->path[other]) &&
			    cp_path_infix(c->path[m], sizeof(c->path[m]), c->path[m],
					  modes[m].name))
				c->path[m][0] = '\0';
}

static void read_cpu(const struct reader *r, struct cp_config *c)
{
	read_number(r, "CPUPROFILE_FREQUENCY", "1 to 10000 samples per CPU second", 1, 10000,
		    &c->cpu_frequency);
	read_number(r, "WALLPROFILE_FREQUENCY", "1 to 1000 samples per second", 1, 1000,
		    &c->wall_frequency);
	read_gperftools(r, c);
}

#define DUMP_INTERVAL "a size as 1G or 100M, or 0 for off"

static void read_heap(const struct reader *r, struct cp_config *c)
{
	read_size(r, "CPROF_HEAP_INTERVAL", "a size as 512K or 1M (1 to 1G; 1: every allocation)",
		  1, UINT64_C(1) << 30, &c->heap_interval);
	read_size(r, "HEAP_PROFILE_ALLOCATION_INTERVAL", DUMP_INTERVAL, 0, UINT64_MAX,
		  &c->heap_allocated);
	read_size(r, "HEAP_PROFILE_DEALLOCATION_INTERVAL", DUMP_INTERVAL, 0, UINT64_MAX,
		  &c->heap_freed);
	read_size(r, "HEAP_PROFILE_INUSE_INTERVAL", DUMP_INTERVAL, 0, UINT64_MAX, &c->heap_inuse);
	read_duration(r, "HEAP_PROFILE_TIME_INTERVAL", "seconds or a duration as 10m, or 0 for off",
		      SECOND / 100, CHECKPOINT_MAX, &c->heap_time_ns);
	read_bool(r, "CPROF_HEAP_MMAP", &c->heap_mmap);
}

static void read_lock(const struct reader *r, struct cp_config *c)
{
	read_duration(r, "CPROF_LOCK_THRESHOLD", "a duration as 1us or 5ms (1ns to 1h), or 0", 1,
		      SECOND * 3600, &c->lock_threshold_ns);
	read_number(r, "CPROF_LOCK_BUDGET", "1 to 1000000 stacks a second and thread", 1, 1000000,
		    &c->lock_budget);
}

static void read_all(const struct reader *reader, struct cp_config *c)
{
	struct reader r = *reader;

	cp_config_defaults(c);
	read_modes(&r, c);
	if (!cp_config_any(c))
		r.quiet = true;
	read_cpu(&r, c);
	read_realtime(&r, c);
	read_heap(&r, c);
	read_lock(&r, c);
	read_duration(&r, "CPROF_SPAN_SLOW", "a duration as 100ms or 2s (1us to 1h), or 0 for off",
		      1000, SECOND * 3600, &c->span_slow_ns);
	part_paths(c);
	read_number(&r, "CPROF_MAX_DEPTH", "1 to 4096 frames", 1, 4096, &c->max_depth);
	read_choices(&r, c);
	read_duration(&r, "CPROF_CHECKPOINT",
		      "a duration as 30s, 1.5m or 500ms (10ms to 8760h), seconds, or 0 for off",
		      CHECKPOINT_MIN, CHECKPOINT_MAX, &c->checkpoint_ns);
	read_signals(&r, c);
	read_bool(&r, "CPROF_FOLLOW", &c->follow);
	read_number(&r, "CPROF_VERBOSE", "0 or 1", 0, 1, &c->verbose);
	read_only(&r, c);
	read_labels(&r, c);
	read_label_keys(&r, c);
}

void cp_config_read(struct cp_config *c, const char *(*name)(const char *key))
{
	read_all(&(struct reader){ .name = name }, c);
}

void cp_config_read_quietly(struct cp_config *c, const char *(*name)(const char *key))
{
	read_all(&(struct reader){ .name = name, .quiet = true }, c);
}

bool cp_config_wants_program(const struct cp_config *c, const char *program)
{
	return !c->only[0] || cp_globs_match(c->only, program);
}
