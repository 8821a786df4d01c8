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

static void read_checkpoint(const struct reader *r, uint64_t *to)
{
	const char *value = get(r, "CPROF_CHECKPOINT");
	uint64_t ns = 0;
	char used[24];
	int err;

	if (!value)
		return;
	err = cp_value_duration(value, &ns);
	if (!err && (!ns || (ns >= CHECKPOINT_MIN && ns <= CHECKPOINT_MAX))) {
		*to = ns;
		return;
	}
	if (err != -EINVAL)
		*to = !err && ns < CHECKPOINT_MIN ? CHECKPOINT_MIN : CHECKPOINT_MAX;
	cp_value_duration_text(*to, used, sizeof(used));
	say(r, "CPROF_CHECKPOINT", value,
	    "a duration as 30s, 1.5m or 500ms (10ms to 8760h), seconds, or 0 for off", used);
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

static void read_choices(const struct reader *r, struct cp_config *c)
{
	static const char *const engines[] = { "auto", "timer", "itimer" };
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "libunwind" };
	static const char *const symbolizers[] = { "none", "names", "full" };
	unsigned engine = c->engine, unwind = c->unwind, symbolize = c->symbolize;

	read_choice(r, "CPROF_CPU_ENGINE", "auto, timer or itimer", engines, 3, &engine);
	read_choice(r, "CPROF_UNWIND", "auto, fp, dwarf or libunwind", unwinders, 4, &unwind);
	read_choice(r, "CPROF_SYMBOLIZE", "none, names or full", symbolizers, 3, &symbolize);
	c->engine = (enum cp_engine_choice)engine;
	c->unwind = (enum cp_unwind_choice)unwind;
	c->symbolize = (enum cp_symbolize_choice)symbolize;
}

/* gperftools' users often toggle with USR2, our default for dumps: what was asked for wins. */
static void read_signals(const struct reader *r, struct cp_config *c)
{
	const char *dump = get(r, "CPROF_SIGNAL");

	read_signal(r, "CPROF_SIGNAL", &c->dump_signal);
	read_signal(r, "CPUPROFILESIGNAL", &c->toggle_signal);
	if (!c->toggle_signal || c->toggle_signal != c->dump_signal)
		return;
	c->dump_signal = 0;
	if (dump)
		say(r, "CPROF_SIGNAL", dump, "a signal other than CPUPROFILESIGNAL's", "none");
}

/* gperftools' switches of how to sample. Ours always has a timer a thread, so
 * CPUPROFILE_PER_THREAD_TIMERS needs no word. */
static void read_gperftools(const struct reader *r, struct cp_config *c)
{
	static const char *const prof[] = { "PROF", "SIGPROF", "27" };
	const char *realtime = get(r, "CPUPROFILE_REALTIME");
	bool on = true;
	unsigned ignored = 0;

	read_bool(r, "CPUPROFILE_USE_PID", &c->use_pid);
	if (realtime && (cp_value_bool(realtime, &on) || on))
		say(r, "CPUPROFILE_REALTIME", realtime, "0 (no wall clock mode in this version)",
		    "CPU time");
	read_choice(r, "CPUPROFILE_TIMER_SIGNAL", "PROF or 27", prof, 3, &ignored);
}

static void read_modes(const struct reader *r, struct cp_config *c)
{
	static const char *const unbuilt[] = { "WALLPROFILE", "HEAPPROFILE", "LOCKPROFILE" };
	const char *path = get(r, "CPUPROFILE");

	if (path && !take_text(path, c->cpu_path, sizeof(c->cpu_path)))
		say(r, "CPUPROFILE", path, "a path of up to 4095 bytes", "no CPU profile");
	for (size_t i = 0; i < sizeof(unbuilt) / sizeof(unbuilt[0]); i++) {
		if (get(r, unbuilt[i]) && !r->quiet)
			cp_log("%s is set, but this version has CPU profiles only; it is ignored",
			       unbuilt[i]);
	}
}

static void read_all(const struct reader *modes, struct cp_config *c)
{
	struct reader r = *modes;

	cp_config_defaults(c);
	read_modes(&r, c);
	if (!c->cpu_path[0])
		r.quiet = true;
	read_number(&r, "CPUPROFILE_FREQUENCY", "1 to 10000 samples per CPU second", 1, 10000,
		    &c->cpu_frequency);
	read_number(&r, "CPROF_MAX_DEPTH", "1 to 4096 frames", 1, 4096, &c->max_depth);
	read_choices(&r, c);
	read_checkpoint(&r, &c->checkpoint_ns);
	read_signals(&r, c);
	read_bool(&r, "CPROF_FOLLOW", &c->follow);
	read_number(&r, "CPROF_VERBOSE", "0 or 1", 0, 1, &c->verbose);
	read_only(&r, c);
	read_labels(&r, c);
	read_gperftools(&r, c);
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
