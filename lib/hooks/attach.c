/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry of `cprof attach` into a process that runs already (base/attach.h), and the functions
 * that only such a process needs.
 *
 * A preloaded libcprof is in front of libc for modules that are loaded later. One that was loaded
 * late isn't, so their import tables are changed after each dlopen. Before that, calls of their
 * constructors are not seen.
 */
#include <dlfcn.h>
#include <errno.h>

#include "base/attach.h"
#include "base/text.h"
#include "collect/collect.h"
#include "hooks/hooks.h"
#include "host/host.h"
#include "host/real.h"
#include "session/session.h"
#include "unwind/unwind.h"

static void *(*real_dlopen)(const char *, int);

/* The loader looks for a library on behalf of the module that calls dlopen. Where that matters, the
 * call is a jump, which leaves the caller's address in place; the collector looks for new modules
 * later. */
static void *open_and_catch(const char *file, int mode)
{
	bool jumps = !file || cp_imports_depends(file, __builtin_return_address(0));
	void *handle;
	int saved;

	if (jumps)
		return real_dlopen(file, mode);
	handle = real_dlopen(file, mode);
	saved = errno;
	cp_imports_look();
	errno = saved;
	return handle;
}

static void add_functions(void)
{
	void *f = cp_loaded_next_one("dlopen");

	if (real_dlopen || !f)
		return;
	/* Function pointers and object pointers have the same size on every port. */
	memcpy(&real_dlopen, &f, sizeof(f));
	cp_imports_add("dlopen", false, (void *)(uintptr_t)open_and_catch);
	cp_imports_add("pthread_kill", false, (void *)(uintptr_t)pthread_kill_of_2_34);
	cp_imports_add("pthread_kill", true, (void *)(uintptr_t)pthread_kill_before_2_34);
}

/* The first copy of libcprof in the process answers: it has the program's calls already. */
static int (*other_copy(void))(struct cp_attach_request *)
{
	void *f = cp_loaded_first(CP_ATTACH_SYMBOL);
	int (*attach)(struct cp_attach_request *) = NULL;

	if (f && !cp_loaded_is_own(f))
		memcpy(&attach, &f, sizeof(f));
	return attach;
}

/* What the user must know of every file. */
static void note_unseen(void)
{
	unsigned refused = cp_imports_refused();

	cp_notes_note(CP_NOTE_ATTACHED,
		      "attached to a running program: unknown are blocks and locks that it took "
		      "before, and calls through addresses that it had stored (dlsym, variables)");
	if (refused)
		cp_notes_note(CP_NOTE_IMPORTS,
			      "%u entries of import tables could not be changed: calls through "
			      "them are not seen",
			      refused);
}

/* Register the threads that are there. A thread gets its record when it is seen for the second
 * time. */
static void find_threads(void)
{
	const struct cp_sweep_ours none = { { 0 } };

	cp_sweep_adopt();
	cp_sweep_find_main_ended();
	for (int i = 0; i < 2; i++)
		cp_sweep_threads(&none);
}

static const char *no_setting(const char *key)
{
	return NULL;
}

/* A busy machine may take its time for what the collector does at once. */
#define WAITS_NS UINT64_C(5000000000)
#define NAP_NS 100000

static bool await(bool (*is)(void))
{
	uint64_t end = cp_sys_clock_ns(CLOCK_MONOTONIC) + WAITS_NS;
	const struct timespec nap = { 0, NAP_NS };

	while (!is() && cp_sys_clock_ns(CLOCK_MONOTONIC) < end)
		cp_sys2(SYS_nanosleep, &nap, NULL);
	return is();
}

/* After a detach the collector still ends. */
static bool has_no_collector(void)
{
	return cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_NONE;
}

static int start_idle(void)
{
	int err;

	cp_config_read_quietly(&cp_session.config, no_setting);
	cp_session.config.control = CP_CONTROL_ON;
	err = cp_session_start_idle();
	if (err)
		return err;
	if (cp_collect_alive() && await(cp_control_socket_is_open))
		return 0;
	cp_session_stop();
	return -EAGAIN;
}

static int begin_session(void)
{
	int err;

	if (cp_attached() || cp_profiled_is_ours())
		return -EALREADY;
	if (!await(has_no_collector))
		return -EBUSY;
	cp_log_silence(true);
	cp_ticks_ask();
	cp_threads_register();
	cp_imports_begin();
	find_threads();
	init_watch_exit();
	err = start_idle();
	if (err) {
		cp_imports_end();
		cp_log_silence(false);
		return err;
	}
	note_unseen();
	cp_attached_note();
	return 0;
}

static int begin(void)
{
	int err;

	/* A child that is forked during the change has no thread that would end it. */
	cp_fork_handlers_begin();
	if (!cp_api_change_begin())
		return -EBUSY;
	add_functions();
	err = begin_session();
	return cp_api_change_end(err);
}

static const char *reason_of(int err)
{
	switch (err) {
	case 0: return "";
	case -EPROTO: return "the library is of another version than cprof";
	case -EALREADY: return "libcprof is at work in the process already";
	case -EBUSY: return "the program is starting or stopping a profile";
	case -EAGAIN: return "the process can have no more threads";
	case -ENOMEM:
		return "it has no memory left for libcprof; raise its limit (ulimit -v or -d, or "
		       "the container's)";
	case -EOPNOTSUPP:
		return "no profile can be taken in this process: it has restricted its system "
		       "calls, or valgrind runs it";
	default: return cp_log_errno_text(err);
	}
}

__attribute__((visibility("default"))) int libcprof_attach(struct cp_attach_request *r)
{
	int (*other)(struct cp_attach_request *) = other_copy();
	int saved = errno;

	if (other)
		return other(r);
	r->result = r->version == CP_ATTACH_VERSION ? begin() : -EPROTO;
	cp_text_format(r->reason, sizeof(r->reason), "%s", reason_of(r->result));
	errno = saved;
	return r->result;
}
