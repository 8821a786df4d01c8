/* gzip through zlib; see sink.h.
 *
 * zlib is the only foreign code in a dump. It is handed memory of ours and calls
 * nothing but mem*() then, so it may run while the program holds malloc's lock.
 */
#include "sink.h"

#include <dlfcn.h>
#include <errno.h>
#include <zlib.h>

#include "sigsafe/sys.h"

/* One mapping holds it all; only what is touched costs memory. zlib takes 262 KiB
 * with these parameters, zlib-ng 340. */
#define REGION ((size_t)512 << 10)
#define OUT_SIZE ((size_t)8 << 10)
#define INPUT_MAX ((size_t)1 << 30) /* avail_in is 32 bits wide */

/* Of two profiles, level 6 made files 4 and 1 % smaller for 1.6 times the time, and level 1
 * 9 and 2 % bigger for 0.6 to 0.7 of it. Of a million stacks, 7 % bigger for 0.6 (0.25 s of 0.41).
 */
#define LEVEL 4
#define LEVEL_LARGE 1
#define WINDOW_GZIP (15 + 16)
#define MEMORY_LEVEL 8 /* zlib's default */

struct cp_gzip_state {
	z_stream z;
	size_t used; /* bytes of the region handed out, this struct included */
	uint8_t out[OUT_SIZE];
};

static struct {
	__typeof__(deflateInit2_) *init;
	__typeof__(deflate) *deflate;
} zlib;

/* What runs behind deflateInit2_ and deflate: a host's function of that name must not. */
static const char *const needed[] = { "deflateInit2_", "deflate", "deflateReset",
				      "deflateEnd",    "crc32",	  "adler32" };

static bool sanitizer_runs(void)
{
	return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
	       dlsym(RTLD_DEFAULT, "__msan_init");
}

/* Calls inside a library that is not bound deeply go to the first definition in the
 * global scope: is that the library's own? */
static bool own_functions_win(void *handle)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		void *global = dlsym(RTLD_DEFAULT, needed[i]);

		if (global && global != dlsym(handle, needed[i]))
			return false;
	}
	return true;
}

static int discard(struct cp_sink *s, const void *data, size_t n)
{
	return 0;
}

/* Run it once here: lazily bound calls are resolved now, in ordinary context. */
static int rehearse(void)
{
	struct cp_sink nowhere = { discard };
	struct cp_gzip_sink g;
	int r = cp_gzip_sink_open(&g, &nowhere, false);

	if (r)
		return r;
	if (!g.state)
		return -ENOENT;
	g.sink.write(&g.sink, "rehearsal", 9);
	return cp_gzip_sink_close(&g);
}

int cp_gzip_load(void)
{
	bool deep = !sanitizer_runs();
	void *loaded = dlopen("libz.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *handle = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));

	if (!handle || ((loaded || !deep) && !own_functions_win(handle)))
		return -ENOENT;
	zlib.deflate = (__typeof__(zlib.deflate))dlsym(handle, "deflate");
	zlib.init = (__typeof__(zlib.init))dlsym(handle, "deflateInit2_");
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

/* The region goes as a whole. */
static void release(void *opaque, void *p)
{
}

/* Give zlib's state what is in z.next_in, NEXT what comes out. */
static int run(struct cp_gzip_sink *g, int mode)
{
	z_stream *z = &g->state->z;
	int r;

	do {
		z->next_out = g->state->out;
		z->avail_out = OUT_SIZE;
		r = zlib.deflate(z, mode);
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return -EIO;
		if (z->avail_out < OUT_SIZE) {
			int w = g->next->write(g->next, g->state->out, OUT_SIZE - z->avail_out);

			if (w < 0)
				return w;
		}
	} while (!z->avail_out);
	return mode == Z_FINISH && r != Z_STREAM_END ? -EIO : 0;
}

static int write_gzip(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_gzip_sink *g = (struct cp_gzip_sink *)s;
	const unsigned char *p = data;

	while (n && !g->error) {
		size_t part = n < INPUT_MAX ? n : INPUT_MAX;

		g->state->z.next_in = (unsigned char *)p;
		g->state->z.avail_in = (unsigned)part;
		g->error = run(g, Z_NO_FLUSH);
		p += part;
		n -= part;
	}
	return g->error;
}

static int write_unchanged(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_gzip_sink *g = (struct cp_gzip_sink *)s;

	if (!g->error)
		g->error = g->next->write(g->next, data, n);
	return g->error;
}

int cp_gzip_sink_open(struct cp_gzip_sink *g, struct cp_sink *next, bool large)
{
	struct cp_gzip_state *s;

	*g = (struct cp_gzip_sink){ .sink.write = write_unchanged, .next = next };
	if (!zlib.init)
		return 0;
	s = cp_sys_map(REGION);
	if (!s)
		return -ENOMEM;
	s->used = (sizeof(*s) + 63) & ~(size_t)63;
	s->z.zalloc = allocate;
	s->z.zfree = release;
	s->z.opaque = s;
	if (zlib.init(&s->z, large ? LEVEL_LARGE : LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL,
		      Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof(s->z)) != Z_OK) {
		/* A zlib that wants more than the region: a bigger file beats none. */
		cp_sys_unmap(s, REGION);
		return 0;
	}
	g->state = s;
	g->sink.write = write_gzip;
	return 0;
}

int cp_gzip_sink_close(struct cp_gzip_sink *g)
{
	if (!g->state)
		return g->error;
	g->state->z.avail_in = 0;
	if (!g->error)
		g->error = run(g, Z_FINISH);
	cp_sys_unmap(g->state, REGION);
	g->state = NULL;
	g->sink.write = write_unchanged;
	return g->error;
}
