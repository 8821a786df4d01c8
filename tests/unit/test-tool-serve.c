/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof serve, without its server: paths, addresses, which modes must be on, and dumps that wait
 * for a later request.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "serve/serve.h"
#include "serve/serve_listen.h"
#include "serve/serve_modes.h"
#include "serve/serve_route.h"
#include "serve/serve_store.h"

static void check_route(const char *path, enum ct_serve_what what, int pid, const char *kind)
{
	struct ct_serve_route r = ct_serve_route_of(path);

	if (r.what != what || r.pid != pid || !r.kind != !kind ||
	    (kind && strcmp(r.kind->name, kind)))
		printf("# %s: %d, pid %d, %s\n", path, r.what, r.pid, r.kind ? r.kind->name : "-");
	CHECK_EQ(r.what, what);
	CHECK_EQ(r.pid, pid);
	CHECK_STR(r.kind ? r.kind->name : "-", kind ? kind : "-");
}

static void test_paths_are_those_of_go(void)
{
	check_route("/", CT_SERVE_HOME, 0, NULL);
	check_route("/metrics", CT_SERVE_METRICS, 0, NULL);
	check_route("/targets", CT_SERVE_TARGETS, 0, NULL);
	check_route("/debug/pprof", CT_SERVE_MOVED, 0, NULL);
	check_route("/debug/pprof/", CT_SERVE_INDEX, 0, NULL);
	check_route("/debug/pprof/heap", CT_SERVE_PROFILE, 0, "heap");
	check_route("/debug/pprof/delta_mutex", CT_SERVE_PROFILE, 0, "delta_mutex");
	check_route("/debug/fgprof", CT_SERVE_PROFILE, 0, "fgprof");
	check_route("/debug/pprof/fgprof", CT_SERVE_NOTHING, 0, NULL);
	check_route("/debug/pprof/heap/", CT_SERVE_NOTHING, 0, NULL);
	check_route("/debug/pproff", CT_SERVE_NOTHING, 0, NULL);
	check_route("/pid/12/debug/pprof/block", CT_SERVE_PROFILE, 12, "block");
	check_route("/pid/12/flame", CT_SERVE_FLAME, 12, NULL);
	check_route("/pid/12", CT_SERVE_MOVED, 12, NULL);
	check_route("/pid/012/flame", CT_SERVE_NOTHING, 0, NULL);
	check_route("/pid/-1/flame", CT_SERVE_NOTHING, 0, NULL);
	check_route("/pid/99999999999999999999/flame", CT_SERVE_NOTHING, 0, NULL);
	check_route("/pid/4294967297/flame", CT_SERVE_NOTHING, 0, NULL);
	check_route("", CT_SERVE_NOTHING, 0, NULL);
}

static void test_seconds_are_whole_and_positive(void)
{
	long n = 7;

	CHECK(!ct_serve_route_seconds(NULL, &n) && !ct_serve_route_seconds("", &n));
	CHECK(!ct_serve_route_seconds("0", &n) && !ct_serve_route_seconds("-1", &n));
	CHECK(!ct_serve_route_seconds("1.5", &n) && !ct_serve_route_seconds("1s", &n));
	CHECK(!ct_serve_route_seconds(" 1", &n));
	CHECK(!ct_serve_route_seconds("99999999999999999999", &n));
	CHECK_EQ(n, 7);
	CHECK(ct_serve_route_seconds("30", &n));
	CHECK_EQ(n, 30);
	CHECK(ct_serve_route_seconds("+3", &n)); /* as strconv.ParseInt has it */
	CHECK_EQ(n, 3);
}

static void check_split(const char *where, const char *host, const char *port)
{
	char h[256], p[8];

	CHECK(ct_serve_listen_split(where, h, p));
	CHECK_STR(h, host);
	CHECK_STR(p, port);
}

static void test_addresses(void)
{
	char h[256], p[8];

	check_split("localhost:80", "localhost", "80");
	check_split(":8080", "", "8080");
	check_split("8080", "127.0.0.1", "8080");
	check_split("[::1]:0", "::1", "0");
	check_split("[::1]", "::1", "6060");
	check_split("profiles", "profiles", "6060");
	CHECK(!ct_serve_listen_split("::1", h, p));
	CHECK(!ct_serve_listen_split("host:", h, p));
	CHECK(!ct_serve_listen_split("host:65536", h, p));
	CHECK(!ct_serve_listen_split("http://host:80", h, p));
	CHECK(!ct_serve_listen_split("", h, p));
}

static void test_a_foreign_host_name_is_refused(void)
{
	CHECK(ct_serve_listen_knows(NULL, "127.0.0.1"));
	CHECK(ct_serve_listen_knows("127.0.0.1:6060", "127.0.0.1"));
	CHECK(ct_serve_listen_knows("10.1.2.3", ""));
	CHECK(ct_serve_listen_knows("[fe80::1]:6060", ""));
	CHECK(ct_serve_listen_knows("LocalHost:6060", "127.0.0.1"));
	CHECK(ct_serve_listen_knows("profiles.example:6060", "profiles.example"));
	CHECK(!ct_serve_listen_knows("evil.example", "127.0.0.1"));
	CHECK(!ct_serve_listen_knows("127.0.0.1.evil.example:6060", "127.0.0.1"));
	CHECK(!ct_serve_listen_knows("", "127.0.0.1"));
}

static void test_a_mode_stays_on_while_somebody_needs_it(void)
{
	double lease;
	const char *mode;
	int pid;

	CHECK(ct_serve_modes_take(5, "cpu", 100, 110, &lease));
	CHECK_EQ(lease, 10 + CT_SERVE_GRACE);
	/* The second one's dump must not cut the first one's lease. */
	CHECK(ct_serve_modes_take(5, "cpu", 101, 102, &lease));
	CHECK_EQ(lease, 9 + CT_SERVE_GRACE);
	ct_serve_modes_release(5, "cpu", true, true, 103);
	CHECK(!ct_serve_modes_due(104, false, &pid, &mode));
	ct_serve_modes_release(5, "cpu", false, true, 110);
	CHECK(!ct_serve_modes_due(109, false, &pid, &mode));
	CHECK_EQ(ct_serve_modes_next(), 110);
	CHECK(ct_serve_modes_due(110, false, &pid, &mode));
	CHECK_EQ(pid, 5);
	CHECK_STR(mode, "cpu");
	/* While it is being turned off, nobody may count on it. */
	CHECK(!ct_serve_modes_take(5, "cpu", 111, 120, &lease));
	CHECK(!ct_serve_modes_due(112, true, &pid, &mode));
	ct_serve_modes_ended(5, "cpu");
	CHECK(ct_serve_modes_take(5, "cpu", 113, 120, &lease));
	ct_serve_modes_release(5, "cpu", false, true, 113);
	CHECK(!ct_serve_modes_due(1000, true, &pid, &mode));
	/* A window that turned it on also ends it: another server may need it. */
	CHECK(ct_serve_modes_take(5, "cpu", 113, 120, &lease));
	ct_serve_modes_release(5, "cpu", true, false, 113);
	CHECK(!ct_serve_modes_due(1000, true, &pid, &mode));
}

static void test_a_short_request_does_not_end_what_is_kept(void)
{
	double lease;
	const char *mode;
	int pid;

	CHECK(ct_serve_modes_take(6, "heap", 0, 120, &lease));
	ct_serve_modes_release(6, "heap", true, true, 120);
	CHECK(ct_serve_modes_take(6, "heap", 10, 11, &lease));
	ct_serve_modes_release(6, "heap", false, true, 11);
	CHECK(!ct_serve_modes_due(119, false, &pid, &mode));
	CHECK(ct_serve_modes_due(119, true, &pid, &mode));
	ct_serve_modes_ended(6, "heap");
}

static int dump(void)
{
	return memfd_create("dump", MFD_CLOEXEC);
}

static void test_dumps_are_found_by_age(void)
{
	int old = dump(), young = dump(), other = dump();

	ct_serve_store_put("a", 10, old, 0);
	ct_serve_store_put("a", 60, young, 0);
	ct_serve_store_put("b", 61, other, 1);
	CHECK_EQ(ct_serve_store_find("a", 75, 60, 90), old);
	CHECK_EQ(ct_serve_store_find("a", 110, 60, 90), young);
	CHECK_EQ(ct_serve_store_find("a", 69, 60, 90), old);
	CHECK_EQ(ct_serve_store_find("a", 151, 60, 90), -1);
	CHECK_EQ(ct_serve_store_find("b", 151, 0, 1e9), other);
	CHECK_EQ(ct_serve_store_find("c", 151, 0, 1e9), -1);
	/* Alone: the others of its key go. */
	young = dump();
	ct_serve_store_put("a", 152, young, 1);
	CHECK_EQ(ct_serve_store_find("a", 152, 100, 1e9), young);
	CHECK_EQ(ct_serve_store_find("a", 152 + CT_SERVE_STORED_SECONDS + 1, 0, 1e9), -1);
}

static void test_the_store_is_bounded(void)
{
	char key[16];
	int big;

	for (int i = 0; i <= CT_SERVE_STORED + 5; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ct_serve_store_put(key, 2000, dump(), 1);
	}
	CHECK_EQ(ct_serve_store_find("5", 2000, 0, 1e9), -1);
	CHECK(ct_serve_store_find("6", 2000, 0, 1e9) >= 0);
	big = dump();
	CHECK(!ftruncate(big, CT_SERVE_STORED_BYTES - 1));
	ct_serve_store_put("big", 2001, big, 1);
	CHECK_EQ(ct_serve_store_find("big", 2001, 0, 1e9), big);
	big = dump();
	CHECK(!ftruncate(big, 2));
	ct_serve_store_put("last", 2001, big, 1);
	CHECK_EQ(ct_serve_store_find("big", 2001, 0, 1e9), -1);
	CHECK_EQ(ct_serve_store_find("last", 2001, 0, 1e9), big);
}

int main(void)
{
	RUN(test_paths_are_those_of_go);
	RUN(test_seconds_are_whole_and_positive);
	RUN(test_addresses);
	RUN(test_a_foreign_host_name_is_refused);
	RUN(test_a_mode_stays_on_while_somebody_needs_it);
	RUN(test_a_short_request_does_not_end_what_is_kept);
	RUN(test_dumps_are_found_by_age);
	RUN(test_the_store_is_bounded);
	return harness_end();
}
