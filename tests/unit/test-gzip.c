/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip, in a host that exports its own deflate and crc32 (and does not link zlib). */
#include "harness.h"

#include "pprof-sample.h"

/* The host's functions of zlib's names: whoever calls them has the wrong ones. */
#define HOST_FUNCTION(name)                                                                        \
	__attribute__((visibility("default"))) int name(void);                                     \
	int name(void)                                                                             \
	{                                                                                          \
		host_calls++;                                                                      \
		return -1;                                                                         \
	}

static int host_calls;
HOST_FUNCTION(deflate)
HOST_FUNCTION(deflateInit2_)
HOST_FUNCTION(deflateReset)
HOST_FUNCTION(deflateEnd)
HOST_FUNCTION(crc32)
HOST_FUNCTION(adler32)

static int loaded; /* result of cp_sink_gzip_load */

static bool sanitized(void)
{
	return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/* Returns the result of gzip -dc for M: the number of bytes, or 0 if gzip complains. */
static size_t gunzip(const struct memory_sink *m, unsigned char *to, size_t room)
{
	char path[] = "/tmp/test-gzip-XXXXXX", command[64];
	int fd = mkstemp(path);
	size_t n = 0;
	FILE *pipe;

	if (fd < 0 || write(fd, m->data, m->size) != (ssize_t)m->size)
		return 0;
	snprintf(command, sizeof(command), "gzip -dc <%s", path);
	pipe = popen(command, "r");
	n = fread(to, 1, room, pipe);
	if (pclose(pipe))
		n = 0;
	close(fd);
	unlink(path);
	return n;
}

/* Data that compresses in parts: text-like and random stretches. */
static unsigned char *make_data(size_t n)
{
	unsigned char *data = malloc(n);
	uint32_t seed = 7;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = i / 5000 % 2 ? (unsigned char)(seed >> 24)
				       : (unsigned char)"libcprof profile"[i % 16];
	}
	return data;
}

/* Compresses 3 MB, in steps of several sizes, to fewer than TENTHS tenths. */
static void check_bytes_come_back(unsigned tenths)
{
	static const size_t steps[] = { 1 << 22, 100000, 8192, 17 };
	size_t n = 3000000;
	unsigned char *data = make_data(n), *back = malloc(n + 1);

	for (size_t k = 0; k < 4; k++) {
		struct memory_sink m = MEMORY_SINK;
		struct cp_gzip_sink g;

		CHECK_EQ(cp_sink_gzip_open(&g, &m.sink, CP_GZIP_USUAL), 0);
		for (size_t at = 0, step; at < n; at += step) {
			step = n - at < steps[k] ? n - at : steps[k];
			CHECK_EQ(g.sink.write(&g.sink, data + at, step), 0);
		}
		CHECK_EQ(cp_sink_gzip_close(&g), 0);
		CHECK(m.size < n * tenths / 10);
		CHECK_EQ(gunzip(&m, back, n + 1), n);
		CHECK(!memcmp(data, back, n));
		free(m.data);
	}
	free(data);
	free(back);
}

/* In a child: zlib is not loaded there yet. */
static int compress_small(void)
{
	struct memory_sink m = MEMORY_SINK;
	struct cp_gzip_sink g;
	unsigned char to[64];
	int result = 2;

	if (cp_sink_gzip_open(&g, &m.sink, CP_GZIP_USUAL) || g.sink.write(&g.sink, "as it is", 8) ||
	    cp_sink_gzip_close(&g))
		result = 1;
	else if (gunzip(&m, to, sizeof(to)) == 8 && !memcmp(to, "as it is", 8))
		result = 0;
	free(m.data);
	return result;
}

TEST(test_without_zlib_the_small_gzip_compresses)
{
	CHECK_EQ(compress_small(), 0);
	check_bytes_come_back(7);
}

/* Loaded without RTLD_DEEPBIND by the host, zlib calls the host's crc32. */
static int load_after_host(void)
{
	if (!dlopen("libz.so.1", RTLD_LAZY | RTLD_GLOBAL))
		return 77;
	return cp_sink_gzip_load() == -ENOENT && !host_calls ? compress_small() : 3;
}

TEST(test_zlib_bound_to_the_host_is_not_used)
{
	int status, pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(load_after_host());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("there is no libz.so.1");
	CHECK_EQ(status, 0);
}

TEST(test_zlib_is_found_beside_the_hosts)
{
	loaded = cp_sink_gzip_load();
	CHECK_EQ(loaded, sanitized() ? -ENOENT : 0);
	CHECK_EQ(host_calls, 0);
}

TEST(test_bytes_come_back)
{
	if (loaded)
		SKIP("no zlib of its own beside a sanitizer's");
	check_bytes_come_back(6);
	CHECK_EQ(host_calls, 0);
}

TEST(test_first_error_of_the_next_sink_is_kept)
{
	struct memory_sink m = MEMORY_SINK;
	unsigned char *data = make_data(200000);
	struct cp_gzip_sink g;

	CHECK_EQ(cp_sink_gzip_open(&g, &m.sink, CP_GZIP_USUAL), 0);
	m.error = -ENOSPC;
	CHECK_EQ(g.sink.write(&g.sink, data, 200000), -ENOSPC);
	m.error = 0;
	CHECK_EQ(g.sink.write(&g.sink, data, 200000), -ENOSPC);
	CHECK_EQ(cp_sink_gzip_close(&g), -ENOSPC);
	CHECK_EQ(m.size, 0);
	CHECK(!g.state);
	free(data);
}
