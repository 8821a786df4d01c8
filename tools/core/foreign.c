/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognizes the tool that wrote a file; see foreign.h. */
#include "core/foreign.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Where the magic word of a tar archive is. */
#define TAR_MAGIC 257

static const struct {
	const char *begin;
	size_t size;
	const char *kind;
} kinds[] = {
#define BEGINS(text, kind)                                                                         \
	{                                                                                          \
		text, sizeof(text) - 1, kind                                                       \
	}
	BEGINS("PERFILE2", "perf's perf.data: \"perf script report flamegraph\" shows it, "
			   "perf_to_profile makes "
			   "a pprof profile of it"),
	BEGINS("heap profile:",
	       "gperftools' heap profile: \"pprof -proto PROGRAM FILE >out.pb\" converts it"),
	BEGINS("--- symbol\n",
	       "gperftools' symbolized profile: \"pprof -proto FILE >out.pb\" converts it"),
	BEGINS("FLR\0", "a recording of Java's Flight Recorder: \"jfr print\" reads it, "
			"async-profiler's jfrconv "
			"converts it"),
	BEGINS("# callgrind format", "callgrind's: callgrind_annotate and KCachegrind read it"),
	BEGINS("events: ", "callgrind's: callgrind_annotate and KCachegrind read it"),
	BEGINS("desc: --massif", "massif's: ms_print reads it"),
	BEGINS("(\265/\375",
	       "compressed with zstd, as heaptrack's are: heaptrack_print reads those, zstd -d "
	       "unpacks others"),
	BEGINS("PK\3\4", "a zip archive: \"unzip\" unpacks it, as with what CI keeps of a run"),
	BEGINS("\3757zXZ", "compressed with xz: \"xz -d\" unpacks it"),
	BEGINS("\4\"M\030", "compressed with lz4: \"lz4 -d\" unpacks it"),
	BEGINS("BZh", "compressed with bzip2: \"bzip2 -d\" unpacks it"),
	BEGINS("version https://git-lfs.",
	       "a Git LFS pointer to a file: \"git lfs pull\" fetches the file itself"),
	BEGINS("\177ELF", "a program or library: \"cprof run -- PROGRAM\" profiles it"),
#undef BEGINS
};

static uint64_t word(const unsigned char *begin, size_t at)
{
	uint64_t v;

	memcpy(&v, begin + at * sizeof(v), sizeof(v));
	return v;
}

/* The header of gperftools' CPU profiles: 0, the number of words that follow, version 0, period, 0.
 */
static bool is_gperftools(const unsigned char *begin, size_t size)
{
	return size >= 40 && !word(begin, 0) && word(begin, 1) >= 3 && word(begin, 1) < 100 &&
	       !word(begin, 2) && word(begin, 3) > 0 && word(begin, 3) < 100000000 &&
	       !word(begin, 4);
}

/* A line such as "main;work;deep 12": printable, with a number after its last space. */
static bool is_folded(const unsigned char *begin, size_t size)
{
	const unsigned char *newline = memchr(begin, '\n', size);
	size_t n = newline ? (size_t)(newline - begin) : 0, digits = 0;
	bool frames = false;

	for (size_t i = 0; i < n; i++) {
		if (begin[i] < 0x20 && begin[i] != '\t')
			return false;
		frames |= begin[i] == ';';
	}
	while (digits < n && isdigit(begin[n - 1 - digits]))
		digits++;
	return frames && digits && digits + 1 < n && begin[n - 1 - digits] == ' ';
}

static bool contains(const unsigned char *begin, size_t size, const char *text)
{
	return memmem(begin, size, text, strlen(text)) != NULL;
}

/* "v 10300 3" and "X /usr/bin/app" are heaptrack's first lines. */
static bool is_heaptrack(const unsigned char *begin, size_t size)
{
	return size > 4 && begin[0] == 'v' && begin[1] == ' ' && isxdigit(begin[2]) &&
	       contains(begin, size, "\nX ");
}

static size_t blanks(const unsigned char *begin, size_t size)
{
	size_t n = 0;

	while (n < size && isspace(begin[n]))
		n++;
	return n;
}

static bool is_html(const unsigned char *begin, size_t size)
{
	return (size > 9 && !strncasecmp((const char *)begin, "<!doctype", 9)) ||
	       (size > 5 && !strncasecmp((const char *)begin, "<html", 5));
}

const char *ct_foreign_kind(const unsigned char *begin, size_t size)
{
	const unsigned char *end = begin + size;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (size >= kinds[i].size && !memcmp(begin, kinds[i].begin, kinds[i].size))
			return kinds[i].kind;
	if (is_gperftools(begin, size))
		return "gperftools' CPU profile: \"pprof -proto PROGRAM FILE >out.pb\" converts it";
	if (is_heaptrack(begin, size))
		return "heaptrack's: heaptrack_print reads it";
	if (size && begin[0] == '{' && contains(begin, size, "speedscope"))
		return "speedscope's: https://www.speedscope.app shows it";
	if (size >= TAR_MAGIC + 5 && !memcmp(begin + TAR_MAGIC, "ustar", 5))
		return "a tar archive: \"tar -xf\" unpacks it";
	begin += blanks(begin, size);
	if (is_html(begin, (size_t)(end - begin)))
		return "a page of HTML: an error page, or one to log in, in place of a profile; "
		       "fetch the profile's own address";
	if (begin < end && (*begin == '{' || *begin == '['))
		return "JSON: ask for the pprof format of whatever wrote it";
	if (is_folded(begin, (size_t)(end - begin)))
		return "folded stacks: flamegraph.pl and speedscope read them; \"cprof folded\" "
		       "writes "
		       "them";
	return NULL;
}
