/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks where the kernel is not as it should be: filesystems without
 * exclusive rename or hard links, slow readers, interruptions, readers that leave. */
#include "harness.h"

#include <sys/time.h>

#include "sink-folder.h"
#include "base/base.h"
#include "output/pprof.h"

#define EXPECT CHECK
#include "deny.h"

#define CHILD_SKIPS 77

static struct cp_file_sink f;

/* Run BODY in a child, which reports by its exit status. */
static int in_child(int (*body)(void))
{
	int status, pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(body());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* 0 when a new name works and an old one is refused. */
static int write_without_replacing(void)
{
	write_text(at("old"), "old");
	if (cp_sink_file_open(&f, at("old")) || f.sink.write(&f.sink, "new", 3))
		return 2;
	if (cp_sink_file_close(&f, false, false) != -EEXIST)
		return 3;
	if (cp_sink_file_rename(&f, at("new")))
		return 4;
	if (strcmp(text_of(at("old")), "old") || strcmp(text_of(at("new")), "new"))
		return 5;
	return entries(0) == 2 ? 0 : 6;
}

static int without_exclusive_rename(void)
{
	return !deny_call_as(SYS_renameat2, SECCOMP_RET_ERRNO | EINVAL) ? CHILD_SKIPS
									: write_without_replacing();
}

static int without_links_either(void)
{
	return !deny_call_as(SYS_renameat2, SECCOMP_RET_ERRNO | ENOSYS) ||
			       !deny_call_as(SYS_linkat, SECCOMP_RET_ERRNO | EPERM)
		       ? CHILD_SKIPS
		       : write_without_replacing();
}

TEST(test_links_stand_in_for_exclusive_rename)
{
	int r;

	make_folder();
	r = in_child(without_exclusive_rename);
	entries(1);
	if (r == CHILD_SKIPS)
		SKIP("no seccomp here");
	CHECK_EQ(r, 0);
}

TEST(test_claimed_names_stand_in_for_links)
{
	int r;

	make_folder();
	r = in_child(without_links_either);
	entries(1);
	if (r == CHILD_SKIPS)
		SKIP("no seccomp here");
	CHECK_EQ(r, 0);
}

static int without_fsync(void)
{
	if (!deny_call_as(SYS_fsync, SECCOMP_RET_ERRNO | EINVAL))
		return CHILD_SKIPS;
	write_text(at("a"), "old");
	return cp_sink_file_open(&f, at("a")) || cp_sink_file_close(&f, false, true) ||
	       access(at("a"), F_OK);
}

static int with_broken_disk(void)
{
	if (!deny_call_as(SYS_fsync, SECCOMP_RET_ERRNO | EIO))
		return CHILD_SKIPS;
	write_text(at("a"), "old");
	return cp_sink_file_open(&f, at("a")) || cp_sink_file_close(&f, false, true) != -EIO ||
	       strcmp(text_of(at("a")), "old");
}

/* The disk is not waited for. */
static int with_a_new_name(void)
{
	if (!deny_call_as(SYS_fsync, SECCOMP_RET_ERRNO | EIO))
		return CHILD_SKIPS;
	return cp_sink_file_open(&f, at("a")) || f.sink.write(&f.sink, "new", 3) ||
	       cp_sink_file_close(&f, false, true) || strcmp(text_of(at("a")), "new");
}

TEST(test_fsync_fails_only_for_a_reason)
{
	int r;

	make_folder();
	r = in_child(without_fsync);
	if (r != CHILD_SKIPS)
		CHECK_EQ(r, 0);
	unlink(at("a"));
	CHECK_EQ(in_child(with_broken_disk), r);
	unlink(at("a"));
	CHECK_EQ(in_child(with_a_new_name), r);
	entries(1);
	if (r == CHILD_SKIPS)
		SKIP("no seccomp here");
}

static volatile sig_atomic_t raised;

static void count_signal(int sig)
{
	raised++;
}

TEST(test_reader_that_left_raises_no_signal)
{
	sigset_t pipe_only, pending;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	signal(SIGPIPE, count_signal);
	CHECK_EQ(cp_fdwrite_all(p[1], "x", 1, true), -EPIPE);
	CHECK_EQ(raised, 0);
	/* One that the program itself holds back is still there afterwards. */
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
	pthread_kill(pthread_self(), SIGPIPE);
	CHECK_EQ(cp_fdwrite_all(p[1], "x", 1, true), -EPIPE);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGPIPE));
	pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
	CHECK_EQ(raised, 1);
	signal(SIGPIPE, SIG_DFL);
	close(p[1]);
}

struct reader {
	int fd;
	size_t bytes;
	unsigned sum;
};

static void *read_slowly(void *arg)
{
	struct reader *r = arg;
	unsigned char part[3000];
	ssize_t n;

	while (usleep(1000), (n = read(r->fd, part, sizeof(part))) > 0) {
		r->bytes += (size_t)n;
		for (ssize_t i = 0; i < n; i++)
			r->sum = r->sum * 31 + part[i];
	}
	return NULL;
}

/* All bytes arrive through a pipe that is too small for them, with FLAGS on it. */
static void check_slow_pipe(int flags)
{
	static unsigned char data[300000];
	struct reader r = { 0 };
	unsigned sum = 0;
	pthread_t t;
	int p[2];

	for (size_t i = 0; i < sizeof(data); i++)
		sum = sum * 31 + (data[i] = (unsigned char)(i * 7 + i / 251));
	CHECK_EQ(pipe2(p, flags), 0);
	fcntl(p[0], F_SETFL, 0);
	r.fd = p[0];
	pthread_create(&t, NULL, read_slowly, &r);
	CHECK_EQ(cp_fdwrite_all(p[1], data, sizeof(data), true), 0);
	close(p[1]);
	pthread_join(t, NULL);
	close(p[0]);
	CHECK_EQ(r.bytes, sizeof(data));
	CHECK_EQ(r.sum, sum);
}

TEST(test_descriptor_that_does_not_block_is_waited_for)
{
	check_slow_pipe(O_NONBLOCK);
}

TEST(test_interruptions_lose_nothing)
{
	struct sigaction sa = { .sa_handler = count_signal }; /* no SA_RESTART */
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };

	raised = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	check_slow_pipe(0);
	check_slow_pipe(O_NONBLOCK);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(raised > 10);
}
