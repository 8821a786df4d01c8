/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as they leave the library: encoder, gzip and file together, read by the
 * validator and by Go's pprof. */
#define OWN_MAIN
#include "harness.h"

#include "../tools/pprof-check.h"
#include "pprof-sample.h"
#include "sink-folder.h"

static struct cp_file_sink f;

static int write_file(const char *path)
{
	struct cp_gzip_sink g;
	int r = cp_sink_file_open(&f, path), z;

	if (r)
		return r;
	cp_sink_gzip_open(&g, &f.sink, false);
	r = write_sample_profile(&g.sink);
	z = cp_sink_gzip_close(&g);
	r = r ? r : z;
	z = cp_sink_file_close(&f, r, true);
	return r ? r : z;
}

TEST(test_file_is_valid)
{
	struct pcheck_report r = { .out = stdout };
	struct pcheck_profile p;

	make_folder();
	CHECK_EQ(write_file(at("a.pb")), 0);
	CHECK_EQ(pcheck_read_file(&p, at("a.pb"), &r), 0);
	pcheck_rules(&p, "cpu", "/opt/app/bin/app", &r);
	CHECK_EQ(r.broken, 0);
	pcheck_free(&p);
	entries(1);
}

/* "RULE RULE ..." of the N bytes as a file. */
static const char *rules_of(const char *data, size_t n)
{
	static struct pcheck_report r;
	struct pcheck_profile p;
	FILE *out = fopen(at("b.pb"), "w");

	r = (struct pcheck_report){ 0 };
	fwrite(data, 1, n, out);
	fclose(out);
	if (!pcheck_read_file(&p, at("b.pb"), &r)) {
		pcheck_rules(&p, NULL, NULL, &r);
		pcheck_free(&p);
	}
	return r.rules;
}

TEST(test_damage_to_the_file_is_found)
{
	struct pcheck_report r = { 0 };
	struct pcheck_profile p;
	char data[4096];
	size_t n;
	FILE *in;

	make_folder();
	CHECK_EQ(write_file(at("a.pb")), 0);
	in = fopen(at("a.pb"), "r");
	n = fread(data, 1, sizeof(data) / 2, in);
	fclose(in);
	CHECK_STR(rules_of(data, n), "");
	CHECK_STR(rules_of(data, n - 1), "gzip ");
	CHECK_STR(rules_of(data, 0), "gzip ");
	CHECK_STR(rules_of("not gzip", 8), "gzip ");
	memcpy(data + n, data, n);
	CHECK_STR(rules_of(data, 2 * n), "single-stream ");
	data[n - 6] ^= 1; /* the checksum */
	CHECK_STR(rules_of(data, n), "gzip ");
	CHECK_EQ(pcheck_read_file(&p, at("none.pb"), &r), -1);
	CHECK(pcheck_was(&r, "file"));
	entries(1);
}

/* Output of `go tool pprof OPTION` on the file, or NULL when it fails. */
static const char *go_pprof(const char *option)
{
	static char text[8192], command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "XDG_CONFIG_HOME=%s PPROF_TMPDIR=%s go tool pprof -symbolize=none %s %s/a.pb 2>&1",
		 folder, folder, option, folder);
	pipe = popen(command, "r");
	text[fread(text, 1, sizeof(text) - 1, pipe)] = '\0';
	if (!pclose(pipe))
		return text;
	printf("# go tool pprof %s: %s\n", option, text);
	return NULL;
}

TEST(test_go_shows_what_was_written)
{
	static const struct {
		const char *option, *shows[5];
	} views[] = {
		{ "-raw",
		  { "app::inlined", "_ZN3app4workEi", "0x400123 M=1 app::inlined",
		    "thread:[worker 1]", "4711" } },
		{ "-top -nodefraction=0", { "30303030ns", "app::inlined", "libbare.so+0x3123" } },
		{ "-top -sample_index=samples", { "app::inlined", "75.00%" } },
		{ "-traces", { "app::inlined", "app::work(int)", "plain", "main" } },
		{ "-comments", { "# libcprof test", "# mode=cpu" } },
		{ "-tags", { "worker 1", "4711", "thread", "64B" } },
		{ "-proto -output=/dev/null", { "" } },
	};

	if (system("go version >/dev/null 2>&1"))
		SKIP("go is not installed");
	make_folder();
	CHECK_EQ(write_file(at("a.pb")), 0);
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		const char *out = go_pprof(views[i].option);

		CHECK(out);
		for (int k = 0; out && k < 5 && views[i].shows[k]; k++)
			if (!strstr(out, views[i].shows[k])) {
				CHECK(!"go tool pprof shows it");
				printf("# no \"%s\" in %s\n", views[i].shows[k], out);
			}
	}
	entries(1);
}

int main(void)
{
	cp_sink_gzip_load();
	harness_all();
	return harness_end();
}
