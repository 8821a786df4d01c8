/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions of cprof.h, implemented by the session. */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/session.h"
#include "modes/heap/heap.h"
#include "unwind/unwind.h"
#include "base/text.h"
#include "collect/collect.h"

#define API __attribute__((visibility("default")))

/* Sizes of the structs in the first release; smaller ones are invalid. */
#define OPTIONS_MIN (offsetof(struct cprof_options, reserved) + sizeof(unsigned long long))
#define STATS_MIN sizeof(struct cprof_stats)

static const char *from_environment(const char *key)
{
	return secure_getenv(key);
}

static int choose_name(const char *value, const char *const *names, int count, int fallback)
{
	if (!value)
		return fallback;
	for (int i = 0; i < count; i++)
		if (!strcmp(value, names[i]))
			return i;
	return -EINVAL;
}

/* Doubles each % in TO, so that a % in a directory's name is no template mark; cp_path_number
 * halves it again. Returns 0 or -ENAMETOOLONG. */
static int double_marks(char *to, size_t size)
{
	size_t n = strlen(to), more = 0;

	for (size_t i = 0; i < n; i++)
		more += to[i] == '%';
	if (n + more >= size)
		return -ENAMETOOLONG;
	for (size_t i = n + 1; more && i-- > 0;) {
		to[i + more] = to[i];
		if (to[i] == '%')
			to[i + --more] = '%';
	}
	return 0;
}

/* Kinds of paths: a file name, a template, or a file name that becomes a template. */
enum kind { FILE_NAME, TEMPLATE, LITERAL };

/* Makes PATH absolute from the current directory. Returns 0, -ENAMETOOLONG, or getcwd's negative
 * errno. */
static int absolute(char *to, size_t size, const char *path, enum kind kind)
{
	size_t n = 0;

	if (*path != '/') {
		if (!getcwd(to, size))
			return -errno;
		if (kind == TEMPLATE && double_marks(to, size))
			return -ENAMETOOLONG;
		n = strlen(to);
		if (n + 1 < size)
			to[n++] = '/';
	}
	if (n + strlen(path) >= size)
		return -ENAMETOOLONG;
	cp_text_format(to + n, size - n, "%s", path);
	return kind == LITERAL ? double_marks(to, size) : 0;
}

static int copy_text(char *to, size_t size, const char *text)
{
	if (text && strlen(text) >= size)
		return -ENAMETOOLONG;
	cp_text_format(to, size, "%s", text ? text : "");
	return 0;
}

static int set_numbers(struct cp_config *c, const struct cprof_options *o)
{
	if (o->max_depth > 4096 || o->dump_signal > 64)
		return -EINVAL;
	if (o->max_depth)
		c->max_depth = o->max_depth;
	if (o->checkpoint_ms < CPROF_OFF || o->dump_signal < CPROF_OFF)
		return -EINVAL;
	if (o->checkpoint_ms)
		c->checkpoint_ns = o->checkpoint_ms < 0 ? 0 : (uint64_t)o->checkpoint_ms * 1000000;
	if (o->dump_signal)
		c->dump_signal = o->dump_signal < 0 ? 0 : o->dump_signal;
	c->dump_signal_asked = c->dump_signal_asked || o->dump_signal;
	if (o->times && cp_config_values_times(o->times, &c->times))
		return -EINVAL;
	if (c->times && !(c->times & CP_CONFIG_TIMES_KEEP) &&
	    (c->times < CP_CONFIG_TIMES_MIN || c->times > CP_CONFIG_TIMES_MAX))
		return -EINVAL;
	return 0;
}

static int set_paths(struct cp_config *c, const struct cprof_options *o)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const char *path = cp_config_table_path(o, m);
		int err = 0;

		if (path && *path)
			err = absolute(c->path[m], sizeof(c->path[m]), path, TEMPLATE);
		if (err)
			return err;
	}
	return 0;
}

static int to_config(struct cp_config *c, const struct cprof_options *o)
{
	/* In the order of the enums in settings.h. */
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "libunwind" };
	static const char *const symbolizers[] = { "none", "names", "full" };
	int unwind = choose_name(o->unwind, unwinders, 4, CP_UNWIND_AUTO);
	int symbolize = choose_name(o->symbolize, symbolizers, 3, CP_SYMBOLIZE_NAMES);
	int err;

	cp_config_defaults(c);
	cp_config_read_control(c, from_environment);
	if (unwind < 0 || symbolize < 0)
		return -EINVAL;
	c->unwind = (enum cp_unwind_choice)unwind;
	c->symbolize = (enum cp_symbolize_choice)symbolize;
	err = set_numbers(c, o);
	if (!err)
		err = cp_config_table_take(c, o);
	if (!err)
		err = set_paths(c, o);
	if (!err && !cp_config_any(c))
		err = -EINVAL;
	return err ? err : copy_text(c->labels, sizeof(c->labels), o->labels);
}

/* Starts the session that the program asks for. It replaces a session that only waits for requests
 * from outside; the program's settings are used. */
static int start_session(struct cp_config *c)
{
	bool idle = cp_session_is_idle();
	int err;

	if (idle) {
		c->control = CP_CONTROL_ON;
		cp_session_stop();
	}
	err = cp_session_start(c, false);
	if (err && idle)
		cp_session_start_idle();
	return err;
}

static int stopped(int err)
{
	cp_session_start_idle();
	return err;
}

static int start_with(const struct cprof_options *options)
{
	static struct cp_config c; /* large; one start at a time */
	struct cprof_options o = { 0 };
	int err;

	if (options && (options->size < OPTIONS_MIN || options->size > sizeof(o)))
		return -EINVAL;
	if (options) {
		/* A program that was built with an older header lacks the last fields. */
		memcpy(&o, options, options->size);
		err = to_config(&c, &o);
	} else {
		cp_config_read_quietly(&c, from_environment);
		err = cp_config_any(&c) ? 0 : -EINVAL;
	}
	return err ? err : start_session(&c);
}

static bool begin_change(void)
{
	/* Installed first, because a child forked during the change has no thread that would end
	 * it. */
	cp_fork_handlers_begin();
	return cp_api_change_begin();
}

API int cprof_start(const struct cprof_options *options)
{
	return begin_change() ? cp_api_change_end(start_with(options)) : -EBUSY;
}

static bool is_set(const char *key)
{
	const char *value = from_environment(key);

	return value && *value;
}

/* Sets gperftools' dump intervals if the program uses gperftools' function and the environment
 * sets no interval. */
static void set_intervals(struct cp_config *c)
{
	struct cp_heap_settings *s = cp_config_of(c, CPROF_HEAP);

	if (!is_set("HEAP_PROFILE_ALLOCATION_INTERVAL"))
		s->allocated = UINT64_C(1) << 30;
	if (!is_set("HEAP_PROFILE_INUSE_INTERVAL"))
		s->in_use = UINT64_C(100) << 20;
}

static int start_mode(enum cprof_mode mode, const char *name, const char *suffix)
{
	static struct cp_config c;
	char *path;
	int err;

	cp_config_read_quietly(&c, from_environment);
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		c.path[m][0] = '\0';
	/* The toggle signal applies only to a start by the environment. */
	c.toggle_signal = 0;
	if (mode == CPROF_CPU)
		mode = c.named_mode;
	else if (mode == CPROF_HEAP)
		set_intervals(&c);
	path = c.path[mode];
	err = absolute(path, sizeof(c.path[0]), name, LITERAL);
	if (err)
		return err;
	if (strlen(path) + strlen(suffix) >= sizeof(c.path[0]))
		return -ENAMETOOLONG;
	memcpy(path + strlen(path), suffix, strlen(suffix) + 1);
	return start_session(&c);
}

int cp_api_start_mode(enum cprof_mode mode, const char *name, const char *suffix)
{
	return begin_change() ? cp_api_change_end(start_mode(mode, name, suffix)) : -EBUSY;
}

/* Returns NUMBER, or -EINVAL if there is no such mode. */
static int to_mode(int number)
{
	return number >= 0 && number < CP_MODES && cp_modes[number] ? number : -EINVAL;
}

API int cprof_stop_mode(int mode)
{
	if (!begin_change())
		return -EBUSY;
	return cp_api_change_end(mode >= CP_MAIN_MODES || to_mode(mode) < 0
					 ? -EINVAL
					 : stopped(cp_session_stop_mode((enum cprof_mode)mode)));
}

API int cprof_stop(void)
{
	if (!begin_change())
		return -EBUSY;
	return cp_api_change_end(cp_session_is_idle() ? -ESRCH : stopped(cp_session_stop()));
}

/* Writes mode M to PATH, or returns M if it is a negative errno. */
static int dump_to(int m, const char *path)
{
	char to[CP_PATH_MAX];
	int err;

	if (m < 0)
		return m;
	err = path ? absolute(to, sizeof(to), path, FILE_NAME) : -EINVAL;
	return err ? err : cp_session_dump((enum cprof_mode)m, to);
}

static int dump_to_fd(int m, int fd)
{
	if (m < 0)
		return m;
	return fd < 0 ? -EBADF : cp_session_dump_fd((enum cprof_mode)m, fd);
}

API int cprof_dump_mode(int mode, const char *path)
{
	return dump_to(to_mode(mode), path);
}

API int cprof_dump(const char *path)
{
	return path ? dump_to((int)cp_session_first_mode(), path)
		    : cp_session_dump(CPROF_CPU, NULL);
}

API int cprof_dump_last(double seconds)
{
	if (!(seconds > 0))
		return -EINVAL;
	return cp_session_dump_last(seconds < 1e9 ? (uint64_t)(seconds * 1e9) : UINT64_MAX);
}

API int cprof_dump_mode_fd(int mode, int fd)
{
	return dump_to_fd(to_mode(mode), fd);
}

API int cprof_dump_fd(int fd)
{
	return dump_to_fd((int)cp_session_first_mode(), fd);
}

API int cprof_thread_pause(void)
{
	cp_threads_register();
	if (!cp_self.thread)
		return -ENOMEM;
	cp_store_relaxed(&cp_self.thread->paused, cp_self.thread->paused + 1);
	cp_mode_ops_thread_changed();
	cp_signal_fence();
	return 0;
}

API int cprof_thread_resume(void)
{
	if (!cp_self.thread || !cp_self.thread->paused)
		return -EINVAL;
	cp_signal_fence();
	cp_store_relaxed(&cp_self.thread->paused, cp_self.thread->paused - 1);
	return 0;
}

API int cprof_get_mode_stats(int mode, struct cprof_stats *stats)
{
	int m = to_mode(mode);

	if (m < 0 || !stats || stats->size != STATS_MIN)
		return -EINVAL;
	*stats = (struct cprof_stats){ .size = STATS_MIN };
	cp_session_stats((enum cprof_mode)m, stats);
	return 0;
}

API int cprof_get_stats(struct cprof_stats *stats)
{
	return cprof_get_mode_stats(CPROF_CPU, stats);
}

API int cprof_backtrace(void **addresses, int most)
{
	struct cp_regs regs = { 0 };

	if (!addresses || most <= 0)
		return 0;
	if (!cp_load_acquire(&cp_capture_settings.unwinder)) {
		cp_fork_handlers_begin();
		if (!cp_unwinders_default())
			return 0;
	}
	cp_regs_here(&regs);
	/* The first frame is this function's own. */
	return (int)cp_capture_here(&regs, 1, addresses, (unsigned)most);
}

API const char *cprof_version(void)
{
	return CPROF_VERSION;
}
