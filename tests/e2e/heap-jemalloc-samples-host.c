/* SPDX-License-Identifier: BSD-3-Clause */
/* An allocator with the mallctl of a jemalloc after 5.3.1, which tells only of the blocks that it
 * samples itself, and what it gave: lines as heap-sites prints them. It knows the truth, because it
 * draws by the same law: a block of N bytes is a sample with probability 1 - e^(-N / INTERVAL).
 *
 * $HOST is read before main, because libcprof asks for the hooks before main. idle: jemalloc's
 * sampling is off. taken: the program has a hook of its own, which must stay.
 */
#include <math.h>

#include "system.h"

#define SHIFT 14
#define BLOCKS 200000
#define GROWN 20
#define LARGE 400000
#define ARENA ((size_t)256 << 20)
#define SITE __attribute__((noinline, noclone))

typedef void sample_hook(const void *, size_t, void **, unsigned, size_t);
typedef void free_hook(const void *, size_t);

int mallctl(const char *name, void *old, size_t *old_size, void *set, size_t set_size);

static sample_hook *on_sample;
static free_hook *on_free;
static bool active;
static unsigned own_calls;
static char *arena;
static size_t used;
static bool is_sample[BLOCKS * 2 + 1];
static uint64_t state = 88172645463325252u;

static void own_hook(const void *p, size_t size, void **frames, unsigned depth, size_t usable)
{
	(void)p;
	(void)size;
	(void)frames;
	(void)depth;
	(void)usable;
	own_calls++;
}

static bool is(const char *host)
{
	const char *wanted = getenv("HOST");

	return wanted && !strcmp(wanted, host);
}

static void begin(void)
{
	static bool began;

	if (began)
		return;
	began = true;
	active = !is("idle");
	if (is("taken"))
		on_sample = own_hook;
}

static int give(void *old, const size_t *old_size, const void *value, size_t size)
{
	if (!old || *old_size != size)
		return EINVAL;
	memcpy(old, value, size);
	return 0;
}

static int exchange(void *hook, void *old, const size_t *old_size, const void *set, size_t set_size)
{
	if (old && give(old, old_size, hook, sizeof(on_sample)))
		return EINVAL;
	if (set && set_size != sizeof(on_sample))
		return EINVAL;
	if (set)
		memcpy(hook, set, set_size);
	return 0;
}

int mallctl(const char *name, void *old, size_t *old_size, void *set, size_t set_size)
{
	const char *version = "5.4.0-0-g0123456";
	const bool yes = true;
	const size_t shift = SHIFT;

	begin();
	if (!strcmp(name, "version"))
		return give(old, old_size, &version, sizeof(version));
	if (!strcmp(name, "config.prof"))
		return give(old, old_size, &yes, sizeof(yes));
	if (!strcmp(name, "opt.prof") || !strcmp(name, "prof.active"))
		return give(old, old_size, &active, sizeof(active));
	if (!strcmp(name, "prof.lg_sample"))
		return give(old, old_size, &shift, sizeof(shift));
	if (!strcmp(name, "experimental.hooks.prof_sample"))
		return exchange(&on_sample, old, old_size, set, set_size);
	if (!strcmp(name, "experimental.hooks.prof_sample_free"))
		return exchange(&on_free, old, old_size, set, set_size);
	return ENOENT;
}

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

static SITE void *allocate(size_t size, size_t n)
{
	char *p = arena + used;

	used += (size + 15) & ~(size_t)15;
	is_sample[n] = uniform() < -expm1(-(double)size / (1 << SHIFT));
	if (is_sample[n] && on_sample)
		on_sample(p, size, NULL, 0, size);
	return p;
}

static SITE void release(void *p, size_t size, size_t n)
{
	if (is_sample[n] && on_free)
		on_free(p, size);
}

static SITE void *site_kept(size_t n)
{
	void *p = allocate(112, n);

	__asm__ volatile("");
	return p;
}

static SITE void *site_freed(size_t n)
{
	void *p = allocate(512, n);

	__asm__ volatile("");
	return p;
}

/* Large blocks, of which each is a sample, grow in place. jemalloc tells of the new sample before
 * the end of the old one. */
static SITE void site_grown(void)
{
	void *p = arena + used;

	used += LARGE * 2;
	if (!on_sample || !on_free)
		return;
	on_sample(p, LARGE, NULL, 0, LARGE);
	on_sample(p, LARGE * 2, NULL, 0, LARGE * 2);
	on_free(p, LARGE);
	__asm__ volatile("");
}

int main(void)
{
	begin();
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < BLOCKS; i++) {
		site_kept(2 * i);
		release(site_freed(2 * i + 1), 512, 2 * i + 1);
	}
	for (unsigned i = 0; i < GROWN; i++)
		site_grown();
	printf("site_grown %d %d %d %d\n", GROWN * 2, GROWN * 3 * LARGE, GROWN, GROWN * 2 * LARGE);
	printf("site_kept %d %d %d %d\n", BLOCKS, BLOCKS * 112, BLOCKS, BLOCKS * 112);
	printf("site_freed %d %d 0 0\n", BLOCKS, BLOCKS * 512);
	return is("taken") && (on_sample != own_hook || !own_calls) ? 2 : 0;
}
