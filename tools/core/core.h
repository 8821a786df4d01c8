/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/core/, by the file that implements them. */
#ifndef CP_CORE_CORE_H
#define CP_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* fetch.c
 *
 * libcurl, loaded when the first URL is used, because it brings some 30 libraries with it and most
 * calls of cprof read files. For fetch.c and push/push_send.c.
 *
 * The numbers are those of libcurl.so.4's interface, which don't change. The header at build time
 * may belong to another version than the library that is found at run time.
 */

enum ct_curl_option {
	CT_CURL_CAINFO = 10065,
	CT_CURL_CONNECTTIMEOUT = 78,
	CT_CURL_ERRORBUFFER = 10010,
	CT_CURL_FAILONERROR = 45,
	CT_CURL_FOLLOWLOCATION = 52,
	CT_CURL_HEADERDATA = 10029,
	CT_CURL_HEADERFUNCTION = 20079,
	CT_CURL_HTTPHEADER = 10023,
	CT_CURL_MAXREDIRS = 68,
	CT_CURL_NOPROGRESS = 43,
	CT_CURL_NOSIGNAL = 99,
	CT_CURL_POSTFIELDS = 10015,
	CT_CURL_POSTFIELDSIZE = 60,
	CT_CURL_PROTOCOLS = 181,
	CT_CURL_PROTOCOLS_STR = 10318, /* since 7.85 */
	CT_CURL_REDIR_PROTOCOLS = 182,
	CT_CURL_REDIR_PROTOCOLS_STR = 10319,
	CT_CURL_TIMEOUT = 13,

	CT_CURL_URL = 10002,
	CT_CURL_USERAGENT = 10018,
	CT_CURL_USERPWD = 10005,
	CT_CURL_WRITEDATA = 10001,
	CT_CURL_WRITEFUNCTION = 20011,
	CT_CURL_XFERINFODATA = 10057,
	CT_CURL_XFERINFOFUNCTION = 20219
};

#define CT_CURL_RESPONSE_CODE 0x200002
#define CT_CURL_ERROR_SIZE 256

struct ct_curl {
	int (*global_init)(long);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *, enum ct_curl_option, ...);
	int (*easy_perform)(void *);
	int (*easy_getinfo)(void *, int, ...);
	const char *(*easy_strerror)(int);
	void (*easy_reset)(void *);
	void (*easy_cleanup)(void *);
	void *(*slist_append)(void *, const char *);
	void (*slist_free_all)(void *);
};

/* Returns libcurl's functions, or NULL with *WHY, a text that says what to do. Only one thread may
 * make the first call. */
const struct ct_curl *ct_fetch_curl(const char **why);
/* Allows handle C only http and https. Returns false if that can't be had. */
bool ct_fetch_allow_http(const struct ct_curl *curl, void *c);

/* directory.c
 *
 * Directories of the tool's own files.
 */

/* Makes directory PATH, and those above it, for the user alone. Returns 0 or a negative errno:
 * -EPERM if others could put anything there: PATH must be a directory of this user's
 * that nobody else may write to. Those above it must be this user's or root's, and nobody else may
 * replace what is in them. */
int ct_directory_make_own(const char *path);
/* Checks in the same way a directory that is not made here. */
int ct_directory_is_own(const char *path);

/* distribution.c
 *
 * The packages to install on this distribution, which /etc/os-release names. */

/* How to install libcapstone. */
const char *ct_distribution_capstone(void);
/* Which commands add the names of MODULE, a file of the distribution's, to the file PROFILE, both
 * as words of a shell's command. The caller frees it. */
char *ct_distribution_debug_files(const char *module, const char *profile);

/* json.c
 *
 * Writes JSON value after value, with commas and quoting.
 *
 *     struct ct_json j = ct_json_to(stdout);
 *     ct_json_open(&j, NULL, '{');
 *     ct_json_text(&j, "name", "main");
 *     ct_json_open(&j, "rows", '[');
 *     ct_json_close(&j, ']');
 *     ct_json_close(&j, '}');            // the outermost also ends the line
 *
 * KEY is NULL inside an array.
 */

struct ct_json {
	FILE *to;
	unsigned depth;
	bool follows; /* the innermost container has a member already */
};

struct ct_json ct_json_to(FILE *to);
void ct_json_open(struct ct_json *j, const char *key, char bracket);
void ct_json_close(struct ct_json *j, char bracket);
/* Bytes that are not UTF-8 become U+FFFD; what must not reach a terminal is escaped. */
void ct_json_text(struct ct_json *j, const char *key, const char *text);
void ct_json_integer(struct ct_json *j, const char *key, int64_t value);
/* A value that is not finite becomes null. */
void ct_json_number(struct ct_json *j, const char *key, double value);
void ct_json_bool(struct ct_json *j, const char *key, bool value);
/* Writes a 64-bit address as text, "0x...". */
void ct_json_hex(struct ct_json *j, const char *key, uint64_t value);
/* Writes only the quoted text, for callers with their own layout. */
void ct_json_quote(FILE *to, const char *text);

/* library.c
 *
 * Libraries that only some verbs need, loaded when such a verb runs.
 */

struct ct_library_function {
	const char *name;
	void *to; /* the function pointer to set */
};

/* Load the library NAME and set the N functions. Returns false if it isn't there, or lacks one. */
bool ct_library_load(const char *name, const struct ct_library_function *functions, size_t n);

/* memory.c
 *
 * Memory of the tool: allocation that ends the process instead of failing, and arrays that grow.
 * Only cprof itself runs this code, never a profiled program, so ending the process is acceptable.
 */

void *ct_memory_alloc(size_t size);			     /* zeroed */
void *ct_memory_realloc(void *p, size_t count, size_t size); /* count * size, checked */
char *ct_memory_strdup(const char *s);
char *ct_memory_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns ITEMS with room for COUNT items of SIZE bytes. ROOM is the present room, and at least
 * doubles. */
void *ct_memory_grow(void *items, size_t *room, size_t count, size_t size);

/* Returns the last part of PATH. */
static inline const char *ct_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static inline bool ct_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static inline bool ct_ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && !strcmp(text + n - m, with);
}

/* Seconds of the monotonic clock. */
static inline double ct_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Makes room for one more item, not zeroed, at ARRAY[COUNT], of which ROOM are allocated. */
#define CT_PUSH(array, count, room)                                                                \
	((count) < (room) ? (void)0                                                                \
			  : (void)((array) = ct_memory_grow((array), &(room), (count) + 1,         \
							    sizeof(*(array)))),                    \
	 &(array)[(count)++])

/* options.c
 *
 * Finds the word that a mistyped word was meant to be. */

/* Returns how many letters of A must be changed, left out, added or swapped with the next one to
 * get B. */
size_t ct_options_distance(const char *a, const char *b);
/* Returns the nearest word to WORD so far: BEST or OTHER, or NULL if neither is near. */
const char *ct_options_nearest(const char *word, const char *best, const char *other);

/* The verbs of cprof, and the exit statuses of all verbs. main.c lists the verbs. */

/* Exit statuses of every verb; `run` ends with its command's status instead. */
enum { CT_OK = 0, CT_DIFFERS = 1, CT_FAILED = 2 };

struct ct_verb {
	const char *name;
	const char *operands;  /* for the usage line, such as "FILE" */
	const char *summary;   /* one line in `cprof --help` */
	const char *details;   /* text of `cprof VERB --help` before the options; "" or lines */
	bool stops_at_operand; /* options end at the first operand (run) */
	/* The options, and how many operands there must be (MOST 0: any number); otherwise WANTED
	 * is said, for printf with their number. NULL: the verb parses its options itself. */
	const struct ct_option *const *tables;
	const char *wanted;
	int least, most;
	/* Gets the operands; of a verb without TABLES all arguments, of which ARGV[0] is its name.
	 * Returns the exit status. */
	int (*run)(int argc, char **argv);
};

/* clang-format off */
/* options.c
 *
 * Options of a verb, by getopt: -focus=x, -focus x, --focus=x and --focus x are all the same.
 *
 *     static struct { const char *output; bool json; } my;
 *     static const struct ct_option options[] = {
 *         CT_TEXT("output", "FILE", &my.output, "where to write"),
 *         CT_FLAG("json", &my.json, "as JSON"),
 *         CT_END
 *     };
 *     static const struct ct_option *const tables[] = { options, NULL };
 *
 * A verb has its tables in struct ct_verb, or calls ct_options_parse.
 *
 * Options and operands may be mixed, unless the verb stops at the first operand. --help is always
 * there.
 */
/* clang-format on */

/* Text before each further line of a help text. */
#define CT_OPTIONS_INDENT "                            "

struct ct_option {
	const char *name;
	enum ct_option_kind {
		CT_KIND_FLAG,	 /* bool: set to true; -name=false and -name=0 set it to false */
		CT_KIND_TEXT,	 /* const char * */
		CT_KIND_MAYBE,	 /* const char *: the value of -name=value; "" for -name alone */
		CT_KIND_LIST,	 /* struct ct_list: may be given several times */
		CT_KIND_INTEGER, /* long, 0 or more */
		CT_KIND_NUMBER,	 /* double, at least 0; "5%" is 0.05 */
		CT_KIND_CHOICE,	 /* int: set to VALUE */
	} kind;
	void *to;
	int value;
	const char *argument; /* name of the argument in --help */
	const char *help;     /* NULL: not in --help (an alias) */
};

struct ct_list {
	const char **items;
	unsigned long count;
};

#define CT_FLAG(name, to, help)                                                                    \
	{                                                                                          \
		name, CT_KIND_FLAG, to, 0, NULL, help                                              \
	}
#define CT_TEXT(name, argument, to, help)                                                          \
	{                                                                                          \
		name, CT_KIND_TEXT, to, 0, argument, help                                          \
	}
#define CT_MAYBE(name, argument, to, help)                                                         \
	{                                                                                          \
		name, CT_KIND_MAYBE, to, 0, argument, help                                         \
	}
#define CT_LIST(name, argument, to, help)                                                          \
	{                                                                                          \
		name, CT_KIND_LIST, to, 0, argument, help                                          \
	}
#define CT_INTEGER(name, argument, to, help)                                                       \
	{                                                                                          \
		name, CT_KIND_INTEGER, to, 0, argument, help                                       \
	}
#define CT_NUMBER(name, argument, to, help)                                                        \
	{                                                                                          \
		name, CT_KIND_NUMBER, to, 0, argument, help                                        \
	}
#define CT_CHOICE(name, to, value, help)                                                           \
	{                                                                                          \
		name, CT_KIND_CHOICE, to, value, NULL, help                                        \
	}
#define CT_END                                                                                     \
	{                                                                                          \
		NULL, CT_KIND_FLAG, NULL, 0, NULL, NULL                                            \
	}

/* Returns the index of the first operand in ARGV (argc if there is none), or a number below 0 after
 * all messages were printed: the verb must then return ct_options_status() of that number. TABLES
 * ends with NULL. */
int ct_options_parse(const struct ct_verb *verb, int argc, char **argv,
		     const struct ct_option *const *tables);
/* Parses the options of VERB, checks the number of operands, and runs it. Returns the exit status.
 */
int ct_options_run(const struct ct_verb *verb, int argc, char **argv);

/* Returns the seconds of "10", "1.5s", "200ms", "5m", "1h30m"; below 0: it is no duration. */
double ct_options_seconds(const char *text);

/* Returns the exit status for a negative result: 0 after --help, else CT_FAILED. */
int ct_options_status(int answer);
/* Prints "cprof VERB: WHAT" and how to get help. Returns CT_FAILED. */
int ct_options_wrong(const struct ct_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* out.c
 *
 * The output of verbs: through a pager and with colours on a terminal, else plain.
 *
 *     ct_out_begin();
 *     printf(...);
 *     return ct_out_end();
 */

enum ct_out_paint { CT_PLAIN, CT_BOLD, CT_DIM, CT_RED, CT_GREEN, CT_YELLOW, CT_PAINTS };

/* Starts the pager ($PAGER, else less if it is installed) if stdout is a terminal. */
void ct_out_begin(void);
/* Flushes and waits for the pager. Returns CT_OK, or CT_FAILED after a message (disk full). */
int ct_out_end(void);
/* Returns the escape sequence for the text that follows; "" if there are no colours. */
const char *ct_out_paint(enum ct_out_paint paint);
/* Writes text from a file within one line: line breaks become "?", besides what the guard below
 * replaces. */
void ct_out_text(FILE *to, const char *text);
/* Returns NAME as a word of a shell's command, quoted if needed. The caller frees it. */
char *ct_out_word(const char *name);

/* ---- the guard (out_guard.c) ---- */

/* Makes stdout and stderr replace what could control a terminal. Comes first in main. */
void ct_out_guard(void);
/* Replaces it in the N bytes of TEXT. Returns how many bytes are left. */
size_t ct_out_guard_clean(char *text, size_t n);
/* Returns standard output without the guard: for profiles, which are binary, and for curses. */
FILE *ct_out_guard_past(void);
/* Returns the mark that the guard replaces by the colour's escape sequence. */
const char *ct_out_guard_paint(enum ct_out_paint paint);
/* Shows TEXT in the terminal's last line of stderr, in the place of the one before; NULL: clears
 * it. Without a terminal, nothing. */
void ct_out_guard_progress(const char *text);

/* sections.c */

/* The section that libcprof.a's code has in a program that is linked statically:
 * preload/static/libcprof.lds. */
#define CT_SECTIONS_LIBCPROF "cp_static_text"

/* Has the ELF file PATH a section WANTED? False also if it can't be read. */
bool ct_sections_has(const char *path, const char *wanted);

/* target.c
 *
 * Files that the tool writes, as a whole or not at all, and never through a link that another user
 * made. For write.c and flame.c. */

struct ct_target {
	FILE *to;
	/* The file that is replaced: NAME in DIRECTORY. TEMPORARY is NULL if a device or a pipe is
	 * written to directly. */
	int directory;
	char *name, *temporary, *buffer;
	bool dated;	 /* the new file gets the time of the existing one */
	struct stat was; /* status of the existing file */
};

/* Opens PATH for writing. A file is replaced by rename; if PATH is a link, the file that it leads
 * to is replaced. A file below /dev or /proc, a character device or a pipe is written to directly.
 * The mode is 0600, or that of the replaced file if it is the user's own. Returns 0 or a negative
 * errno: -EPERM if PATH is a link or a pipe that belongs neither to the user nor to root. */
int ct_target_open(struct ct_target *t, const char *path);
/* Ends the writing; with ERROR the old file stays. Returns 0 or a negative errno, ERROR first. */
int ct_target_close(struct ct_target *t, int error);

#endif
