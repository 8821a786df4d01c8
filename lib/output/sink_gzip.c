/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip through zlib; see pprof.h.
 *
 * zlib is the only foreign code in a dump. It gets memory from libcprof, and then calls nothing but
 * mem*(), so it may run while the program holds malloc's lock.
 */
#include "output/pprof.h"

#include <errno.h>
#include <zlib.h>

#include "base/sys.h"
#include "unwind/unwind.h"

/* One mapping holds everything; only touched pages cost memory. zlib's state takes 262 KiB with
 * these parameters, zlib-ng's 340 KiB. */
#define REGION ((size_t)384 << 10)
#define OUT_SIZE ((size_t)8 << 10)
#define INPUT_MAX ((size_t)1 << 30) /* avail_in is 32 bits wide */

/* For two profiles, compared with level 4: level 6 made files 4 and 1 % smaller in 1.6 times the
 * time, level 1 made them 9 and 2 % bigger in 0.6 to 0.7 of the time. For a million stacks, level 1
 * made the file 7 % bigger in 0.6 of the time (0.25 s instead of 0.41). */
static const struct {
	int level, window, memory;
} parameters[] = {
	[CP_GZIP_LITTLE] = { 4, 12, 5 },
	[CP_GZIP_USUAL] = { 4, 15, 8 },
	[CP_GZIP_MUCH] = { 1, 15, 8 },
};
#define AS_GZIP 16 /* is added to the window */

struct cp_gzip_state {
	z_stream z;
	size_t used; /* bytes of REGION that were handed out, including this struct */
	uint8_t out[OUT_SIZE];
};

static struct {
	__typeof__(deflateInit2_) *init;
	__typeof__(deflate) *deflate;
} zlib;

/* Functions that deflateInit2_ and deflate call; the program may have functions of the same names,
 * which must not be called. */
static const char *const needed[] = { "deflateInit2_", "deflate", "deflateReset",
				      "deflateEnd",    "crc32",	  "adler32" };

/* Calls inside a library that was not loaded with RTLD_DEEPBIND go to the first definition in the
 * global scope. Is that the library's own, for all needed functions? */
static bool own_functions_win(void *handle)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		void *global = cp_loaded_first(needed[i]);

		if (global && global != cp_library_symbol(handle, needed[i]))
			return false;
	}
	return true;
}

static int discard(struct cp_sink *s, const void *data, size_t n)
{
	return 0;
}

/* Run zlib once here, so that lazily bound calls are resolved now, in ordinary context. */
static int rehearse(void)
{
	struct cp_sink nowhere = { .write = discard };
	struct cp_gzip_sink g;
	int r = cp_sink_gzip_open(&g, &nowhere, CP_GZIP_LITTLE);

	if (r)
		return r;
	if (!g.state)
		return -ENOENT;
	g.sink.write(&g.sink, "rehearsal", 9);
	return cp_sink_gzip_close(&g);
}

int cp_sink_gzip_load(void)
{
	bool loaded;
	void *handle = cp_library_open("libz.so.1", &loaded);

	if (!handle || ((loaded || cp_loaded_has_sanitizer()) && !own_functions_win(handle)))
		return -ENOENT;
	zlib.deflate = (__typeof__(zlib.deflate))cp_library_symbol(handle, "deflate");
	zlib.init = (__typeof__(zlib.init))cp_library_symbol(handle, "deflateInit2_");
	if (!zlib.deflate || !zlib.init || rehearse()) {
		zlib.init = NULL;
		return -ENOENT;
	}
	return 0;
}

static void *allocate(void *opaque, unsigned count, unsigned size)
{
	struct cp_gzip_state *s = opaque;
	size_t n = ((size_t)count * size + 63) & ~(size_t)63;
	void *p = (char *)s + s->used;

	if (n > REGION - s->used)
		return NULL;
	s->used += n;
	return p;
}

/* Does nothing: the region is unmapped as a whole. */
static void release_nothing(void *opaque, void *p)
{
}

static void empty_out(struct cp_gzip_state *s)
{
	s->z.next_out = s->out;
	s->z.avail_out = OUT_SIZE;
}

/* Compress z.next_in. Output is passed to NEXT when the buffer is full, and at the end. */
static int run_deflate(struct cp_gzip_sink *g, int mode)
{
	z_stream *z = &g->state->z;
	bool full;
	int r, w;

	do {
		r = zlib.deflate(z, mode);
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return -EIO;
		full = !z->avail_out;
		if (!full && mode != Z_FINISH)
			break;
		w = g->next->write(g->next, g->state->out, OUT_SIZE - z->avail_out);
		if (w < 0)
			return w;
		empty_out(g->state);
	} while (full);
	return mode == Z_FINISH && r != Z_STREAM_END ? -EIO : 0;
}

static void pack_bytes(struct cp_gzip_sink *g, const uint8_t *p, size_t n)
{
	while (n && !g->error) {
		size_t part = n < INPUT_MAX ? n : INPUT_MAX;

		g->state->z.next_in = (uint8_t *)p;
		g->state->z.avail_in = (unsigned)part;
		g->error = run_deflate(g, Z_NO_FLUSH);
		p += part;
		n -= part;
	}
}

static int write_gzip(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_gzip_sink *g = (struct cp_gzip_sink *)s;

	pack_bytes(g, data, n);
	return g->error;
}

/* Returns 0, -ENOMEM, or -ENOSYS if zlib needs more memory than REGION has. */
static int make_state(struct cp_gzip_sink *g)
{
	struct cp_gzip_state *s = cp_sys_map(REGION);

	if (!s)
		return -ENOMEM;
	s->used = (sizeof(*s) + 63) & ~(size_t)63;
	s->z.zalloc = allocate;
	s->z.zfree = release_nothing;
	s->z.opaque = s;
	if (zlib.init(&s->z, parameters[g->amount].level, Z_DEFLATED,
		      parameters[g->amount].window + AS_GZIP, parameters[g->amount].memory,
		      Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof(s->z)) != Z_OK) {
		cp_sys_unmap(s, REGION);
		return -ENOSYS;
	}
	empty_out(s);
	g->state = s;
	g->sink.write = write_gzip;
	return 0;
}

static int write_unchanged(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_gzip_sink *g = (struct cp_gzip_sink *)s;

	if (!g->error)
		g->error = g->next->write(g->next, data, n);
	return g->error;
}

static int pass_small(void *to, const void *data, size_t n)
{
	struct cp_sink *next = to;

	return next->write(next, data, n);
}

static int write_small(struct cp_sink *s, const void *data, size_t n)
{
	return cp_deflate_put(((struct cp_gzip_sink *)s)->small, data, n);
}

/* For a process without zlib, or with one that needs more memory than REGION has. */
static int make_small(struct cp_gzip_sink *g)
{
	g->small = cp_sys_map(sizeof(*g->small));
	if (!g->small)
		return -ENOMEM;
	g->small->write = pass_small;
	g->small->to = g->next;
	g->sink.write = write_small;
	return 0;
}

int cp_sink_gzip_open(struct cp_gzip_sink *g, struct cp_sink *next, enum cp_gzip_amount amount)
{
	int r;

	*g = (struct cp_gzip_sink){ .sink.write = write_unchanged, .next = next, .amount = amount };
	if (!zlib.init)
		return make_small(g);
	r = make_state(g);
	return r == -ENOSYS ? make_small(g) : r;
}

int cp_sink_gzip_close(struct cp_gzip_sink *g)
{
	if (g->small) {
		g->error = cp_deflate_end(g->small);
		cp_sys_unmap(g->small, sizeof(*g->small));
		g->small = NULL;
		g->sink.write = write_unchanged;
	}
	if (!g->state)
		return g->error;
	g->state->z.avail_in = 0;
	if (!g->error)
		g->error = run_deflate(g, Z_FINISH);
	cp_sys_unmap(g->state, REGION);
	g->state = NULL;
	g->sink.write = write_unchanged;
	return g->error;
}
