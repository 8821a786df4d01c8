/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses sizes, durations, signals and switches; see settings.h. */
#include "settings/settings.h"

#include <errno.h>
#include <signal.h>

#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit sizes[] = {
	{ "K", 1 << 10 },
	{ "M", 1 << 20 },
	{ "G", 1 << 30 },
};

static const struct unit durations[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", UINT64_C(1000000000) },
	{ "m", UINT64_C(60000000000) },
	{ "h", UINT64_C(3600000000000) },
};

/* Tables like this one have no pointers, which the loader would relocate at each start. */
static const struct {
	char name[7];
	uint8_t number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },	    { "QUIT", SIGQUIT },
	{ "ILL", SIGILL },   { "TRAP", SIGTRAP },   { "ABRT", SIGABRT },
	{ "IOT", SIGIOT },   { "BUS", SIGBUS },	    { "FPE", SIGFPE },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 },   { "SEGV", SIGSEGV },
	{ "USR2", SIGUSR2 }, { "PIPE", SIGPIPE },   { "ALRM", SIGALRM },
	{ "TERM", SIGTERM }, { "CHLD", SIGCHLD },   { "STKFLT", SIGSTKFLT },
	{ "CONT", SIGCONT }, { "STOP", SIGSTOP },   { "TSTP", SIGTSTP },
	{ "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },   { "URG", SIGURG },
	{ "XCPU", SIGXCPU }, { "XFSZ", SIGXFSZ },   { "VTALRM", SIGVTALRM },
	{ "PROF", SIGPROF }, { "WINCH", SIGWINCH }, { "IO", SIGIO },
	{ "POLL", SIGPOLL }, { "PWR", SIGPWR },	    { "SYS", SIGSYS },
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Not strcasecmp, which depends on the locale. */
static bool same_word(const char *a, const char *b)
{
	for (; *a && lower(*a) == lower(*b); a++, b++)
		;
	return lower(*a) == lower(*b);
}

static bool skip_prefix(const char **s, const char *prefix)
{
	const char *p = *s;

	for (; *prefix; p++, prefix++)
		if (lower(*p) != lower(*prefix))
			return false;
	*s = p;
	return true;
}

int cp_config_values_number(const char *s, uint64_t *value)
{
	uint64_t v;
	int err = cp_text_parse_u64(&s, 10, &v);

	if (err)
		return err;
	if (*s)
		return -EINVAL;
	*value = v;
	return 0;
}

/* Parses the digits after the point: *FRACTION / *ONE. Six digits, times an hour, still fit 64
 * bits. */
static int parse_fraction(const char **s, uint64_t *fraction, uint64_t *one)
{
	const char *digits = *s + 1;

	*fraction = 0;
	*one = 1;
	if (**s != '.')
		return 0;
	for (*s = digits; **s >= '0' && **s <= '9'; ++*s) {
		*fraction = *fraction * 10 + (uint64_t)(**s - '0');
		*one *= 10;
		if (*one > 1000000)
			return -EINVAL;
	}
	return *s == digits ? -EINVAL : 0;
}

static uint64_t find_unit(const char *s, const struct unit *units, size_t n, uint64_t bare)
{
	if (!*s)
		return bare;
	for (size_t i = 0; i < n; i++)
		if (same_word(s, units[i].name))
			return units[i].scale;
	return 0;
}

static int parse_scaled(const char *s, const struct unit *units, size_t n, uint64_t bare,
			uint64_t *value)
{
	uint64_t whole, fraction, one, scale, v;
	int err = cp_text_parse_u64(&s, 10, &whole);

	if (!err)
		err = parse_fraction(&s, &fraction, &one);
	if (err)
		return err;
	scale = find_unit(s, units, n, bare);
	if (!scale)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, scale, &v) ||
	    __builtin_add_overflow(v, (fraction * scale + one - 1) / one, &v))
		return -ERANGE;
	*value = v;
	return 0;
}

int cp_config_values_size(const char *s, uint64_t *bytes)
{
	return parse_scaled(s, sizes, COUNT(sizes), 1, bytes);
}

/* Of a flight recorder: 100 ms, a day. */
#define KEEP_LEAST UINT64_C(100000000)
#define KEEP_MOST UINT64_C(86400000000000)

int cp_config_values_times(const char *s, uint64_t *bytes)
{
	if (same_word(s, "off")) {
		*bytes = 0;
		return 0;
	}
	if (!cp_config_values_size(s, bytes))
		return 0;
	if (cp_config_values_duration(s, bytes) || *bytes < KEEP_LEAST || *bytes > KEEP_MOST)
		return -EINVAL;
	*bytes |= CP_CONFIG_TIMES_KEEP;
	return 0;
}

int cp_config_values_duration(const char *s, uint64_t *ns)
{
	return parse_scaled(s, durations, COUNT(durations), UINT64_C(1000000000), ns);
}

int cp_config_values_choice(const char *s, const char *const *names, unsigned count,
			    unsigned *index)
{
	for (unsigned i = 0; i < count; i++)
		if (same_word(s, names[i])) {
			*index = i;
			return 0;
		}
	return -EINVAL;
}

int cp_config_values_bool(const char *s, bool *value)
{
	static const char *const words[] = { "0", "1", "no", "yes", "off", "on", "false", "true" };
	unsigned i;

	if (cp_config_values_choice(s, words, COUNT(words), &i))
		return -EINVAL;
	*value = i & 1;
	return 0;
}

/* Parses "+1" after RTMIN, "-2" after RTMAX, or an empty string. */
static int parse_offset(const char *s, char sign, uint64_t *n)
{
	*n = 0;
	if (!*s)
		return 0;
	if (*s != sign || cp_config_values_number(s + 1, n))
		return -EINVAL;
	return *n > 64 ? -ERANGE : 0;
}

static int signal_by_name(const char *s, int *sig)
{
	uint64_t n;
	int err;

	skip_prefix(&s, "SIG");
	for (size_t i = 0; i < COUNT(signals); i++)
		if (same_word(s, signals[i].name)) {
			*sig = signals[i].number;
			return 0;
		}
	if (skip_prefix(&s, "RTMIN")) {
		err = parse_offset(s, '+', &n);
		*sig = SIGRTMIN + (int)n;
	} else if (skip_prefix(&s, "RTMAX")) {
		err = parse_offset(s, '-', &n);
		*sig = SIGRTMAX - (int)n;
	} else {
		err = -EINVAL;
	}
	return err;
}

/* Returns whether SIG can be a dump or toggle signal. A fault's signal would come again and again,
 * because the faulting instruction is restarted when the handler returns. */
static bool is_usable(int sig)
{
	switch (sig) {
	case SIGKILL:
	case SIGSTOP:
	case SIGPROF:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGSYS: return false;
	}
	return (sig >= 1 && sig < 32) || (sig >= SIGRTMIN && sig <= SIGRTMAX);
}

int cp_config_values_signal(const char *s, int *sig)
{
	uint64_t n;
	int found, err;

	if (same_word(s, "none")) {
		*sig = 0;
		return 0;
	}
	if (*s >= '0' && *s <= '9') {
		err = cp_config_values_number(s, &n);
		found = err || n > 64 ? -1 : (int)n;
	} else {
		err = signal_by_name(s, &found);
	}
	if (err)
		return err;
	if (!is_usable(found))
		return -ERANGE;
	*sig = found;
	return 0;
}

void cp_config_values_signal_text(int sig, char *to, size_t size)
{
	if (!sig) {
		cp_text_format(to, size, "none");
		return;
	}
	for (size_t i = 0; i < COUNT(signals); i++)
		if (signals[i].number == sig) {
			cp_text_format(to, size, "%s", signals[i].name);
			return;
		}
	cp_text_format(to, size, "%d", sig);
}

void cp_config_values_duration_text(uint64_t ns, char *to, size_t size)
{
	size_t i = COUNT(durations) - 1;

	while (i && ns % durations[i].scale)
		i--;
	if (ns)
		cp_text_format(to, size, "%lu%s", (unsigned long)(ns / durations[i].scale),
			       durations[i].name);
	else
		cp_text_format(to, size, "0");
}

bool cp_config_values_are_labels(const char *s)
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
