/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a thread in /proc. */
#include "harness.h"

#include <sys/prctl.h>

#include "base/sys.h"
#include "base/base.h"

/* No thread has this number: the kernel's limit is 2^22. */
#define NO_THREAD (1 << 23)

TEST(test_a_file_is_read_from_its_beginning)
{
	char text[8] = "xxxxxxx";

	CHECK_EQ(cp_thread_file_read(cp_sys_gettid(), "status", text, 6), 5);
	CHECK_STR(text, "Name:");
	CHECK_EQ(cp_thread_file_read(NO_THREAD, "status", text, 6), -ENOENT);
	CHECK_STR(text, "Name:");
}

TEST(test_a_name_fills_the_field)
{
	char name[16];

	memset(name, 'x', sizeof(name));
	cp_thread_file_name(NO_THREAD, name, sizeof(name));
	CHECK_EQ(name[15], 'x');
	prctl(PR_SET_NAME, "fifteen letters");
	cp_thread_file_name(cp_sys_gettid(), name, sizeof(name));
	CHECK_STR(name, "fifteen letters");
	prctl(PR_SET_NAME, "two\nlines");
	cp_thread_file_name(cp_sys_gettid(), name, sizeof(name));
	CHECK_STR(name, "two\nlines");
	for (size_t i = strlen(name); i < sizeof(name); i++)
		CHECK_EQ(name[i], 0);
	cp_thread_file_name(cp_sys_gettid(), name, 4);
	CHECK_STR(name, "two");
}

/* The room is half of the file or less, as if the process had hundreds of groups. */
TEST(test_the_end_of_a_long_status_is_kept)
{
	uint64_t blocked = 0, kept = CP_SIGBIT(SIGUSR1) | CP_SIGBIT(SIGPROF), n = 0;
	char whole[8192], text[512];

	CHECK(cp_thread_file_read(cp_sys_gettid(), "status", whole, sizeof(whole)) > 700);
	CHECK(cp_thread_file_status(cp_sys_gettid(), text, sizeof(text)));
	CHECK(strlen(text) >= sizeof(text) / 2);
	CHECK(cp_thread_file_number(text, "\nvoluntary_ctxt_switches:\t", 10, &n));
	CHECK(!cp_thread_file_number(text, "\nPid:\t", 10, &n));
	CHECK(!cp_thread_file_status(NO_THREAD, text, sizeof(text)));

	cp_sys_sigmask(SIG_SETMASK, &kept, NULL);
	CHECK(cp_thread_file_status(cp_sys_gettid(), whole, sizeof(whole)));
	CHECK(cp_thread_file_number(whole, "\nSigBlk:\t", 16, &blocked));
	CHECK_EQ(blocked, kept);
}
