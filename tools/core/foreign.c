/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognizes the tool that wrote a file; see read.h. */
#include "core/read.h"

#include <ctype.h>
#include <strings.h>

#include "base/text.h"

/* Offset of the magic word of a tar archive. */
#define TAR_MAGIC 257
/* Bytes that tell text from binary data, and bytes of the first line in messages. */
#define LOOKED_AT 512
#define SHOWN 60

#define GO_TEXT "text of Go's pprof: fetch it without debug=1"
#define PICTURE "a picture or a document: give the profile that it was made from"

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
	BEGINS("--- symbol\n",
	       "gperftools' symbolized profile: \"pprof -proto FILE >out.pb\" converts it"),
	BEGINS("goroutine profile:", GO_TEXT),
	BEGINS("threadcreate profile:", GO_TEXT),
	BEGINS("--- mutex:", GO_TEXT),
	BEGINS("--- contention:", GO_TEXT),
	BEGINS("go 1.", "a trace of Go's runtime: \"go tool trace\" shows it"),
	BEGINS("FLR\0", "a recording of Java's Flight Recorder: \"jfr print\" reads it, "
			"async-profiler's jfrconv "
			"converts it"),
	BEGINS("# callgrind format", "callgrind's: callgrind_annotate and KCachegrind read it"),
	BEGINS("events: ", "callgrind's: callgrind_annotate and KCachegrind read it"),
	BEGINS("\177ELF",
	       "a program or library, or a core dump: \"cprof run -- PROGRAM\" profiles it"),
	BEGINS("gmon", "gprof's: \"gprof PROGRAM FILE\" shows it"),
	BEGINS("(\265/\375",
	       "compressed with zstd, as heaptrack's are: heaptrack_print reads those, zstd -d "
	       "unpacks others"),
	BEGINS("PK\3\4", "a zip archive: \"unzip\" unpacks it, as with what CI keeps of a run"),
	BEGINS("\3757zXZ", "compressed with xz: \"xz -d\" unpacks it"),
	BEGINS("\4\"M\030", "compressed with lz4: \"lz4 -d\" unpacks it"),
	BEGINS("BZh", "compressed with bzip2: \"bzip2 -d\" unpacks it"),
	BEGINS("\037\213", "compressed twice: \"gzip -d\" unpacks it once"),
	BEGINS("version https://git-lfs.",
	       "a Git LFS pointer to a file: \"git lfs pull\" fetches the file itself"),
	BEGINS("\211PNG", PICTURE),
	BEGINS("<svg", PICTURE),
#undef BEGINS
};

/* Recognizes a line such as "main;work;deep 12": printable, with a number after its last space. */
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

/* Recognizes a ResourceProfiles that contains a Resource. pprof's first message, a sample type, has
 * numbers. */
static bool is_otlp(const unsigned char *begin, size_t size)
{
	size_t at = 1;

	while (at < size && at < 10 && begin[at] & 0x80)
		at++;
	return at + 1 < size && begin[0] == 0x0a && begin[at + 1] == 0x0a;
}

static bool contains(const unsigned char *begin, size_t size, const char *text)
{
	return memmem(begin, size, text, strlen(text)) != NULL;
}

/* Recognizes heaptrack's first lines: "v 10300 3" and "X /usr/bin/app". */
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

/* Recognizes binary data whose bytes from 0x80 on were converted as characters. */
static bool is_mangled(const unsigned char *begin, size_t size)
{
	static const unsigned char unknown[] = { 0xef, 0xbf, 0xbd }, gzip[] = { 0x1f, 0xc2, 0x8b };

	return (size > sizeof(gzip) && !memcmp(begin, gzip, sizeof(gzip))) ||
	       memmem(begin, size < LOOKED_AT ? size : LOOKED_AT, unknown, sizeof(unknown));
}

/* Recognizes JSON. Other text may also begin with "[": "[section]". */
static bool is_json(const unsigned char *begin, size_t size)
{
	bool object = size && *begin == '{';

	if (!size || (!object && *begin != '['))
		return false;
	begin++;
	size--;
	return !size || strchr(object ? "\"}" : "\"{[]-0123456789", begin[blanks(begin, size)]);
}

static bool is_zero(const unsigned char *begin, size_t size)
{
	size_t n = 0;

	while (n < size && !begin[n])
		n++;
	return n == size;
}

/* Returns the bytes of the first line, at most SHOWN, if the examined part is text; else 0. */
static size_t first_line(const unsigned char *begin, size_t size)
{
	size_t line = 0, at = 0;
	bool safe, ended = false;

	while (at < size && at < LOOKED_AT) {
		unsigned n = cp_text_character((const char *)begin + at, size - at, &safe);

		if (!n)
			break;
		if (!safe && begin[at] != '\n' && begin[at] != '\r')
			return 0;
		ended |= !safe || at + n > SHOWN;
		line += ended ? 0 : n;
		at += n;
	}
	return line;
}

static const char *kind_of_text(const unsigned char *begin, size_t size)
{
	if (is_html(begin, size))
		return "a page of HTML: an error page, or one to log in, in place of a profile; "
		       "fetch the profile's own address";
	if (size > 5 && !memcmp(begin, "<?xml", 5))
		return contains(begin, size, "<svg") ? PICTURE
						     : "XML: ask for the pprof format of whatever "
						       "wrote it";
	if (is_json(begin, size))
		return "JSON: ask for the pprof format of whatever wrote it";
	if (is_folded(begin, size))
		return "folded stacks: flamegraph.pl and speedscope read them; \"cprof folded\" "
		       "writes "
		       "them";
	return NULL;
}

static const char *kind_of(const unsigned char *begin, size_t size)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (size >= kinds[i].size && !memcmp(begin, kinds[i].begin, kinds[i].size))
			return kinds[i].kind;
	if (is_otlp(begin, size))
		return "OpenTelemetry's (OTLP), which is only written: give the pprof file that it "
		       "was made of";
	if (is_heaptrack(begin, size))
		return "heaptrack's: heaptrack_print reads it";
	if (size && begin[0] == '{' && contains(begin, size, "speedscope"))
		return "speedscope's: https://www.speedscope.app shows it";
	if (size >= TAR_MAGIC + 5 && !memcmp(begin + TAR_MAGIC, "ustar", 5))
		return "a tar archive: \"tar -xf\" unpacks it";
	if (is_mangled(begin, size))
		return "binary data that was converted as if it were text: fetch or copy it anew, "
		       "as binary data";
	return is_zero(begin, size)
		       ? "zeros: its contents are lost, as after a crash of the machine"
		       : NULL;
}

void ct_foreign_describe(char *text, size_t room, const unsigned char *begin, size_t size)
{
	static const unsigned char mark[] = { 0xef, 0xbb, 0xbf }; /* byte order mark of UTF-8 */
	const char *kind = kind_of(begin, size);
	size_t skipped, line;

	if (!kind) {
		skipped = size >= sizeof(mark) && !memcmp(begin, mark, sizeof(mark)) ? sizeof(mark)
										     : 0;
		skipped += blanks(begin + skipped, size - skipped);
		begin += skipped;
		size -= skipped;
		kind = kind_of_text(begin, size);
	}
	line = kind ? 0 : first_line(begin, size);
	*text = '\0';
	if (kind)
		snprintf(text, room, "but %s", kind);
	else if (line)
		snprintf(text, room, "but text that begins \"%.*s\": cprof reads " CT_FOREIGN_READS,
			 (int)line, begin);
}
