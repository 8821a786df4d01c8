/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests over the control socket are checked; replies are lines that always end. */
#include "harness.h"

#include "collect/collect.h"

static struct cp_control_message m;

static void make(unsigned request, unsigned size)
{
	m = (struct cp_control_message){ .magic = CP_CONTROL_MAGIC,
					 .version = CP_CONTROL_VERSION,
					 .request = (uint16_t)request,
					 .size = size };
}

TEST(test_requests_of_the_right_form_are_taken)
{
	make(CP_CONTROL_STATUS, 0);
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), 0);
	make(CP_CONTROL_STATUS, CP_CONTROL_TEXT);
	CHECK_EQ(cp_control_socket_check(&m, sizeof(m)), 0);
}

TEST(test_anything_else_is_refused)
{
	make(CP_CONTROL_STATUS, 0);
	for (size_t n = 0; n < CP_CONTROL_HEADER; n++)
		CHECK_EQ(cp_control_socket_check(&m, n), -EBADMSG);
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER + 1), -EBADMSG);
	make(CP_CONTROL_STATUS, UINT32_MAX);
	CHECK_EQ(cp_control_socket_check(&m, sizeof(m)), -EBADMSG);
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER - 1), -EBADMSG);
	make(0, 0);
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), -EBADMSG);
	make(CP_CONTROL_REQUESTS, 0);
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), -EBADMSG);
	make(CP_CONTROL_STATUS, 0);
	m.result = -1;
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), -EBADMSG);
	make(CP_CONTROL_STATUS, 0);
	m.magic++;
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), -EBADMSG);
}

TEST(test_another_version_is_told_apart)
{
	make(CP_CONTROL_REQUESTS + 5, 7);
	m.version++;
	CHECK_EQ(cp_control_socket_check(&m, CP_CONTROL_HEADER), -EPROTO);
}

TEST(test_replies_are_lines)
{
	make(CP_CONTROL_STATUS, 5);
	cp_control_socket_reply(&m, -ESRCH);
	CHECK_EQ(m.result, -ESRCH);
	CHECK_EQ(m.size, 0);
	cp_control_socket_text(&m, "a", "b\n\x1b=\xc3\xa4");
	cp_control_socket_number(&m, "n", UINT64_MAX);
	CHECK_EQ(m.size, 9 + 23);
	CHECK(!memcmp(m.text,
		      "a=b?"
		      "?=\xc3\xa4\nn=18446744073709551615\n",
		      m.size));
}

TEST(test_lines_that_do_not_fit_are_left_out)
{
	static char value[CP_CONTROL_TEXT];

	memset(value, 'v', sizeof(value) - 1);
	cp_control_socket_reply(&m, 0);
	cp_control_socket_text(&m, "k", value);
	CHECK_EQ(m.size, 0);
	cp_control_socket_text(&m, "k", value + 2);
	CHECK_EQ(m.size, CP_CONTROL_TEXT);
	CHECK_EQ(m.text[CP_CONTROL_TEXT - 1], '\n');
	cp_control_socket_number(&m, "n", 1);
	CHECK_EQ(m.size, CP_CONTROL_TEXT);
}
