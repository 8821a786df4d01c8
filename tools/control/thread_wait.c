/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads wait for; see control.h. */
#include "control/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* System calls in which threads wait. */
static const struct {
	long number;
	const char *name;
} calls[] = {
#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}
#ifdef SYS_poll
	CALL(poll),
	CALL(select),
	CALL(epoll_wait),
	CALL(pause),
#endif
	CALL(futex),
	CALL(ppoll),
	CALL(pselect6),
	CALL(epoll_pwait),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(read),
	CALL(readv),
	CALL(pread64),
	CALL(preadv),
	CALL(write),
	CALL(writev),
	CALL(pwrite64),
	CALL(pwritev),
	CALL(recvfrom),
	CALL(recvmsg),
	CALL(recvmmsg),
	CALL(sendto),
	CALL(sendmsg),
	CALL(accept),
	CALL(accept4),
	CALL(connect),
	CALL(wait4),
	CALL(waitid),
	CALL(rt_sigtimedwait),
	CALL(rt_sigsuspend),
	CALL(flock),
	CALL(fcntl),
	CALL(fsync),
	CALL(fdatasync),
	CALL(openat),
	CALL(ioctl),
	CALL(io_uring_enter),
	CALL(io_getevents),
	CALL(msgrcv),
	CALL(msgsnd),
	CALL(semop),
	CALL(semtimedop),
	CALL(mq_timedreceive),
	CALL(mq_timedsend),
	CALL(splice),
	CALL(sendfile),
	CALL(getrandom),
	CALL(restart_syscall),
};

const char *ct_thread_wait_call(int64_t number)
{
	static char text[40];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	snprintf(text, sizeof(text), "system call %" PRId64, number);
	return text;
}

/* The fields for the values of labels. */
static const struct {
	const char *key;
	size_t at;
	bool text;
} labels[] = {
#define TEXT(key, field)                                                                           \
	{                                                                                          \
		key, offsetof(struct ct_thread_wait, field), true                                  \
	}
#define NUMBER(key, field)                                                                         \
	{                                                                                          \
		key, offsetof(struct ct_thread_wait, field), false                                 \
	}
	TEXT("thread", name),
	TEXT("state", state),
	TEXT("wait", cause),
	TEXT("lock", lock),
	TEXT("lock_kind", lock_kind),
	TEXT("kind", kind),
	TEXT("target", target),
	TEXT("child_name", child_name),
	NUMBER("tid", tid),
	NUMBER("syscall", call),
	NUMBER("holder", holder),
	NUMBER("readers", readers),
	NUMBER("joined", joined),
	NUMBER("fd", fd),
	NUMBER("descriptors", descriptors),
	NUMBER("child", child),
	NUMBER("deadlock", deadlock),
};

static void take_label(struct ct_thread_wait *w, const struct ct_profile *p,
		       const struct ct_label *l)
{
	const char *key = ct_text(p, l->key);

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		void *to = (char *)w + labels[i].at;

		if (strcmp(labels[i].key, key) != 0)
			continue;
		if (labels[i].text)
			*(const char **)to = ct_text(p, l->text);
		else
			*(int64_t *)to = l->number;
	}
}

struct ct_thread_wait ct_thread_wait_of(const struct ct_profile *p, const struct ct_sample *s)
{
	const struct ct_label_set *set = &p->label_sets[s->label_set];
	struct ct_thread_wait w = { .sample = s,
				    .name = "",
				    .state = "unknown",
				    .cause = "",
				    .lock = "",
				    .lock_kind = "",
				    .kind = "",
				    .target = "",
				    .child_name = "",
				    .tid = 0,
				    .call = -1,
				    .holder = -1,
				    .readers = -1,
				    .joined = -1,
				    .fd = -1,
				    .descriptors = -1,
				    .child = -1,
				    .deadlock = -1 };

	for (uint32_t i = 0; i < set->count; i++)
		take_label(&w, p, &p->labels[set->first + i]);
	return w;
}

/* ---- text ---- */

struct words {
	FILE *to;
	const struct ct_thread_wait *others;
	size_t count;
};

static void put_thread(const struct words *o, int64_t tid)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->others[i].tid == tid) {
			fprintf(o->to, "%s(%" PRId64 ")", o->others[i].name, tid);
			return;
		}
	fprintf(o->to, "thread %" PRId64 ", which is none of this process", tid);
}

static void put_holder(const struct words *o, const struct ct_thread_wait *w)
{
	if (w->holder > 0 && w->holder == w->tid) {
		fputs(", which it holds itself", o->to);
	} else if (w->holder > 0) {
		fputs(", held by ", o->to);
		put_thread(o, w->holder);
	} else if (w->readers > 0) {
		fprintf(o->to, ", held by %" PRId64 " reader%s", w->readers,
			w->readers == 1 ? "" : "s");
	}
}

static const char *lock_word(const char *kind)
{
	static const char *const words[][2] = { { "rwlock", "read-write lock" },
						{ "libc", "a lock of libc," } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i][0], kind))
			return words[i][1];
	return *kind ? kind : "lock";
}

static void put_lock(const struct words *o, const struct ct_thread_wait *w)
{
	fprintf(o->to, "for %s %s", lock_word(w->lock_kind), w->lock);
	put_holder(o, w);
}

static void put_descriptor(const struct words *o, const struct ct_thread_wait *w)
{
	fprintf(o->to, "%s", *w->kind ? w->kind : "a descriptor");
	if (w->fd >= 0)
		fprintf(o->to, ", fd %" PRId64, w->fd);
	if (*w->target)
		fprintf(o->to, " (%s)", w->target);
}

static void put_child(const struct words *o, const struct ct_thread_wait *w)
{
	if (w->child <= 0)
		fputs("for a child", o->to);
	else if (*w->child_name)
		fprintf(o->to, "for child %s(%" PRId64 ")", w->child_name, w->child);
	else
		fprintf(o->to, "for child %" PRId64, w->child);
}

/* Puts a cause that has no descriptor. */
static void put_cause(const struct words *o, const struct ct_thread_wait *w)
{
	static const char *const words[][2] = {
		{ "sleep", "for time to pass" },    { "thread", "for the end of a thread" },
		{ "semaphore", "for a semaphore" }, { "signal", "for a signal" },
		{ "disk", "for the disk" },	    { "lock", "for a lock" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i][0], w->cause))
			fputs(words[i][1], o->to);
}

static void put_wait(const struct words *o, const struct ct_thread_wait *w)
{
	if (*w->lock) {
		put_lock(o, w);
	} else if (w->joined > 0) {
		fputs("for the end of ", o->to);
		put_thread(o, w->joined);
	} else if (!strcmp(w->cause, "child")) {
		put_child(o, w);
	} else if (w->descriptors > 1) {
		fprintf(o->to, "for one of %" PRId64 " descriptors", w->descriptors);
	} else if (w->descriptors == 1 && w->fd < 0) {
		fputs("for a descriptor", o->to);
	} else if (w->fd >= 0) {
		fputs(!strcmp(w->cause, "lock")	  ? "for a lock of "
		      : !strcmp(w->cause, "poll") ? "for "
						  : "on ",
		      o->to);
		put_descriptor(o, w);
	} else {
		put_cause(o, w);
	}
}

char *ct_thread_wait_text(const struct ct_thread_wait *w, const struct ct_thread_wait *others,
			  size_t count)
{
	struct words o = { NULL, others, count };
	char *text = NULL;
	size_t size = 0;

	o.to = open_memstream(&text, &size);
	if (!o.to)
		return NULL;
	put_wait(&o, w);
	if (fclose(o.to) == 0 && size)
		return text;
	free(text);
	return NULL;
}
