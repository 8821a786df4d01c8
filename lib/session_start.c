/* Starts of the session: what each mode needs is looked at before the first sample is taken. See
 * session.h.
 */
#include "session.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "cpu.h"
#include "engine.h"
#include "fork.h"
#include "heap.h"
#include "helper.h"
#include "log.h"
#include "mark.h"
#include "mode.h"
#include "path.h"
#include "real.h"
#include "runs.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/held.h"
#include "sigsafe/lock_event.h"
#include "sigsafe/ring.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "signals.h"
#include "sink.h"
#include "threads.h"
#include "wall.h"
#include "window.h"

/* Tell at the start, not after an hour, that there will be no file. */
static int check_path(const char *path)
{
	char directory[CP_PATH_MAX];
	struct stat st;
	char *slash;
	long err;

	err = cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	if (err == 0)
		return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ? 0
		       : S_ISDIR(st.st_mode)			  ? -EISDIR
								  : -EINVAL;
	cp_format(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash)
		return -EINVAL;
	slash[slash == directory] = '\0';
	/* As who we are, not as who called us: that differs in a set-user-id program. */
	err = cp_sys4(SYS_faccessat2, AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS);
	/* An old kernel, or a sandbox that doesn't know the call: the write will tell. */
	return err == -ENOSYS || err == -EPERM ? 0 : (int)err;
}

/* The kernel's own, or libc's. What the program, or a library that tells it other times, has in its
 * place may take a lock, and would be called by us at that very lock. */
static void find_lock_clock(void)
{
	void *f;

	if (cp_lock_clock.read)
		return;
	f = cp_real_vdso_clock();
	if (!f)
		f = cp_real_of_libc("clock_gettime");
	if (f)
		memcpy(&cp_lock_clock.read, &f, sizeof(f));
}

static void prepare_modes(const struct cp_config *c)
{
	if (c->path[CP_MODE_HEAP][0])
		cp_heap_prepare();
	if (c->path[CP_MODE_LOCK][0])
		find_lock_clock();
}

static int choose_engine(void)
{
	cp_capture_settings.unwinder = cp_engine_unwinder(cp_session.config.unwind);
	cp_capture_settings.max_depth = cp_session.config.max_depth;
	cp_lock_state.meet = cp_threads_meet;
	cp_capture_settings.wake = cp_engine_wake;
	cp_ring_configure(cp_session.config.max_depth);
	if (cp_session.config.path[CP_MODE_WALL][0])
		cp_wall_prepare();
	return cp_capture_settings.unwinder ? 0 : -ENOSYS;
}

void cp_session_learn_lineage(void)
{
	if (!cp_session.lineage_known)
		cp_lineage_read(&cp_session.lineage, environ);
	cp_session.lineage_known = true;
}

/* The file at PATH that mode M will write at its end can be written. */
static int check_mode(unsigned m, const char *template)
{
	char path[CP_PATH_MAX], name[CP_PATH_MAX];
	bool unique;
	int err = !cp_modes[m]
			  ? -ENOSYS
			  : cp_path_expand(path, sizeof(path), template, cp_session.lineage.base,
					   &cp_session.facts.path, &unique);

	if (!err)
		err = cp_path_number(name, sizeof(name), path, 0);
	return err ? err : check_path(name);
}

static void refuse(unsigned m, int err)
{
	if (m < CP_MAIN_MODES) {
		cp_log("%s: no profile: %s: %s; %s", cp_config_variable(m),
		       cp_session.config.path[m], cp_errno_text(err), cp_errno_advice(err));
		cp_session.config.path[m][0] = '\0';
	} else {
		cp_log("no %s profile: %s; %s", cp_modes[m]->name, cp_errno_text(err),
		       cp_errno_advice(err));
	}
}

/* 0, or the first mode's error; with EACH, modes that can't be are said and left out. */
static int check_modes(bool each)
{
	int first = 0;

	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *path = cp_session.config.path[m];
		int err = path[0] ? check_mode(m, path) : 0;

		first = first ? first : err;
		if (err && each)
			refuse(m, err);
	}
	return each && cp_config_any(&cp_session.config) ? 0 : first;
}

/* By a function of what it preloads. There the threads take turns, signals come when it suits, and
 * what we read of stacks is taken for errors of the program's. */
static bool runs_in_valgrind(void)
{
	return dlsym(RTLD_DEFAULT, "_vgnU_freeres") != NULL;
}

static int prepare(bool each)
{
	int err;

	if (runs_in_valgrind()) {
		if (each)
			cp_log("no profile: valgrind runs the program");
		return -EOPNOTSUPP;
	}
	err = choose_engine();
	if (!err)
		err = cp_collect_init(&cp_session_in_collector);
	if (err && each)
		cp_log("no profile: %s; %s", cp_errno_text(err), cp_errno_advice(err));
	if (err)
		return err;
	cp_gzip_load();
	cp_helper_prepare();
	prepare_modes(&cp_session.config);
	cp_facts_read(&cp_session.facts);
	cp_session_learn_lineage();
	return check_modes(each);
}

/* None is on, where one should be. */
static bool began_nothing(const struct cp_window_call *call, bool each)
{
	return call->result && !(each && (cp_runs_any() || cp_session.config.toggle_signal));
}

/* More modes in a session that is on. */
static int add_modes(const struct cp_config *c)
{
	struct cp_window_call call = { .when = "at the start", .config = c };

	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		int err = c->path[m][0] ? check_mode(m, c->path[m]) : 0;

		if (err)
			return err;
		if (c->path[m][0] && cp_session.config.path[m][0])
			return -EALREADY;
	}
	prepare_modes(c);
	cp_collect_run(cp_window_add, &call);
	return call.result;
}

int cp_session_start(const struct cp_config *c, bool each)
{
	struct cp_window_call call = { .when = "at the start", .failed = each ? refuse : NULL };
	int err;

	if (cp_session_is_ours())
		return add_modes(c);
	if (cp_session_active())
		return -EALREADY;
	cp_real_resolve();
	cp_session.config = *c;
	cp_threads_adopt();
	err = prepare(each);
	if (err)
		return err;
	cp_fork_install();
	cp_session.pid = cp_sys_getpid();
	cp_mark_set();
	cp_session.next_checkpoint = UINT64_MAX;
	cp_store_release(&cp_session.active, 1);
	cp_signals_install(c->dump_signal, c->toggle_signal, c->heap_signal);
	cp_held_adopt();
	cp_collect_run(cp_window_begin, &call);
	if (began_nothing(&call, each)) {
		cp_collect_run(cp_window_abandon, NULL);
		cp_signals_remove();
		cp_store_release(&cp_session.active, 0);
		return call.result;
	}
	if (!c->toggle_signal && c->path[CP_MODE_CPU][0])
		cp_cpu_say_blocking();
	cp_heap_check();
	cp_collect_start();
	return 0;
}
