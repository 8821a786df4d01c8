/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers requests of other processes; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "session/window.h"
#include "base/text.h"
#include "cp-build.h"
#include "labels/spans.h"

bool cp_control_wanted(bool early)
{
	switch (cp_session.config.control) {
	case CP_CONTROL_ON: return true;
	case CP_CONTROL_OFF: return false;
	default: return !early && cp_runs_any() && !cp_sys_is_filtered();
	}
}

void cp_control_where(struct cp_control_place *place)
{
	const char *path = cp_session.config.control_path;

	place->path = path[0] && !cp_load_seqcst(&cp_session.leaving) ? path : NULL;
	place->owner = cp_session.process_tree.owner;
}

void cp_control_failed(const struct cp_control_place *place, int err)
{
	if (!place->owner && !cp_session.config.verbose)
		return;
	cp_log("CPROF_CONTROL: no control socket at %s: %s; there is the abstract one", place->path,
	       err == -EEXIST ? "another file is there" : cp_log_errno_text(err));
}

/* Adds "MODE.KEY=VALUE". */
static void add_value(struct cp_control_message *m, const struct cp_run *r, const char *key,
		      uint64_t value)
{
	char name[32];

	cp_text_format(name, sizeof(name), "%s.%s", r->ops->name, key);
	cp_control_socket_number(m, name, value);
}

static void add_path(struct cp_control_message *m, const struct cp_run *r)
{
	char name[32], path[CP_PATH_MAX];

	cp_text_format(name, sizeof(name), "%s.path", r->ops->name);
	if (!r->nofile && !cp_dump_path(r, path, sizeof(path)))
		cp_control_socket_text(m, name, path);
}

/* Returns the CPU time of R's samples: in handlers, or in the hooks that take them. */
static uint64_t sampling_ns(const struct cp_run *r, const struct cprof_stats *s)
{
	return s->handler_ns ? s->handler_ns : cp_run_hooks_ns(r, s->samples);
}

/* Adds the lines about run R. Returns the CPU time of its samples. */
static uint64_t add_run(struct cp_control_message *m, const struct cp_run *r)
{
	struct cprof_stats s = { .size = sizeof(s) };
	struct cp_window_call call = { .mode = r->mode, .stats = &s };
	struct cp_mode_number sums[CP_MODE_NUMBERS];

	cp_window_stats(&call);
	add_value(m, r, "since", r->start_utc_ns / 1000000000u);
	add_value(m, r, "samples", s.samples);
	add_value(m, r, "lost", s.lost_ring + s.lost_memory + s.lost_thread);
	add_value(m, r, "lost_ring", s.lost_ring);
	add_value(m, r, "lost_memory", s.lost_memory);
	add_value(m, r, "lost_thread", s.lost_thread);
	for (unsigned i = 0, n = r->ops->numbers ? r->ops->numbers(r, sums) : 0; i < n; i++)
		add_value(m, r, sums[i].key, sums[i].value);
	add_value(m, r, "period", s.period);
	add_path(m, r);
	return sampling_ns(r, &s);
}

/* ---- spans ---- */

/* Most bytes of a line. */
#define SPAN_LINE 512

/* Adds "span.I=COUNT SUM_NS NS:COUNT_UP_TO_NS,... NAME" and "spent.I=CPU_NS WAIT_NS BYTES". */
static void add_span(struct cp_control_message *m, unsigned i, const struct cp_span_kind *k)
{
	static const uint64_t bounds[] = { 100000,     500000,	   1000000,	5000000,
					   10000000,   50000000,   100000000,	500000000,
					   1000000000, 5000000000, 10000000000, 60000000000 };
	const struct cp_histogram *h = &k->latency;
	char key[16], line[SPAN_LINE];
	size_t n;

	n = cp_text_format(line, sizeof(line), "%lu %lu ",
			   (unsigned long)cp_load_relaxed(&h->count),
			   (unsigned long)cp_load_relaxed(&h->sum));
	for (size_t b = 0; b < sizeof(bounds) / sizeof(*bounds); b++)
		n += cp_text_format(line + n, sizeof(line) - n, "%s%lu:%lu", b ? "," : "",
				    (unsigned long)bounds[b],
				    (unsigned long)cp_histogram_up_to(h, bounds[b]));
	cp_text_format(line + n, sizeof(line) - n, " %s", k->name);
	cp_text_format(key, sizeof(key), "span.%u", i);
	cp_control_socket_text(m, key, line);
	cp_text_format(line, sizeof(line), "%lu %lu %lu",
		       (unsigned long)cp_load_relaxed(&k->cpu_ns),
		       (unsigned long)cp_load_relaxed(&k->wait_ns),
		       (unsigned long)cp_load_relaxed(&k->allocated));
	cp_text_format(key, sizeof(key), "spent.%u", i);
	cp_control_socket_text(m, key, line);
}

static void add_spans(struct cp_control_message *m)
{
	unsigned left = 0;

	for (unsigned i = 0; i < CP_SPANS_MAX; i++) {
		const struct cp_span_kind *k = cp_spans_at(i);

		if (k && CP_CONTROL_TEXT - m->size > SPAN_LINE + 160)
			add_span(m, i, k);
		else if (k)
			left++;
	}
	if (left)
		cp_control_socket_number(m, "spans_left", left);
}

/* Runs under the collector's lock. */
static void status(void *arg)
{
	struct cp_control_message *m = arg;
	uint64_t cost = cp_own_time();

	cp_control_socket_text(m, "version", PACKAGE_VERSION);
	cp_control_socket_number(m, "pid", (uint64_t)cp_sys_getpid());
	cp_control_socket_text(m, "program", cp_session.facts.program);
	if (cp_session.config.push[0])
		cp_control_socket_text(m, "push", cp_session.config.push);
	if (cp_session.config.serve[0])
		cp_control_socket_text(m, "serve", cp_session.config.serve);
	if (cp_session.followed)
		cp_control_socket_number(m, "follower", (uint64_t)cp_session.follower);
	/* A program that handles SIGPROF itself may have threads that block the marker alone. */
	if (cp_attached() && !cp_signals_program_has_prof())
		cp_control_socket_number(m, "may_free_prof", 1);
	for (unsigned i = cp_mode_ops_first(); i < CP_MAIN_MODES; i = cp_mode_ops_after(i))
		if (cp_session.runs[i].running)
			cost += add_run(m, &cp_session.runs[i]);
	cp_control_socket_number(m, "cost_ns", cost);
	cp_control_socket_number(m, "cpu_ns", cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

/* ---- texts of requests ---- */

static char values[CP_CONTROL_TEXT + 1]; /* the request's text, its lines ended by NUL */
static size_t values_size;

static void read_values(const struct cp_control_message *m)
{
	values_size = m->size;
	memcpy(values, m->text, m->size);
	values[m->size] = '\0';
	for (size_t i = 0; i < values_size; i++)
		if (values[i] == '\n')
			values[i] = '\0';
}

static const char *value_of(const char *key)
{
	size_t n = strlen(key);

	for (const char *s = values; s < values + values_size; s += strlen(s) + 1)
		if (!strncmp(s, key, n) && s[n] == '=')
			return s + n + 1;
	return NULL;
}

static uint64_t number_of(const char *key)
{
	const char *value = value_of(key);
	uint64_t n = 0;

	return value && !cp_text_parse_u64(&value, 10, &n) ? n : 0;
}

/* Returns the mode below MODES whose name is the SIZE bytes at NAME, or -EINVAL. */
static int find_mode(const char *name, size_t size, unsigned modes)
{
	for (unsigned m = 0; m < modes; m++)
		if (cp_modes[m] && !strncmp(name, cp_modes[m]->name, size) &&
		    !cp_modes[m]->name[size])
			return (int)m;
	return -EINVAL;
}

/* Returns the number of the mode that "mode=" names, or -EINVAL. */
static int mode_of(void)
{
	const char *name = value_of("mode");

	return name ? find_mode(name, strlen(name), CP_MAIN_MODES) : -EINVAL;
}

/* Sets *L to the modes and companions that "mode=" names. Returns 0 or -EINVAL. */
static int list_of(struct cp_window_list *l)
{
	const char *name = value_of("mode");

	*l = (struct cp_window_list){ .count = 0 };
	for (size_t n; name; name = name[n] ? name + n + 1 : NULL) {
		int m;

		n = strcspn(name, ",");
		m = find_mode(name, n, CP_MODES);
		if (m < 0 || cp_window_list_modes(l) & 1u << m)
			return -EINVAL;
		l->modes[l->count++] = (uint8_t)m;
	}
	return l->count ? 0 : -EINVAL;
}

/* ---- requests ---- */

/* A longer time means no limit. */
#define FOR_MAX_NS (UINT64_C(1000000000) * 3600 * 24 * 365)

/* Starts modes by the request. Adds to REPLY why a setting is not accepted. */
static int start_modes(struct cp_control_message *reply)
{
	static struct cp_config c; /* large */
	static char said[320];
	struct cp_window_call call = { .when = "at the start", .config = &c, .late = true };
	uint64_t length = number_of("for_ns");
	int err = -EINVAL;

	cp_config_read_asked(&c, value_of, said, sizeof(said));
	if (said[0]) {
		cp_control_socket_text(reply, "why", said);
		return -ERANGE;
	}
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		c.nofile[m] = c.path[m][0] && number_of("nofile");
	if (!cp_config_any(&c) || length > FOR_MAX_NS)
		return err;
	if (!cp_api_change_begin())
		return -EBUSY;
	err = cp_mode_set_check_added(&c);
	if (length)
		call.until = cp_sys_clock_ns(CLOCK_MONOTONIC) + length;
	if (!err)
		cp_collect_run(cp_window_add, &call);
	if (!err && !call.result)
		cp_runs_tell(&c);
	return cp_api_change_end(err ? err : call.result);
}

static int stop_modes(void)
{
	int m = mode_of();
	struct cp_window_call call = { .when = "at the stop", .discard = number_of("discard") };

	if (m < 0)
		return m;
	if (!cp_load_relaxed(&cp_session.runs[m].running))
		return -ESRCH;
	if (cp_modes[m]->needs_thread && cp_modes[m]->needs_thread())
		return -EOPNOTSUPP;
	if (!cp_api_change_begin())
		return -EBUSY;
	call.mode = (enum cprof_mode)m;
	cp_collect_run(cp_window_end_mode, &call);
	return cp_api_change_end(call.result);
}

/* Changes settings by request M. Adds the changes, or the reason of a failure, to the reply M. */
static int set_setting(struct cp_control_message *m)
{
	int mode = mode_of();
	struct cp_mode_set s = { .mode = (unsigned)mode, .name = value_of };

	if (mode < 0)
		return mode;
	if (!cp_api_change_begin())
		return -EBUSY;
	cp_collect_run(cp_mode_set_apply, &s);
	for (unsigned i = 0; i < s.count && !s.result; i++)
		cp_control_socket_text(m, "set", s.changes[i]);
	if (s.why[0])
		cp_control_socket_text(m, "why", s.why);
	return cp_api_change_end(s.result);
}

/* Returns whether FD is a file in memory: a write to it waits for nobody. */
static bool is_in_memory(int fd)
{
	struct statfs fs;
	struct stat st;

	return fd >= 0 && !cp_sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) &&
	       S_ISREG(st.st_mode) && !cp_sys2(SYS_fstatfs, fd, &fs) && fs.f_type == TMPFS_MAGIC;
}

/* Writes the profiles of L to FD, and adds their lengths to the reply M. */
static int hand_over(struct cp_control_message *m, int fd, const struct cp_window_list *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->bytes[i])
			add_value(m, &cp_session.runs[l->modes[i]], "bytes", l->bytes[i]);
	return cp_fdwrite_all(fd, l->memory->data, l->memory->used, false);
}

static int dump_modes(struct cp_control_message *m, int fd)
{
	struct cp_memory_sink memory;
	struct cp_window_list list;
	struct cp_window_call call = { .list = &list,
				       .since_ns = cp_runs_since(number_of("last_ns")) };

	if (list_of(&list) || !is_in_memory(fd))
		return -EINVAL;
	list.memory = &memory;
	cp_sink_memory_open(&memory);
	cp_collect_run(cp_window_dump, &call);
	if (!call.result)
		call.result = hand_over(m, fd, &list);
	cp_sink_memory_release(&memory);
	return call.result;
}

/* The last window that was written, until it is known whether the client has received it. */
static struct cp_window_take taken;
static uint32_t answering; /* futex: 1 until the answer was sent */

/* Sending never waits, so that an answer takes milliseconds. */
#define ANSWER_MAX_NS 100000000

/* A mode whose end calls functions of the program can't be ended here. */
static int end_consumer(struct cp_window_take *t)
{
	enum cprof_mode parent = cp_runs_parent(t->list.modes[0]);

	/* A mode that has a file goes on. */
	if (cp_session.runs[parent].nofile && cp_modes[parent]->needs_thread &&
	    cp_modes[parent]->needs_thread())
		return -EOPNOTSUPP;
	if (!cp_api_change_begin())
		return -EBUSY;
	cp_collect_run(cp_window_take_end, t);
	return cp_api_change_end(t->result);
}

static int take_to_file(struct cp_control_message *m, struct cp_window_take *t, int fd)
{
	struct cp_memory_sink memory;

	cp_sink_memory_open(&memory);
	t->list.memory = &memory;
	t->write = fd >= 0;
	cp_collect_run(cp_window_take, t);
	if (!t->result && t->write)
		t->result = hand_over(m, fd, &t->list);
	t->received = !t->result;
	t->list.memory = NULL;
	cp_sink_memory_release(&memory);
	return t->result;
}

static int answer_window(struct cp_control_message *m, int fd)
{
	const char *what = value_of("do");
	uint64_t length = number_of("for_ns"), now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	struct cp_window_take t = { .consumer = number_of("consumer"),
				    .since = number_of("since"),
				    .until = now + length,
				    .last = number_of("last"),
				    .peer = cp_control_socket_peer() };
	int result;

	if (list_of(&t.list) || !t.consumer)
		return -EINVAL;
	if (what && !strcmp(what, "end"))
		return end_consumer(&t);
	t.all = what && !strcmp(what, "all");
	if (what ? (!t.all && strcmp(what, "begin") != 0) || fd >= 0 : !is_in_memory(fd))
		return -EINVAL;
	if (!length || length > FOR_MAX_NS)
		return -EINVAL;
	cp_store_seqcst(&answering, 1);
	result = take_to_file(m, &t, fd);
	cp_control_socket_number(m, "end", t.end);
	if (cp_load_relaxed(&cp_session.ending))
		cp_control_socket_number(m, "ending", 1);
	taken = t;
	return result;
}

static int threads(int fd)
{
	struct cp_memory_sink memory;
	int result;

	if (!is_in_memory(fd))
		return -EINVAL;
	cp_sink_memory_open(&memory);
	result = cp_threads_now_write(&memory.sink);
	if (!result)
		result = cp_fdwrite_all(fd, memory.data, memory.used, false);
	cp_sink_memory_release(&memory);
	return result;
}

void cp_control_see_answered(bool received)
{
	if (!taken.consumer)
		return;
	taken.received &= received;
	cp_collect_run(cp_window_take_confirm, &taken);
	taken.consumer = 0;
	cp_store_seqcst(&answering, 0);
	cp_sys_futex_wake(&answering, INT_MAX);
}

void cp_control_fork_child(void)
{
	CP_FORK_CLEAR(&taken.consumer);
	cp_store_relaxed(&answering, 0);
}

void cp_control_wait_for_answer(void)
{
	uint64_t end = cp_sys_clock_ns(CLOCK_MONOTONIC) + ANSWER_MAX_NS, now;

	/* A handled signal ends a futex's wait. */
	while (cp_load_seqcst(&answering) && (now = cp_sys_clock_ns(CLOCK_MONOTONIC)) < end) {
		const struct timespec rest = { .tv_nsec = (long)(end - now) };

		cp_sys_futex_wait(&answering, 1, &rest);
	}
}

void cp_control_answer_request(struct cp_control_message *m, int fd)
{
	int result;

	read_values(m);
	cp_control_socket_reply(m, 0);
	switch ((enum cp_control_request)m->request) {
	case CP_CONTROL_STATUS:
		cp_collect_run(status, m);
		if (number_of("spans"))
			add_spans(m);
		break;
	case CP_CONTROL_START:
		result = start_modes(m);
		cp_collect_run(status, m);
		m->result = result;
		break;
	case CP_CONTROL_STOP:
		cp_collect_run(status, m);
		m->result = stop_modes();
		break;
	case CP_CONTROL_DUMP: m->result = dump_modes(m, fd); break;
	case CP_CONTROL_WINDOW: m->result = answer_window(m, fd); break;
	case CP_CONTROL_SET:
		cp_collect_run(status, m);
		m->result = set_setting(m);
		break;
	case CP_CONTROL_DETACH: m->result = cp_attached_end(); break;
	case CP_CONTROL_THREADS: m->result = threads(fd); break;
	default: m->result = -ENOSYS;
	}
}
