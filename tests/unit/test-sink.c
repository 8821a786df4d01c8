/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole file by rename: the state of the disk after success, and after each failure. */
#include "harness.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sink-folder.h"
#include "output/pprof.h"

static struct cp_file_sink f;

static int put(const char *text)
{
	return f.sink.write(&f.sink, text, strlen(text));
}

TEST(test_file_appears_whole_and_private)
{
	struct stat st;
	mode_t old = umask(0);

	make_folder();
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK_EQ(put("one "), 0);
	CHECK_STR(text_of(at("a.pb")), "(none)");
	CHECK_EQ(put("two"), 0);
	CHECK_EQ(f.written, 7);
	CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
	CHECK_STR(text_of(at("a.pb")), "one two");
	CHECK(!stat(at("a.pb"), &st) && (st.st_mode & 07777) == 0600);
	umask(old);
	CHECK_EQ(entries(1), 1);
}

TEST(test_old_file_stays_until_close)
{
	make_folder();
	write_text(at("a.pb"), "old");
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK_EQ(put("new"), 0);
	CHECK_STR(text_of(at("a.pb")), "old");
	CHECK_EQ(entries(0), 2);
	CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
	CHECK_STR(text_of(at("a.pb")), "new");
	CHECK_EQ(entries(1), 1);
}

TEST(test_failure_keeps_the_old_file)
{
	make_folder();
	write_text(at("a.pb"), "old");
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK_EQ(put("half"), 0);
	CHECK_EQ(cp_sink_file_close(&f, true, true), 0);
	CHECK_STR(text_of(at("a.pb")), "old");
	CHECK_EQ(entries(1), 1);
}

TEST(test_path_that_can_not_be)
{
	char name[300];

	make_folder();
	write_text(at("file"), "");
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	CHECK_EQ(cp_sink_file_open(&f, "relative.pb"), -EINVAL);
	CHECK_EQ(cp_sink_file_open(&f, ""), -EINVAL);
	CHECK_EQ(cp_sink_file_open(&f, "/"), -EISDIR);
	CHECK_EQ(cp_sink_file_open(&f, folder), -EISDIR);
	CHECK_EQ(cp_sink_file_open(&f, at("")), -EISDIR);
	CHECK_EQ(cp_sink_file_open(&f, at("none/a.pb")), -ENOENT);
	CHECK_EQ(cp_sink_file_open(&f, at("file/a.pb")), -ENOTDIR);
	CHECK_EQ(cp_sink_file_open(&f, at(name)), -ENAMETOOLONG);
	name[255] = '\0';
	CHECK_EQ(cp_sink_file_open(&f, at(name)), 0); /* the temporary name is cut */
	CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
	CHECK_EQ(access(at(name), F_OK), 0);
	CHECK_EQ(entries(1), 2);
}

TEST(test_pipes_and_sockets_are_refused)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	make_folder();
	CHECK_EQ(mkfifo(at("fifo"), 0600), 0);
	CHECK_EQ(cp_sink_file_open(&f, at("fifo")), -EINVAL);
	strcpy(address.sun_path, at("socket"));
	CHECK_EQ(bind(s, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(cp_sink_file_open(&f, at("socket")), -EINVAL);
	close(s);
	CHECK_EQ(entries(1), 2);
}

TEST(test_nothing_below_dev_is_replaced)
{
	CHECK_EQ(cp_sink_file_open(&f, "/dev/stdout"), -EINVAL);
	CHECK_EQ(cp_sink_file_open(&f, "//dev/stdout"), -EINVAL);
	CHECK_EQ(cp_sink_file_open(&f, "/dev/a-name-that-is-not-there"), -EINVAL);
	CHECK_EQ(access("/dev/a-name-that-is-not-there", F_OK), -1);
}

TEST(test_link_is_replaced_not_followed)
{
	char target[512];
	struct stat st;

	make_folder();
	snprintf(target, sizeof(target), "%s", at("precious"));
	write_text(target, "precious");
	for (int dangling = 0; dangling < 2; dangling++) {
		CHECK_EQ(symlink(dangling ? "/none/at/all" : target, at("a.pb")), 0);
		CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
		CHECK_EQ(put("new"), 0);
		CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
		CHECK(!lstat(at("a.pb"), &st) && S_ISREG(st.st_mode));
		CHECK_STR(text_of(at("a.pb")), "new");
		CHECK_STR(text_of(target), "precious");
		unlink(at("a.pb"));
	}
	CHECK_EQ(entries(1), 1);
}

TEST(test_existing_file_is_kept_on_demand)
{
	make_folder();
	write_text(at("a.1"), "one");
	write_text(at("a.2"), "two");
	CHECK_EQ(cp_sink_file_open(&f, at("a.1")), 0);
	CHECK_EQ(put("three"), 0);
	CHECK_EQ(cp_sink_file_close(&f, false, false), -EEXIST);
	CHECK_EQ(cp_sink_file_rename(&f, at("a.2")), -EEXIST);
	CHECK_EQ(cp_sink_file_rename(&f, at("a.3")), 0);
	CHECK_STR(text_of(at("a.1")), "one");
	CHECK_STR(text_of(at("a.2")), "two");
	CHECK_STR(text_of(at("a.3")), "three");
	CHECK_EQ(entries(1), 3);
}

TEST(test_second_name_can_be_given_up)
{
	make_folder();
	write_text(at("a.1"), "one");
	CHECK_EQ(cp_sink_file_open(&f, at("a.1")), 0);
	CHECK_EQ(cp_sink_file_close(&f, false, false), -EEXIST);
	CHECK_EQ(entries(0), 2);
	cp_sink_file_close(&f, true, false);
	CHECK_EQ(entries(0), 1);
	CHECK_EQ(cp_sink_file_open(&f, at("a.1")), 0);
	CHECK_EQ(cp_sink_file_close(&f, false, false), -EEXIST);
	CHECK_EQ(cp_sink_file_rename(&f, at("none/a.2")), -ENOENT);
	CHECK_EQ(cp_sink_file_rename(&f, at("a.2")), -ENOENT);
	CHECK_EQ(entries(1), 1);
}

/* The name that the first try takes. */
static const char *temporary_name(const char *name)
{
	static char path[512];
	char base[64];

	snprintf(base, sizeof(base), ".%s.%d.tmp", name, (int)getpid());
	snprintf(path, sizeof(path), "%s", at(base));
	return path;
}

TEST(test_leftovers_of_other_dead_processes_are_removed)
{
	char gone[64], child[64], numbered[64], alive[64], locked[64];
	int pid = fork(), fd;

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	make_folder();
	snprintf(gone, sizeof(gone), ".a.pb.%d.tmp", pid);
	snprintf(child, sizeof(child), ".a.pb.12.2.%d-0a1b.tmp", pid);
	snprintf(numbered, sizeof(numbered), ".b-%d.pb.%d.tmp", pid, pid);
	snprintf(alive, sizeof(alive), ".a.pb.%d.tmp", (int)getppid());
	snprintf(locked, sizeof(locked), ".a.pb.3.%d.tmp", pid);
	write_text(at(gone), "left over");
	write_text(at(child), "left over");
	write_text(at(numbered), "left over");
	write_text(at(alive), "is written");
	write_text(at(locked), "is written in another container");
	write_text(at(".a.pbx.1.tmp"), "another file");
	fd = open(at(locked), O_RDONLY);
	flock(fd, LOCK_EX);
	cp_sink_file_sweep(at("a.pb"));
	CHECK(access(at(gone), F_OK) && access(at(child), F_OK));
	CHECK(!access(at(alive), F_OK) && !access(at(locked), F_OK));
	CHECK(!access(at(numbered), F_OK) && !access(at(".a.pbx.1.tmp"), F_OK));
	snprintf(child, sizeof(child), "b-%d.pb", (int)getpid());
	cp_sink_file_sweep(at(child));
	CHECK(access(at(numbered), F_OK));
	close(fd);
}

/* Of another container, say, where we are process 1 as well. */
TEST(test_temporary_file_of_a_live_process_stays)
{
	static struct cp_file_sink other;

	make_folder();
	CHECK_EQ(cp_sink_file_open(&other, at("a.pb")), 0);
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK(strcmp(f.temporary, other.temporary));
	CHECK_EQ(put("second"), 0);
	CHECK_EQ(other.sink.write(&other.sink, "first", 5), 0);
	CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
	CHECK_STR(text_of(at("a.pb")), "second");
	CHECK_EQ(cp_sink_file_close(&other, false, true), 0);
	CHECK_STR(text_of(at("a.pb")), "first");
	CHECK_EQ(entries(1), 1);
}

TEST(test_link_in_the_temporary_place_is_not_followed)
{
	char target[512];

	make_folder();
	snprintf(target, sizeof(target), "%s", at("precious"));
	write_text(target, "precious");
	CHECK_EQ(symlink(target, temporary_name("a.pb")), 0);
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK_EQ(put("new"), 0);
	CHECK_EQ(cp_sink_file_close(&f, false, true), 0);
	CHECK_STR(text_of(at("a.pb")), "new");
	CHECK_STR(text_of(target), "precious");
	CHECK_EQ(entries(1), 3);
}

TEST(test_descriptor_is_not_the_lowest)
{
	int fd, lowest = dup(1);

	close(lowest);
	make_folder();
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	fd = dup(1);
	CHECK_EQ(fd, lowest);
	close(fd);
	CHECK_EQ(cp_sink_file_close(&f, true, true), 0);
}

TEST(test_descriptor_that_became_another_file_is_left_alone)
{
	int fd;

	make_folder();
	CHECK_EQ(cp_sink_file_open(&f, at("a.pb")), 0);
	CHECK_EQ(put("profile"), 0);
	/* As a program does that closes all it has not opened. */
	close(f.fd);
	fd = open(at("database"), O_RDWR | O_CREAT, 0600);
	CHECK_EQ(dup2(fd, f.fd), f.fd);
	close(fd);
	fd = f.fd;
	CHECK_EQ(put("profile"), -EBADF);
	CHECK_EQ(cp_sink_file_close(&f, false, true), -EBADF);
	CHECK_EQ(write(fd, "still open", 10), 10);
	CHECK_STR(text_of(at("database")), "still open");
	close(fd);
	CHECK_EQ(entries(1), 1);
}
