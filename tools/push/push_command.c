/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof push TARGET -- COMMAND`: starts it under the library, follows it and its descendants, and
 * ends as it does; see push.h.
 *
 * Their files go to a directory of ours. The profiles of processes that were too short to be
 * followed are pushed from there. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "push/push.h"
#include "verbs/verbs.h"

struct command {
	struct ct_push push;
	char *directory;
	char *settings[2 * CT_MODES + 4];
	unsigned count;
};

static void set_variable(struct command *c, char *setting)
{
	c->settings[c->count++] = setting;
}

static bool is_of_command(const struct cp_control_message *status, void *arg)
{
	const struct command *c = arg;

	for (int m = 0; m < CT_MODES; m++) {
		char *key = ct_memory_printf("%s.path", ct_control_modes[m].name);
		char *path = ct_control_value(status, key);
		size_t n = strlen(c->directory);
		bool is = path && !strncmp(path, c->directory, n) && path[n] == '/';

		free(path);
		free(key);
		if (is)
			return true;
	}
	return false;
}

/* Pushes files of processes that have ended without being followed. */
static void push_files(struct command *c, bool all)
{
	struct ct_push_files f = ct_push_files_list(c->directory, "");

	for (size_t i = 0; i < f.count; i++) {
		char *path = ct_memory_printf("%s/%s", c->directory, f.items[i].name);
		struct ct_profile *p = all ? NULL : ct_push_follow_ended_read(path);
		int pid = p ? ct_push_follow_ended_pid(p) : 0;

		if (all || (pid > 0 && kill(pid, 0) && errno == ESRCH)) {
			ct_push_follow_file(c->push.follow, path);
			unlink(path);
		}
		ct_model_free(p);
		free(path);
	}
	ct_push_files_release(&f);
}

static bool look_at_command(struct ct_push *p, void *arg)
{
	ct_push_follow_all(p->follow, true, is_of_command, arg);
	push_files(arg, false);
	return true;
}

static void *follow(void *arg)
{
	struct command *c = arg;

	ct_push_loop(&c->push, look_at_command, c);
	return NULL;
}

static int prepare_command(struct command *c, const char *program)
{
	const char *tmp = getenv("TMPDIR");
	char *preload = ct_preload_setting("push", program);

	if (!preload)
		return -1;
	set_variable(c, preload);
	c->directory = ct_memory_printf("%s/cprof-push.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(c->directory)) {
		fprintf(stderr, "cprof push: %s: %s; TMPDIR names another directory\n",
			c->directory, strerror(errno));
		return -1;
	}
	for (int m = 0; m < CT_MODES; m++) {
		if (!ct_mode_options[m].value)
			continue;
		set_variable(c, ct_memory_printf("%s=%s/%s.pb", ct_control_modes[m].path,
						 c->directory, ct_control_modes[m].name));
		if (*ct_mode_options[m].value)
			set_variable(c, ct_memory_printf("%s=%s", ct_control_modes[m].setting,
							 ct_mode_options[m].value));
	}

	set_variable(c, ct_memory_strdup("CPROF_SYMBOLIZE=names"));
	return 0;
}

/* Signals are for the first thread alone, which passes them on to the command. */
static int start_thread(pthread_t *thread, struct command *c)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, follow, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int run_it(struct command *c, const char *program, char **argv)
{
	char *const none[] = { NULL };
	const uint64_t one = 1;
	struct ct_ended end;
	pthread_t thread;
	bool breaks;
	char *why = ct_preload_obstacle(program, &breaks);
	int error;

	if (why)
		fprintf(stderr, "cprof: nothing will be pushed: %s\n", why);
	free(why);
	error = start_thread(&thread, c);
	if (error)
		return ct_mode_options_cannot_run(argv, error);
	error = ct_run_command(program, argv, breaks ? none : c->settings, 0, &end);
	if (write(c->push.end, &one, sizeof(one)) < 0)
		fprintf(stderr, "cprof push: %s\n", strerror(errno));
	pthread_join(thread, NULL);
	push_files(c, true);
	ct_push_end(&c->push);
	if (error || end.error)
		return ct_mode_options_cannot_run(argv, error ? -error : end.error);
	return ct_run_command_end_like(&end);
}

int ct_push_command(const struct ct_push_how *how, char **argv)
{
	struct command c = { .count = 0 };
	char *program = ct_preload_program(argv[0]);
	int status = CT_FAILED;

	if (!program)
		return ct_mode_options_cannot_run(argv, errno);
	how->follow->takes_files = true;
	if (!prepare_command(&c, program) && !ct_push_begin(&c.push, how, false))
		status = run_it(&c, program, argv);
	if (c.directory)
		rmdir(c.directory);
	for (unsigned i = 0; i < c.count; i++)
		free(c.settings[i]);
	free(c.directory);
	free(program);
	return status;
}
