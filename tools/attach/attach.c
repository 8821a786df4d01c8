/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the library into a running process; see attach.h. All that the process will need is written
 * before a thread of it is stopped, where it has neither code nor data: behind the end of a
 * library's code, and of its data, up to the end of the page. */
#include "attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/attach.h"

#define PAGE 4096u
#define LIMIT_SECONDS 10
/* The same for the library, once it is loaded: it begins in any case. Beside much load the kernel
 * takes seconds to enlarge a table of descriptors (synchronize_rcu). */
#define BEGIN_SECONDS 60
#define GONE "process %d has ended, or has called exec"
/* A thread in our code that takes longer may wait for one that waits for its signals. */
#define UNBLOCK_SECONDS 0.05

struct attachment {
	struct ct_space space;
	const char *library;
	uint64_t code, plan, words;
	struct ct_code_words seen;
	struct ct_seized seized;
	int lock;
	bool copies; /* the process gets a copy of the library */
};

static size_t code_size(void)
{
	return (size_t)(ct_code_end - ct_code_begin);
}

/* What of a thread's extended registers is saved: all but AMX's tiles, which no call preserves, and
 * which may be off. *SIZE gets the bytes that XSAVE takes for it; 0: there is no XSAVE. */
static uint64_t extended_mask(uint64_t *size)
{
	unsigned a = 1, b, c = 0, d, low, high;
	uint64_t mask;

	*size = 0;
	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (!(c >> 27 & 1))
		return 0;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	mask = ((uint64_t)high << 32 | low) & ~(UINT64_C(3) << 17);
	*size = 576;
	for (unsigned i = 2; i < 63; i++) {
		a = 13;
		c = i;
		if (!(mask >> i & 1))
			continue;
		__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		*size = a + b > *size ? a + b : *size;
	}
	return mask;
}

/* ---- places ---- */

static bool is_zero(const unsigned char *bytes, size_t n)
{
	return !n || (!*bytes && !memcmp(bytes, bytes + 1, n - 1));
}

/* Is there room for SIZE bytes at AT, up to the end of the page, that nobody has used? Or that an
 * earlier attach has used. */
static bool has_room(const struct ct_space *s, uint64_t at, size_t size, bool code)
{
	unsigned char bytes[PAGE];
	const struct ct_space_map *map = ct_space_map_at(s, at);
	size_t room = PAGE - at % PAGE;

	if (!map || !(at % PAGE) || room < size || !ct_space_read(s, at, bytes, room))
		return false;
	if (code)
		return map->prot[2] == 'x' &&
		       (is_zero(bytes, room) || !memcmp(bytes, ct_code_begin, code_size()));
	return map->prot[1] == 'w' && map->prot[2] != 'x';
}

static uint64_t aligned(uint64_t at, unsigned to)
{
	return (at + to - 1) & ~(uint64_t)(to - 1);
}

/* Finds the room: first in libc, which stays. */
static bool find_places(struct attachment *a, size_t plan_size)
{
	const struct ct_space *s = &a->space;

	for (unsigned i = 0; i <= s->module_count && (!a->code || !a->words); i++) {
		const struct ct_space_module *m = &s->modules[i ? i - 1 : s->libc];
		uint64_t code = aligned(m->text_end, 64), words = aligned(m->data_end, 16);
		bool initial = m->base && (m->kind == CT_SPACE_LIBC || m->kind == CT_SPACE_LOADER ||
					   &s->modules[s->program] == m);
		unsigned char used[sizeof(struct ct_code_words)];

		if (!initial)
			continue;
		if (!a->code && m->text_end && has_room(s, code, code_size() + plan_size, true))
			a->code = code;
		/* The loader's own first allocations are behind its data. */
		if (!a->words && m->data_end && m->kind != CT_SPACE_LOADER &&
		    has_room(s, words, sizeof(used), false) &&
		    ct_space_read(s, words, used, sizeof(used)))
			a->words = words;
	}
	a->plan = a->code + code_size();
	return a->code && a->words;
}

/* ---- what the process needs ---- */

static uint64_t libc_symbol(struct attachment *a, const char *name, bool *all)
{
	struct ct_space *s = &a->space;
	uint64_t at = ct_space_symbol(s, &s->modules[s->libc], name);

	*all = *all && at;
	return at;
}

/* May every user read the file PATH? */
static bool is_public(const char *path)
{
	char *part = ct_memory_strdup(path), *slash;
	struct stat st;
	bool is = !stat(part, &st) && st.st_mode & S_IROTH;

	while (is && (slash = strrchr(part, '/')) && slash > part) {
		*slash = '\0';
		is = !stat(part, &st) && st.st_mode & S_IXOTH;
	}
	free(part);
	return is;
}

/* May the process, which is perhaps another user's, read the library? */
static bool may_read(const struct attachment *a)
{
	char *ids = ct_proc_status(a->space.pid, a->space.pid, "Uid"),
	     *real = realpath(a->library, NULL);
	unsigned user = ~0u; /* the last one is for files */
	bool may;

	if (ids)
		sscanf(ids, "%*u %*u %*u %u", &user);
	may = user == geteuid() || (is_public(a->library) && real && is_public(real));
	free(ids);
	free(real);
	return may;
}

/* Returns the path by which the process sees the library, to be freed: "" if it doesn't. */
static char *path_there(const struct attachment *a)
{
	char *path = ct_memory_printf("/proc/%d/root%s", a->space.pid, a->library);
	struct stat here, there;
	bool same = !a->copies && may_read(a) && !stat(a->library, &here) && !stat(path, &there) &&
		    here.st_dev == there.st_dev && here.st_ino == there.st_ino &&
		    here.st_size == there.st_size;

	free(path);
	return ct_memory_strdup(same ? a->library : "");
}

/* Is a thread of an earlier attach still there? */
static bool is_under_way(const struct attachment *a, uint32_t tid)
{
	char *path = ct_memory_printf("/proc/%d/task/%u", a->space.pid, tid);
	bool is = tid && !access(path, F_OK);

	free(path);
	return is;
}

static bool runs(const struct attachment *a)
{
	char *state = ct_proc_status(a->space.pid, (int)a->seen.seized, "State");
	bool is = state && *state == 'R';

	free(state);
	return is;
}

/* Is the thread that an earlier attach has stopped in our code? Our code says so at once, so a
 * thread that sleeps, or runs on without that, was let go as it was: the tool had been killed. */
static bool is_lent(struct attachment *a)
{
	for (int i = 0; i < 1000 && !a->seen.left && runs(a); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		ct_space_read(&a->space, a->words, &a->seen, sizeof(a->seen));
	}
	return a->seen.left == CT_CODE_LENT && is_under_way(a, a->seen.seized);
}

static char *cannot_write(int pid)
{
	return ct_memory_printf("process %d: its memory can't be written: %s", pid,
				strerror(errno));
}

static char *prepare(struct attachment *a)
{
	struct ct_space *s = &a->space;
	char *path = path_there(a), *why = NULL;
	/* A path of the memfd may take its place later. */
	size_t size = sizeof(struct ct_code_plan) + (strlen(path) > 32 ? strlen(path) : 32) + 1;
	struct ct_code_plan *plan = ct_memory_alloc(size);
	unsigned char *all;
	bool found = true;
	uint64_t extended_size, mask = extended_mask(&extended_size);

	*plan = (struct ct_code_plan){
		.pthread_create = libc_symbol(a, "pthread_create", &found),
		.attr_init = libc_symbol(a, "pthread_attr_init", &found),
		.attr_setdetachstate = libc_symbol(a, "pthread_attr_setdetachstate", &found),
		.attr_setstacksize = libc_symbol(a, "pthread_attr_setstacksize", &found),
		.errno_location = libc_symbol(a, "__errno_location", &found),
		.dlopen = libc_symbol(a, "dlopen", &found),
		.dlsym = libc_symbol(a, "dlsym", &found),
		.dlerror = libc_symbol(a, "dlerror", &found),
		.attach = s->libcprof,
		.extended_mask = mask,
		.extended_size = extended_size,
	};
	strcpy(plan->path, path);
	free(path);
	if (!found && !ct_space_read(s, s->modules[s->libc].base, &a->seen, sizeof(a->seen)))
		why = ct_memory_printf(GONE, s->pid);
	else if (!found)
		why = ct_memory_printf("process %d: its libc is older than glibc 2.34, which the "
				       "library needs; \"cprof run\" needs it, too",
				       s->pid);
	else if (!extended_size)
		why = ct_memory_strdup("this processor has no XSAVE");
	else if (!find_places(a, size))
		why = ct_memory_printf(
			"process %d: no page of its libc or program has room for "
			"the %zu bytes that attach needs; start it with \"cprof run\"",
			s->pid, code_size() + size);
	else if (!ct_space_read(s, a->words, &a->seen, sizeof(a->seen)) ||
		 is_under_way(a, a->seen.helper) || is_lent(a))
		why = ct_memory_printf("process %d: an earlier attach isn't done yet", s->pid);
	plan->words = a->words;
	all = ct_memory_alloc(code_size() + size);
	memcpy(all, ct_code_begin, code_size());
	memcpy(all + code_size(), plan, size);
	a->seen = (struct ct_code_words){ 0 };
	if (!why && (!ct_space_write(s, a->code, all, code_size() + size) ||
		     !ct_space_write(s, a->words, &a->seen, sizeof(a->seen))))
		why = cannot_write(s->pid);
	free(all);
	free(plan);
	return why;
}

/* ---- the new thread ---- */

static bool answer(struct attachment *a, uint32_t with)
{
	return ct_space_write(&a->space, a->words + offsetof(struct ct_code_words, answer), &with,
			      sizeof(with));
}

/* Copies the library to the memfd that the process has made. Its descriptor itself is used, not a
 * path: the process might have put another file there. */
static char *give_library(struct attachment *a)
{
	int pid = a->space.pid, to = ct_proc_descriptor(pid, a->seen.fd),
	    from = open(a->library, O_RDONLY | O_CLOEXEC);
	char buffer[65536], path[32];
	ssize_t n = -1;

	if (to >= 0 && from >= 0 && fcntl(to, F_GET_SEALS) >= 0)
		while ((n = read(from, buffer, sizeof(buffer))) > 0 &&
		       write(to, buffer, (size_t)n) == n)
			;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", a->seen.fd);
	if (!n &&
	    ct_space_write(&a->space, a->plan + offsetof(struct ct_code_plan, path), path,
			   strlen(path) + 1) &&
	    answer(a, CT_CODE_GO))
		return NULL;
	answer(a, CT_CODE_CANCEL);
	return ct_memory_printf("process %d: the library can't be copied into it: %s", pid,
				strerror(errno));
}

/* Reads a text of at most 240 bytes at AT. The caller frees it. */
static char *text_of(const struct attachment *a, uint64_t at)
{
	char text[241] = "";

	for (size_t n = sizeof(text) - 1; n && !ct_space_read(&a->space, at, text, n); n /= 2)
		;
	text[sizeof(text) - 1] = '\0';
	return ct_memory_strdup(text);
}

static char *result_of(const struct attachment *a)
{
	int pid = a->space.pid, err = a->seen.result;
	char *text, *why;

	if (!err)
		return NULL;
	if (err == -EALREADY)
		return ct_memory_printf("process %d is profiled by libcprof already, which takes "
					"no requests (CPROF_CONTROL=off)",
					pid);
	text = text_of(a, a->seen.request + offsetof(struct cp_attach_request, reason));
	if (err == -EPROTO)
		why = ct_memory_printf("process %d has a libcprof of another version", pid);
	else
		why = ct_memory_printf("process %d: %s", pid, *text ? text : strerror(-err));
	free(text);
	return why;
}

/* Returns why the process can't make a thread, after the error that pthread_create has. */
static const char *why_no_thread(const struct attachment *a)
{
	if (a->seen.error != EAGAIN)
		return "";
	if (sched_getscheduler(a->seized.tid) == SCHED_DEADLINE)
		return " (a thread with the deadline policy may make none: chrt changes it)";
	return " (a limit on threads or memory: ulimit -u, -v, -d or -l, pids.max, "
	       "vm.max_map_count)";
}

/* Returns what helps if the loader said TEXT. */
static const char *loader_advice(const char *text)
{
	if (strstr(text, "/proc/self/fd") && strstr(text, "cannot open"))
		return "; the process sees neither this cprof's library nor, for a copy, a usable "
		       "/proc";
	if (strstr(text, "cannot map") || strstr(text, "failed to map") ||
	    strstr(text, "annot allocate memory"))
		return "; raise its limit on memory (ulimit -v, -d or -l, vm.max_map_count)";
	return strstr(text, "Too many open files") ? "; raise its limit (ulimit -n)" : "";
}

/* Returns whether the attach has ended. */
static bool has_ended(struct attachment *a, char **why)
{
	int pid = a->space.pid;
	char *text;

	if (!ct_space_read(&a->space, a->words, &a->seen, sizeof(a->seen))) {
		*why = ct_memory_printf(GONE, pid);
		return true;
	}
	if (a->seen.error) {
		*why = ct_memory_printf("process %d: it can't make a thread: %s%s", pid,
					strerror(a->seen.error), why_no_thread(a));
		return true;
	}
	switch (a->seen.stage) {
	case CT_CODE_WANTS_FILE:
		*why = a->seen.answer ? NULL : give_library(a);
		return *why != NULL;
	case CT_CODE_ATTACHED: *why = result_of(a); return true;
	case CT_CODE_FAILED:
		text = text_of(a, a->seen.text);
		*why = ct_memory_printf("process %d: its loader says: %s%s", pid, text,
					loader_advice(text));
		free(text);
		return true;
	case CT_CODE_GIVEN_UP:
		*why = ct_memory_printf("process %d: it can't make a file in memory: %s", pid,
					strerror(-a->seen.result));
		return true;
	default: return false;
	}
}

static int limit(const struct attachment *a)
{
	return a->seen.stage == CT_CODE_ATTACHING ? BEGIN_SECONDS : LIMIT_SECONDS;
}

static char *too_late(const struct attachment *a)
{
	return ct_memory_printf(
		"process %d: not attached within %d seconds: %s", a->space.pid, limit(a),
		a->seen.stage == CT_CODE_LOADING
			? "its loader is busy (another thread is in dlopen, or a constructor "
			  "waits). When that ends, so does this; then try again"
			: "its threads get no processor, or wait for its allocator; try again");
}

static char *wait_for_end(struct attachment *a)
{
	double began = ct_now();
	bool unblocked = false;
	char *why = NULL;

	for (unsigned round = 0; !has_ended(a, &why); round++) {
		double passed = ct_now() - began;

		if (passed > limit(a)) {
			ct_out_guard_progress(NULL);
			answer(a, CT_CODE_CANCEL);
			return too_late(a);
		}
		if (round % 128 == 0)
			ct_seize_progress("waiting for the library to begin", passed, limit(a));
		if (a->seen.left != CT_CODE_LEFT && passed > UNBLOCK_SECONDS && !unblocked) {
			ct_seize_unblock(&a->seized);
			unblocked = true;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	ct_out_guard_progress(NULL);
	answer(a, CT_CODE_READ);
	began = ct_now();
	/* The next attach must find the room unused. A profile must not take our thread, which
	 * blocks all signals, for the program's. */
	while (ct_now() - began < LIMIT_SECONDS &&
	       (is_under_way(a, a->seen.helper) || a->seen.left != CT_CODE_LEFT) &&
	       ct_space_read(&a->space, a->words, &a->seen, sizeof(a->seen)))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return why;
}

/* Two tools must not use the same room. */
static char *lock(struct attachment *a, int pid)
{
	char *path = ct_memory_printf("/proc/%d", pid);

	a->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	return a->lock >= 0 && !flock(a->lock, LOCK_EX | LOCK_NB)
		       ? NULL
		       : ct_memory_printf("process %d: another cprof attaches to it now", pid);
}

/* A process that has just begun may not have loaded libc yet. */
static int open_space(struct attachment *a, int pid)
{
	int err = ct_space_open(&a->space, pid);

	for (int i = 0; i < 50 && !err && a->space.libc == CT_SPACE_NONE && !a->space.musl; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		ct_space_close(&a->space);
		err = ct_space_open(&a->space, pid);
	}
	return err;
}

static char *load(struct attachment *a, double *seconds)
{
	char *why = prepare(a);

	if (why)
		return why;
	why = ct_seize(&a->space, a->code, a->plan, a->words, &a->seized);
	*seconds = a->seized.held > *seconds ? a->seized.held : *seconds;
	return why ? why : wait_for_end(a);
}

/* A library that the process sees may be one that it may not open or execute (Landlock and its kin,
 * noexec). Then it gets a copy. */
static char *load_or_copy(struct attachment *a, double *seconds)
{
	char *why = load(a, seconds);

	if (!why || a->seen.stage != CT_CODE_FAILED || a->copies || a->seen.fd >= 0)
		return why;
	free(why);
	a->copies = true;
	return load(a, seconds);
}

char *ct_attach(int pid, const char *library, double *seconds)
{
	struct attachment a = { .library = library, .lock = -1 };
	char *why = ct_refuse(pid);
	int err;

	*seconds = 0;
	if (why)
		return why;
	err = open_space(&a, pid);
	why = err ? ct_refuse_access(pid, err) : ct_refuse_space(&a.space, library);
	why = why ? why : lock(&a, pid);
	why = why ? why : load_or_copy(&a, seconds);
	ct_space_close(&a.space);
	if (a.lock >= 0)
		close(a.lock);
	return why;
}
