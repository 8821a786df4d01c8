/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof serve, without its server: paths, addresses, and windows that wait for a later request. */
#include <math.h>

#include "core/model.h"
#include "harness.h"
#include "output/output.h"
#include "serve/serve.h"

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

TEST(test_paths_are_those_of_go)
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

TEST(test_seconds_are_whole_and_positive)
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

TEST(test_addresses)
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

TEST(test_a_foreign_host_name_is_refused)
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

static struct ct_serve_window *take(const char *key, bool shared)
{
	return ct_serve_windows_take(key, 5, "cpu", shared);
}

TEST(test_a_window_waits_for_its_client)
{
	struct ct_serve_window *w = take("a", false), *other;
	uint64_t consumer = w->id.consumer;

	CHECK(consumer != 0);
	/* While one request has it, the next one waits. */
	CHECK(!take("a", false));
	ct_serve_windows_release(w, 110);
	other = ct_serve_windows_take("a", 6, "cpu", false);
	CHECK(other != w && other->id.consumer != consumer);
	ct_serve_windows_release(other, -1);
	w = take("a", false);
	CHECK_EQ(w->id.consumer, consumer);
	/* A request that failed doesn't end it earlier. */
	ct_serve_windows_release(w, -1);
	CHECK(!ct_serve_windows_due(109, false));
	CHECK_EQ(ct_serve_windows_next(), 110);
	CHECK(ct_serve_windows_due(110, false) == w);
	/* While it ends, nobody may count on it. */
	CHECK(!take("a", false) && !ct_serve_windows_due(200, true));
	ct_serve_windows_ended(w);
	w = take("a", false);
	CHECK(w->id.consumer != consumer);
	ct_serve_windows_release(w, -1);
	CHECK(!ct_serve_windows_due(1000, true));
	CHECK_EQ(ct_serve_windows_next(), -1);
}

TEST(test_sums_share_a_window)
{
	struct ct_serve_window *one = take("sums", true), *two = take("sums", true);

	CHECK(one == two);
	ct_serve_windows_release(one, 120);
	CHECK(!ct_serve_windows_due(1000, true));
	ct_serve_windows_release(two, 90);
	CHECK(!ct_serve_windows_due(119, false));
	CHECK(ct_serve_windows_due(119, true) == one);
	ct_serve_windows_ended(one);
}

TEST(test_windows_of_one_request_are_apart)
{
	struct ct_serve_window *one = take(NULL, false), *two = take(NULL, false);

	CHECK(one != two && one->id.consumer != two->id.consumer);
	ct_serve_windows_release(one, -1);
	/* Its worker has died: it is ended at once. */
	ct_serve_windows_release(two, 100);
	CHECK(ct_serve_windows_due(100, false) == two);
	ct_serve_windows_ended(two);
}

static unsigned end_all(double now, bool all)
{
	struct ct_serve_window *w;
	unsigned ended = 0;

	for (; (w = ct_serve_windows_due(now, all)); ended++)
		ct_serve_windows_ended(w);
	return ended;
}

/* Keeps COUNT windows, called 0, 1, ... of MODE of process PID. */
static void keep(unsigned count, int pid, const char *mode)
{
	char key[16];

	for (unsigned i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "%u", i);
		CHECK(!ct_serve_windows_full(key, pid, mode));
		ct_serve_windows_release(ct_serve_windows_take(key, pid, mode, false), 1000);
	}
}

TEST(test_a_client_too_many_is_refused)
{
	int pid = getpid();

	keep(CT_SERVE_KEPT_OF_MODE, pid, "cpu");
	CHECK(ct_serve_windows_full("new", pid, "cpu"));
	CHECK(!ct_serve_windows_full("0", pid, "cpu") && !ct_serve_windows_full(NULL, pid, "cpu"));
	CHECK(!ct_serve_windows_full("new", pid, "heap") &&
	      !ct_serve_windows_full("new", 1, "cpu"));
	/* Nobody's window ends before its time. */
	CHECK_EQ(end_all(999, false), 0);
	CHECK_EQ(end_all(1000, false), CT_SERVE_KEPT_OF_MODE);
	CHECK(!ct_serve_windows_full("new", pid, "cpu"));
}

TEST(test_windows_of_all_processes_are_bounded)
{
	static char modes[CT_SERVE_KEPT][8];
	int pid = getpid(), gone = fork();

	if (!gone)
		_exit(0);
	CHECK_EQ(waitpid(gone, NULL, 0), gone);
	/* Those of sums and of a process that has ended don't count. */
	keep(CT_SERVE_KEPT_OF_MODE, gone, "cpu");
	CHECK(!ct_serve_windows_full("new", gone, "cpu"));
	for (int i = 0; i < CT_SERVE_KEPT; i++) {
		snprintf(modes[i], sizeof(modes[i]), "%d", i);
		ct_serve_windows_release(ct_serve_windows_take("sums", pid, modes[i], true), 1000);
		keep(1, pid, modes[i]);
	}
	CHECK(ct_serve_windows_full("new", pid, "cpu"));
	CHECK(!ct_serve_windows_full("0", pid, modes[0]));
	CHECK_EQ(end_all(999, false), 0);
	CHECK_EQ(end_all(0, true), CT_SERVE_KEPT_OF_MODE + 2 * CT_SERVE_KEPT);
}

static int part(long long bytes)
{
	int fd = memfd_create("part", MFD_CLOEXEC);

	CHECK(!ftruncate(fd, bytes));
	return fd;
}

TEST(test_parts_are_dropped_by_age_and_size)
{
	struct ct_serve_window *w = take("parts", false);
	int young = part(2);

	ct_serve_windows_put(w, 10, part(1));
	ct_serve_windows_put(w, 20, young);
	ct_serve_windows_drop(w, 20);
	CHECK_EQ(w->part_count, 1);
	CHECK_EQ(w->parts[0].fd, young);
	CHECK_EQ(w->missing, 0);
	ct_serve_windows_put(w, 30, part(CT_SERVE_PARTS_BYTES - 2));
	CHECK_EQ(w->part_count, 2);
	ct_serve_windows_put(w, 40, part(1));
	CHECK_EQ(w->part_count, 2);
	CHECK_EQ(w->parts[0].time, 30);
	for (int i = 0; i < CT_SERVE_PARTS + 1; i++)
		ct_serve_windows_put(w, 50 + i, part(0));
	CHECK_EQ(w->part_count, CT_SERVE_PARTS);
	CHECK_EQ(w->parts[0].time, 51);
	/* The client is told of those that had no room, once. */
	CHECK_EQ(w->missing, 4);
	ct_serve_windows_drop(w, INFINITY);
	CHECK_EQ(w->part_count + w->missing, 0);
	ct_serve_windows_release(w, -1);
	CHECK(!ct_serve_windows_due(1000, true));
}

TEST(test_parts_of_all_windows_are_bounded)
{
	enum { MOST = CT_SERVE_ALL_PARTS_BYTES / CT_SERVE_PARTS_BYTES };
	struct ct_serve_window *w[MOST + 1];

	for (int i = 0; i <= MOST; i++) {
		w[i] = take(NULL, false);
		CHECK_EQ(w[0]->part_count, i > 0);
		ct_serve_windows_put(w[i], i, part(CT_SERVE_PARTS_BYTES));
	}
	/* The oldest of all had to go. */
	CHECK_EQ(w[0]->part_count, 0);
	CHECK_EQ(w[0]->missing, 1);
	for (int i = 0; i <= MOST; i++) {
		CHECK_EQ(w[i]->part_count, i > 0);
		ct_serve_windows_release(w[i], -1);
	}
}

static void check_type(struct ct_profile *p, const char *name, bool is_of_moment)
{
	struct ct_type type = { .type = ct_model_string(p, name) };

	p->types = &type;
	p->type_count = 1;
	if (ct_model_is_of_moment(p, 0) != is_of_moment)
		printf("# %s\n", name);
	CHECK_EQ(ct_model_is_of_moment(p, 0), is_of_moment);
	p->types = NULL;
	p->type_count = 0;
}

/* The tool knows by their names what the library's modes say of their types. */
TEST(test_sums_are_told_from_what_is_of_a_moment)
{
	struct ct_profile *p = ct_model_new();

	for (unsigned m = 0; m < CP_MODES; m++) {
		const struct cp_mode_ops *ops = cp_modes[m];

		for (unsigned t = 0; ops && t < ops->type_count; t++)
			check_type(p, ops->types[t].type, ops->moments & 1u << t);
		for (unsigned t = 0; ops && ops->more && t < CP_ENCODE_MORE; t++)
			check_type(p, ops->more[t].type, true);
	}
	ct_model_free(p);
}
