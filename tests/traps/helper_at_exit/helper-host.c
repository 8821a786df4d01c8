/* SPDX-License-Identifier: BSD-3-Clause */
/* For the traps of the helper at exit: a program that uses some CPU and ends in the way that it is
 * told, while it looks for children that aren't its own. A thread writes each finding to descriptor
 * 1 at once.
 *
 *   helper-host return|exit|_exit|quick|term|segv|vfork|chroot DIR|group|family [subreaper]
 */
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "host.h"

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(99);
}

static void on_child(int sig)
{
	say("SIGCHLD\n");
}

/* As the program was started. */
static void check_oom_score(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "r");
	int score = 0;

	if (f && fscanf(f, "%d", &score) == 1 && score == 1000)
		say("the helper's oom_score_adj is ours\n");
	if (f)
		fclose(f);
}

/* Has no child, ever: each answer but "none" is a foreign one. */
static void *look_for_children(void *arg)
{
	for (;;) {
		if (waitpid(-1, NULL, WNOHANG) >= 0)
			say("a child that isn't ours\n");
		else if (errno != ECHILD)
			say("waitpid fails\n");
		check_oom_score();
		usleep(500);
	}
	return arg;
}

static void vfork_child(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(3);
	EXPECT(waitpid(pid, NULL, 0) == pid);
}

/* A process that a child leaves running is this one's to wait for, if it asked for that. */
static int family(void)
{
	int status = -1;
	pid_t pid = fork(), other;

	if (!pid) {
		burn(0.1);
		exit(3);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 3 << 8);
	burn(0.1);
	other = waitpid(-1, &status, 0);
	if (other >= 0)
		printf("process %d, status %x, isn't ours\n", (int)other, (unsigned)status);
	say("the end\n");
	return 7;
}

/* Is there a process of USER? */
static bool is_busy(uid_t user)
{
	DIR *processes = opendir("/proc");
	struct dirent *e;
	struct stat st;
	bool busy = false;

	while ((e = readdir(processes)))
		busy |= !fstatat(dirfd(processes), e->d_name, &st, 0) && st.st_uid == user &&
			atoi(e->d_name) > 0;
	closedir(processes);
	return busy;
}

#define USER 54321

/* A child with a process group of its own; OTHER: as another user. Neither has a process once the
 * child is gone. */
static void leave_child(bool other)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		if (other && setresuid(USER, USER, USER))
			_exit(77);
		burn(0.1);
		exit(3);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 3 << 8);
	EXPECT(kill(-pid, 0) && errno == ESRCH);
	EXPECT(!is_busy(USER));
}

static int group(void)
{
	leave_child(false);
	if (!geteuid())
		leave_child(true);
	say("the end\n");
	return 7;
}

static void enter(const char *directory)
{
	if (chroot(directory) || chdir("/"))
		_exit(77);
}

static int end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick"))
		quick_exit(7);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	return 7;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	signal(SIGALRM, SIG_IGN);
	if (!strcmp(how, "vfork"))
		vfork_child();
	if (!strcmp(argv[argc - 1], "subreaper"))
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!strcmp(how, "family"))
		return family();
	if (!strcmp(how, "group"))
		return group();
	signal(SIGCHLD, on_child);
	pthread_create(&thread, NULL, look_for_children, NULL);
	burn(0.1);
	if (!strcmp(how, "chroot"))
		enter(argv[2]);
	say("the end\n");
	return end(how);
}
