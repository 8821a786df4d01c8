/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals; see real.h. */
#include "host/real.h"

#include <sys/auxv.h>

#include "base/libc.h"
#include "base/start_data.h"
#include "base/text.h"
#include "unwind/unwind.h"
#include "sample/lock_clock.h"

struct cp_real cp_real CP_START_DATA;

#define WANTED(minor, type, name, parameters, symbol, oldest)                                      \
	{ offsetof(struct cp_real, name), minor, oldest },
static const struct cp_real_wanted wanted[] = { CP_REAL_FUNCTIONS(WANTED) };
#define NAME(minor, type, name, parameters, symbol, oldest) symbol "\0"
static const char wanted_names[] = CP_REAL_FUNCTIONS(NAME);

/* Return the minor version of the running glibc: 31 for 2.31. */
static unsigned glibc_minor(void)
{
	static unsigned known CP_START_DATA;
	const char *s = cp_libc_version();
	uint64_t minor = 0;

	if (cp_load_relaxed(&known))
		return known;
	s += strcspn(s, ".");
	if (*s++ == '.')
		cp_text_parse_u64(&s, 10, &minor);
	cp_store_relaxed(&known, (unsigned)minor);
	return (unsigned)minor;
}

static void *vdso_clock(void)
{
#ifdef __aarch64__
	const char *name = "__kernel_clock_gettime";
#else
	const char *name = "__vdso_clock_gettime";
#endif
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	return vdso ? cp_loaded_in(vdso, name) : NULL;
}

void cp_real_prepare_clock(void)
{
	void *f;

	if (cp_lock_clock.read)
		return;
	f = vdso_clock();
	if (!f)
		f = cp_loaded_in_libc("clock_gettime");
	if (f)
		memcpy(&cp_lock_clock.read, &f, sizeof(f));
	else
		cp_lock_clock.read = clock_gettime;
}

/* Does SLOT lack the function W, which this libc should have? */
static bool is_missing(const char *slot, const struct cp_real_wanted *w)
{
	void *f;

	memcpy(&f, slot, sizeof(f));
	return !f && w->since <= glibc_minor();
}

static bool any_missing(const char *to, const struct cp_real_wanted *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_missing(to + functions[i].at, &functions[i]))
			return true;
	return false;
}

/* Return the function whose name is that of NAME, "open64", without its end. */
static void *plain_of(const char *name)
{
	size_t n = strlen(name);
	char plain[32];

	if (n < 3 || n >= sizeof(plain) || strcmp(name + n - 2, "64"))
		return NULL;
	memcpy(plain, name, n - 2);
	plain[n - 2] = '\0';
	return cp_loaded_next_one(plain);
}

int cp_real_find(void *to, const struct cp_real_wanted *functions, size_t count, const char *names)
{
	struct cp_loaded_name found[count];
	int missing = 0;

	/* The walk over all objects is for the first call. */
	if (!any_missing(to, functions, count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		found[i].name = names;
		found[i].oldest = functions[i].oldest;
		names += strlen(names) + 1;
	}
	cp_loaded_next(found, (unsigned)count);
	for (size_t i = 0; i < count; i++) {
		char *slot = (char *)to + functions[i].at;
		void *f;

		if (!is_missing(slot, &functions[i]))
			continue;
		/* The library was loaded so that no module comes next (dlopen with RTLD_DEEPBIND,
		 * dlmopen). */
		f = found[i].next ? found[i].next : found[i].libc;
		if (!f && CP_LIBC_64_IS_PLAIN)
			f = plain_of(found[i].name);
		/* Function pointers and object pointers have the same size on every port. */
		memcpy(slot, &f, sizeof(f));
		missing += !f;
	}
	return missing;
}

int cp_real_resolve(void)
{
	return cp_real_find(&cp_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);
}
