/* Stop and write; see session.h. */
#include "session.h"

#include <errno.h>
#include <limits.h>

#include "collect.h"
#include "drain.h"
#include "fdwrite.h"
#include "globs.h"
#include "helper.h"
#include "log.h"
#include "mark.h"
#include "path.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "signals.h"
#include "sink.h"
#include "threads.h"
#include "unloaded.h"
#include "window.h"

bool cp_session_active(void)
{
	return cp_load_acquire(&cp_session.active) != 0;
}

bool cp_session_is_this(void)
{
	/* A child that clone() made may have our number, in a namespace of its own. */
	return cp_sys_getpid() == cp_session.pid && !cp_mark_is_gone();
}

bool cp_session_is_ours(void)
{
	return cp_session_active() && cp_session_is_this();
}

bool cp_session_keeps_label(const char *key)
{
	return !cp_session.config.label_keys[0] ||
	       cp_globs_match(cp_session.config.label_keys, key);
}

static void write_last(void)
{
	cp_session_finish("at the end of its last thread", UINT_MAX);
	cp_session_dump_asked();
}

const struct cp_collect_work cp_session_in_collector = {
	.serve = cp_window_serve,
	.due = cp_window_due,
	.last = write_last,
};

int cp_session_stop(void)
{
	struct cp_window_call call = { .when = "at the stop" };

	if (!cp_session_is_ours())
		return -ESRCH;
	cp_collect_stop();
	cp_collect_run(cp_window_end, &call);
	cp_signals_remove();
	cp_store_release(&cp_session.active, 0);
	return call.result;
}

int cp_session_stop_mode(enum cp_mode mode)
{
	struct cp_window_call call = { .when = "at the stop", .mode = mode };

	if (!cp_session_is_ours() || mode >= CP_MAIN_MODES || !cp_session.config.path[mode][0])
		return -ESRCH;
	cp_collect_run(cp_window_end_mode, &call);
	if (cp_config_any(&cp_session.config))
		return call.result;
	cp_session_stop();
	return call.result;
}

void cp_session_retire(const char *why)
{
	struct cp_window_call call = { .when = why };

	if (!cp_session_is_ours())
		return;
	cp_collect_stop();
	cp_collect_run(cp_window_end, &call);
	cp_signals_remove();
	cp_threads_retire();
	cp_store_release(&cp_session.active, 0);
	cp_log("%s: profiling ends here", why);
}

void cp_session_write(const char *when, bool only_with_samples)
{
	struct cp_window_call call = { .when = when, .only_with_samples = only_with_samples };

	if (cp_session_is_ours())
		cp_collect_run(cp_window_write, &call);
}

bool cp_session_runs(enum cp_mode mode)
{
	return cp_session_is_ours() && cp_load_relaxed(&cp_session.runs[mode].running);
}

void cp_session_path(enum cp_mode mode, char *to, size_t size)
{
	char path[CP_PATH_MAX];

	if (cp_path_number(path, sizeof(path), cp_session.runs[mode].path, 0) < 0)
		path[0] = '\0';
	cp_format(to, size, "%s", path);
}

int cp_session_dump_heap(void)
{
	struct cp_window_call call = { .modes = CP_REQUEST_DUMP_OF(CP_MODE_HEAP) };

	if (!cp_session_runs(CP_MODE_HEAP))
		return -ESRCH;
	cp_collect_run(cp_window_dump, &call);
	return call.result;
}

void cp_session_leave(void)
{
	cp_add_seqcst(&cp_session.leaving, 1);
}

void cp_session_dump_asked(void)
{
	if (cp_session_is_ours())
		cp_collect_run(cp_window_asked, NULL);
}

void cp_session_stay(void)
{
	uint32_t put_off;

	if (cp_add_seqcst(&cp_session.leaving, -1u) != 1)
		return;
	put_off = cp_exchange_acqrel(&cp_session.put_off, 0);
	if (put_off)
		cp_collect_request(put_off);
}

void cp_session_finish(const char *when, unsigned seconds)
{
	struct cp_window_call call = { .when = when };
	const struct cp_self *self;
	struct cp_thread *t;
	bool done;

	if (!cp_session_is_ours())
		return;
	self = cp_thread_libc_self();
	t = self ? self->thread : NULL;
	if (t)
		cp_store_release(&t->finishing, true);
	cp_collect_run(cp_window_finish, &call);
	if (t)
		cp_store_release(&t->finishing, false);
	if (!call.helper)
		return;
	/* Descendants may be many; nobody waits for theirs. */
	done = cp_helper_wait(call.helper, cp_session.lineage.owner ? seconds : 0);
	if (cp_session.config.verbose)
		cp_log("lines and inlined calls %s",
		       done ? "were added"
			    : "are left to cprof in the background; the files are complete with "
			      "names");
}

int cp_session_heap_text(struct cp_memory_sink *to)
{
	struct cp_window_call call = { .mode = CP_MODE_HEAP, .sink = &to->sink, .as_text = true };

	cp_memory_sink_open(to);
	if (!cp_session_runs(CP_MODE_HEAP))
		return -ESRCH;
	cp_collect_run(cp_window_dump, &call);
	return call.result;
}

enum cp_mode cp_session_first_mode(void)
{
	unsigned m = 0;

	while (m + 1 < CP_MAIN_MODES && !cp_load_relaxed(&cp_session.runs[m].running))
		m++;
	return m;
}

int cp_session_dump(enum cp_mode mode, const char *path)
{
	struct cp_window_call call = { .mode = mode, .path = path, .modes = CP_REQUEST_DUMP };

	if (!cp_session_is_ours())
		return -ESRCH;
	cp_collect_run(cp_window_dump, &call);
	return call.result;
}

/* Only what is made under the lock is made there: a reader that doesn't read would keep it, and
 * with it every way out of the process. */
int cp_session_dump_fd(enum cp_mode mode, int fd)
{
	struct cp_memory_sink memory;
	struct cp_window_call call = { .mode = mode, .sink = &memory.sink };

	if (!cp_session_is_ours())
		return -ESRCH;
	cp_memory_sink_open(&memory);
	cp_collect_run(cp_window_dump, &call);
	if (!call.result)
		call.result = cp_fdwrite_all(fd, memory.data, memory.used, true);
	cp_memory_sink_release(&memory);
	return call.result;
}

void cp_session_drain_unloading(void)
{
	uint64_t loads = cp_unloaded_loads();

	if (cp_session_is_ours())
		cp_collect_run(cp_window_drain_unloading, &loads);
}

void cp_session_drain_rest(void)
{
	if (cp_session_is_ours() && cp_drain_has_more(cp_self.thread))
		cp_collect_run(cp_window_drain, NULL);
}

/* What another thread changes is for itself: a server's, that acts for a user. Ours has what main
 * has, or libc would meet two results when it changes all. */
static bool is_followed(void)
{
	return cp_sys_gettid() == cp_sys_getpid() || cp_threads_alone();
}

bool cp_session_park(void)
{
	if (!cp_session_is_ours() || !is_followed())
		return false;
	cp_collect_park();
	return true;
}

bool cp_session_park_bare(void)
{
	if (!cp_session_is_ours() || !cp_collect_is_bare())
		return false;
	cp_collect_park();
	return true;
}

void cp_session_unpark(bool parked)
{
	int saved = errno;

	if (parked)
		cp_collect_unpark(cp_session_is_ours());
	errno = saved;
}

void cp_session_stats(enum cp_mode mode, struct cprof_stats *s)
{
	struct cp_window_call call = { .mode = mode, .stats = s };

	if (cp_collect_init(&cp_session_in_collector) == 0)
		cp_collect_run(cp_window_stats, &call);
}
