/* The public functions of cprof.h, in terms of the session. */
#include "cprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "session.h"
#include "sigsafe/atomic.h"
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

/* PATH made absolute from the current directory. 0, -ENAMETOOLONG, or getcwd's error. */
static int absolute(char *to, size_t size, const char *path)
{
	size_t n = 0;

	if (*path != '/') {
		if (!getcwd(to, size))
			return -errno;
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

static int to_config(struct cp_config *c, const struct cprof_options *o)
{
	/* In the order of the enums in config.h. */
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "libunwind" };
	static const char *const symbolizers[] = { "none", "names", "full" };
	int unwind = choose(o->unwind, unwinders, 4, CP_UNWIND_AUTO);
	int symbolize = choose(o->symbolize, symbolizers, 3, CP_SYMBOLIZE_NAMES);
	int err;

	cp_config_defaults(c);
	if (!o->cpu_path || !*o->cpu_path || unwind < 0 || symbolize < 0)
		return -EINVAL;
	c->unwind = (enum cp_unwind_choice)unwind;
	c->symbolize = (enum cp_symbolize_choice)symbolize;
	err = set_numbers(c, o);
	if (!err)
		err = absolute(c->cpu_path, sizeof(c->cpu_path), o->cpu_path);
	return err ? err : copy_text(c->labels, sizeof(c->labels), o->labels);
}

static int start(const struct cprof_options *options)
{
	static struct cp_config c; /* large; one start at a time */
	int err;

	if (cp_session_active())
		return -EALREADY;
	if (options && options->size != OPTIONS_MIN)
		return -EINVAL;
	if (options) {
		err = to_config(&c, options);
	} else {
		cp_config_read_quietly(&c, from_environment);
		err = c.cpu_path[0] ? 0 : -EINVAL;
	}
	return err ? err : cp_session_start(&c);
}

/* Start and stop exclude each other; whoever comes second is told, not made to wait. */
static uint32_t changing;

API int cprof_start(const struct cprof_options *options)
{
	int err;

	if (cp_exchange_acqrel(&changing, 1))
		return -EBUSY;
	err = start(options);
	cp_store_release(&changing, 0);
	return err;
}

API int cprof_stop(void)
{
	int err;

	if (cp_exchange_acqrel(&changing, 1))
		return -EBUSY;
	err = cp_session_stop();
	cp_store_release(&changing, 0);
	return err;
}

API int cprof_dump(const char *path)
{
	char to[CP_PATH_MAX];
	int err = path ? absolute(to, sizeof(to), path) : 0;

	return err ? err : cp_session_dump(path ? to : NULL);
}

API int cprof_dump_fd(int fd)
{
	return fd < 0 ? -EBADF : cp_session_dump_fd(fd);
}

API int cprof_thread_pause(void)
{
	cp_threads_adopt();
	if (!cp_self.thread)
		return -ENOMEM;
	cp_store_relaxed(&cp_self.thread->paused, cp_self.thread->paused + 1);
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

API int cprof_get_stats(struct cprof_stats *stats)
{
	size_t size;

	if (!stats || stats->size != STATS_MIN)
		return -EINVAL;
	size = stats->size;
	memset(stats, 0, sizeof(*stats));
	stats->size = size;
	cp_session_stats(stats);
	return 0;
}

API const char *cprof_version(void)
{
	return CPROF_VERSION;
}
