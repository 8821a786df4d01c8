/* The public functions of cprof.h, in terms of the session. */
#include "cprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "config.h"
#include "fork.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/heap_exact.h"
#include "sigsafe/text.h"
#include "sigsafe/thread.h"
#include "threads.h"

#define API __attribute__((visibility("default")))

/* The struct as it was in the first release: a smaller one was never valid. */
#define OPTIONS_MIN sizeof(struct cprof_options)
#define STATS_MIN sizeof(struct cprof_stats)

static const char *from_environment(const char *key)
{
	return secure_getenv(key);
}

static int choose(const char *value, const char *const *names, int count, int fallback)
{
	if (!value)
		return fallback;
	for (int i = 0; i < count; i++)
		if (!strcmp(value, names[i]))
			return i;
	return -EINVAL;
}

/* A % of a directory's name begins nothing; the dump's naming undoes it. 0 or -ENAMETOOLONG. */
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

enum kind { FILE_NAME, TEMPLATE };

/* PATH made absolute from the current directory. 0, -ENAMETOOLONG, or getcwd's error. */
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
	cp_format(to + n, size - n, "%s", path);
	return 0;
}

static int copy_text(char *to, size_t size, const char *text)
{
	if (text && strlen(text) >= size)
		return -ENAMETOOLONG;
	cp_format(to, size, "%s", text ? text : "");
	return 0;
}

static int set_numbers(struct cp_config *c, const struct cprof_options *o)
{
	if (o->frequency > 10000 || o->max_depth > 4096 || o->dump_signal > 64)
		return -EINVAL;
	if (o->frequency)
		c->cpu_frequency = o->frequency;
	if (o->max_depth)
		c->max_depth = o->max_depth;
	if (o->checkpoint_ms < CPROF_OFF || o->dump_signal < CPROF_OFF)
		return -EINVAL;
	if (o->checkpoint_ms)
		c->checkpoint_ns = o->checkpoint_ms < 0 ? 0 : (uint64_t)o->checkpoint_ms * 1000000;
	if (o->dump_signal)
		c->dump_signal = o->dump_signal < 0 ? 0 : o->dump_signal;
	return 0;
}

static int set_paths(struct cp_config *c, const struct cprof_options *o)
{
	const char *const paths[CP_MAIN_MODES] = { o->cpu_path, o->wall_path, o->heap_path,
						   o->lock_path };

	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		int err = 0;

		if (paths[m] && *paths[m])
			err = absolute(c->path[m], sizeof(c->path[m]), paths[m], TEMPLATE);
		if (err)
			return err;
	}
	return 0;
}

static int set_modes(struct cp_config *c, const struct cprof_options *o)
{
	if (o->wall_frequency > 1000 || o->heap_interval > UINT64_C(1) << 30 ||
	    o->lock_budget > 1000000 || o->lock_threshold_ns < CPROF_OFF)
		return -EINVAL;
	if (o->wall_frequency)
		c->wall_frequency = o->wall_frequency;
	if (o->heap_interval)
		c->heap_interval = o->heap_interval;
	if (o->lock_budget)
		c->lock_budget = o->lock_budget;
	if (o->lock_threshold_ns)
		c->lock_threshold_ns =
			o->lock_threshold_ns < 0 ? 0 : (uint64_t)o->lock_threshold_ns;
	c->heap_mmap = o->heap_mmap != 0;
	c->span_slow_ns = o->span_slow_ns;
	return 0;
}

static int to_config(struct cp_config *c, const struct cprof_options *o)
{
	/* In the order of the enums in config.h. */
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "libunwind" };
	static const char *const symbolizers[] = { "none", "names", "full" };
	int unwind = choose(o->unwind, unwinders, 4, CP_UNWIND_AUTO);
	int symbolize = choose(o->symbolize, symbolizers, 3, CP_SYMBOLIZE_NAMES);
	int err;

	cp_config_defaults(c);
	if (unwind < 0 || symbolize < 0)
		return -EINVAL;
	c->unwind = (enum cp_unwind_choice)unwind;
	c->symbolize = (enum cp_symbolize_choice)symbolize;
	err = set_numbers(c, o);
	if (!err)
		err = set_modes(c, o);
	if (!err)
		err = set_paths(c, o);
	if (!err && !cp_config_any(c))
		err = -EINVAL;
	return err ? err : copy_text(c->labels, sizeof(c->labels), o->labels);
}

static int start(const struct cprof_options *options)
{
	static struct cp_config c; /* large; one start at a time */
	int err;

	if (options && options->size != OPTIONS_MIN)
		return -EINVAL;
	if (options) {
		err = to_config(&c, options);
	} else {
		cp_config_read_quietly(&c, from_environment);
		err = cp_config_any(&c) ? 0 : -EINVAL;
	}
	return err ? err : cp_session_start(&c, false);
}

/* Start and stop exclude each other; whoever comes second is told, not made to wait. */
static uint32_t changing;

bool cp_api_fork_child(void)
{
	return cp_exchange_acqrel(&changing, 0) != 0;
}

static bool begin_change(void)
{
	/* First: a child that is forked meanwhile has nobody who would end the change. */
	cp_fork_install();
	return !cp_exchange_acqrel(&changing, 1);
}

static int end_change(int err)
{
	cp_store_release(&changing, 0);
	return err;
}

API int cprof_start(const struct cprof_options *options)
{
	return begin_change() ? end_change(start(options)) : -EBUSY;
}

int cp_api_start_mode(enum cp_mode mode, const char *path)
{
	static struct cp_config c;
	int err;

	if (!begin_change())
		return -EBUSY;
	cp_config_read_quietly(&c, from_environment);
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		c.path[m][0] = '\0';
	/* A signal that toggles is for who starts by the environment. */
	c.toggle_signal = 0;
	err = absolute(c.path[mode], sizeof(c.path[mode]), path, TEMPLATE);
	if (!err)
		err = cp_session_start(&c, false);
	return end_change(err);
}

API int cprof_stop_mode(int mode)
{
	if (!begin_change())
		return -EBUSY;
	return end_change(mode < 0 || mode >= CP_MAIN_MODES
				  ? -EINVAL
				  : cp_session_stop_mode((enum cp_mode)mode));
}

API int cprof_stop(void)
{
	return begin_change() ? end_change(cp_session_stop()) : -EBUSY;
}

/* The mode of a public name, which is its number. -EINVAL: there is none. */
static int to_mode(int mode)
{
	return mode < 0 || mode >= CP_MODES ? -EINVAL : mode;
}

_Static_assert((int)CPROF_CPU == (int)CP_MODE_CPU && (int)CPROF_WALL == (int)CP_MODE_WALL &&
		       (int)CPROF_HEAP == (int)CP_MODE_HEAP &&
		       (int)CPROF_LOCK == (int)CP_MODE_LOCK &&
		       (int)CPROF_HEAP_PEAK == (int)CP_MODE_PEAK &&
		       (int)CPROF_HEAP_MMAP == (int)CP_MODE_MMAP &&
		       (int)CPROF_LOCK_HOLDERS == (int)CP_MODE_HOLDERS,
	       "public and inner numbers are the same");

API int cprof_dump_mode(int mode, const char *path)
{
	char to[CP_PATH_MAX];
	int err = to_mode(mode);

	if (err >= 0)
		err = path ? absolute(to, sizeof(to), path, FILE_NAME) : -EINVAL;
	return err ? err : cp_session_dump((enum cp_mode)mode, to);
}

API int cprof_dump(const char *path)
{
	return path ? cprof_dump_mode(cp_session_first_mode(), path)
		    : cp_session_dump(CP_MODE_CPU, NULL);
}

API int cprof_dump_mode_fd(int mode, int fd)
{
	int err = to_mode(mode);

	if (err < 0)
		return err;
	return fd < 0 ? -EBADF : cp_session_dump_fd((enum cp_mode)mode, fd);
}

API int cprof_dump_fd(int fd)
{
	return cprof_dump_mode_fd(cp_session_first_mode(), fd);
}

API int cprof_thread_pause(void)
{
	cp_threads_adopt();
	if (!cp_self.thread)
		return -ENOMEM;
	cp_store_relaxed(&cp_self.thread->paused, cp_self.thread->paused + 1);
	cp_heap_exact_leave();
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
	int err = to_mode(mode);

	if (err < 0 || !stats || stats->size != STATS_MIN)
		return -EINVAL;
	*stats = (struct cprof_stats){ .size = STATS_MIN };
	cp_session_stats((enum cp_mode)mode, stats);
	return 0;
}

API int cprof_get_stats(struct cprof_stats *stats)
{
	return cprof_get_mode_stats(CPROF_CPU, stats);
}

API const char *cprof_version(void)
{
	return CPROF_VERSION;
}
