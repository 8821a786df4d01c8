/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes its credentials as daemons do that give up root but keep a part of it. Linux keeps them
 * for each thread; libc changes those of all threads, and aborts where that fails in one thread and
 * not in another.
 */
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "host.h"
#include "tasks.h"
#include "had-thread.h"

#define NOBODY 65534

int capset(cap_user_header_t header, const cap_user_data_t data);

static void keep(unsigned capabilities, int by_number)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { capabilities, capabilities, 0 }, { 0, 0, 0 } };

	EXPECT((by_number ? (int)syscall(SYS_capset, &h, d) : capset(&h, d)) == 0);
}

/* As setpriv and ntpd do. */
static void keep_over_setuid(void)
{
	EXPECT(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
	EXPECT(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	keep(1u << CAP_SETGID, 0);
	EXPECT(setgroups(0, NULL) == 0);
	EXPECT(setresgid(NOBODY, NOBODY, NOBODY) == 0);
}

static void drop_first(int by_number)
{
	keep(1u << CAP_SETGID, by_number);
	EXPECT(setresgid(NOBODY, NOBODY, NOBODY) == 0);
	EXPECT(setuid(NOBODY) == -1 && errno == EPERM);
}

/* By number it is for the calling thread alone; and then as everybody does. */
static void by_number(void)
{
	EXPECT(syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) == 0);
	EXPECT(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0);
	EXPECT(setuid(0) == -1 && errno == EPERM);
	EXPECT(setgid(0) == -1 && errno == EPERM);
}

static void bounded(void)
{
	EXPECT(prctl(PR_SET_SECUREBITS, 1 << 2 /* no setuid fixup */, 0, 0, 0) == 0);
	EXPECT(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	EXPECT(setresgid(NOBODY, NOBODY, NOBODY) == 0);
}

/* The effective capabilities, ids and groups of a thread, as /proc has them. */
static void read_credentials(const char *tid, char *to, size_t size)
{
	char path[300], line[200];
	FILE *f;

	*to = '\0';
	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid:", 4) || !strncmp(line, "Gid:", 4) ||
		    !strncmp(line, "Groups:", 7) || !strncmp(line, "CapEff:", 7))
			strncat(to, line, size - strlen(to) - 1);
	if (f)
		fclose(f);
}

/* Every thread of the process has what this one has. One that has just ended has nothing. */
static int all_alike(void)
{
	char mine[600], others[600], self[32];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int alike = 1;

	snprintf(self, sizeof(self), "%d", getpid());
	read_credentials(self, mine, sizeof(mine));
	while (tasks && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		read_credentials(entry->d_name, others, sizeof(others));
		alike &= !*others || !strcmp(mine, others);
	}
	if (tasks)
		closedir(tasks);
	return alike;
}

/* Ours follows soon, not at once: its task ends, and another is made. At most 20 s. */
static void wait_until_alike(int tasks)
{
	int settled = 0;

	for (int i = 0; i < 2000 && !settled; i++) {
		settled = count_tasks() == tasks && all_alike();
		if (!settled)
			usleep(10000);
	}
	EXPECT(settled);
}

static void change_nothing(int times)
{
	for (int i = 0; i < times; i++)
		EXPECT(syscall(SYS_setresuid, -1, -1, -1) == 0);
}

static void *act_for_nobody(void *unused)
{
	(void)unused;
	change_nothing(20);
	EXPECT(syscall(SYS_setresuid, -1, NOBODY, -1) == 0);
	return NULL;
}

/* As file servers do, each of whose threads acts for a user, while main does as well. Main's
 * rights stay, and all of the threads that libc knows have them. Ours has the groups at last. */
static void in_threads(void)
{
	gid_t group = NOBODY;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		EXPECT(pthread_create(&threads[i], NULL, act_for_nobody, NULL) == 0);
	change_nothing(20);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* The last change is a thread's. */
	EXPECT(pthread_create(&threads[0], NULL, act_for_nobody, NULL) == 0);
	pthread_join(threads[0], NULL);
	EXPECT(setgroups(1, &group) == 0);
}

/* A dump is requested when our task is about to end. */
static void with_dumps(void)
{
	for (int i = 0; i < 10; i++) {
		raise(SIGUSR2);
		change_nothing(1);
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int tasks;

	burn(0.05);
	if (argc > 2 && !strcmp(argv[2], "threaded"))
		have_a_thread();
	tasks = count_tasks();
	if (!strcmp(way, "keep"))
		keep_over_setuid();
	else if (!strcmp(way, "drop"))
		drop_first(0);
	else if (!strcmp(way, "drop-by-number"))
		drop_first(1);
	else if (!strcmp(way, "by-number"))
		by_number();
	else if (!strcmp(way, "threads"))
		in_threads();
	else if (!strcmp(way, "dumps"))
		with_dumps();
	else
		bounded();
	wait_until_alike(tasks);
	burn(0.05);
	printf("done\n");
	HOST_END();
}
