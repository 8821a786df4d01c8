/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/verbs/, by the file that implements them. */
#ifndef CP_VERBS_VERBS_H
#define CP_VERBS_VERBS_H

#include <sys/time.h>
#include <time.h>

#include "control/control.h"
#include "core/report.h"

/* own_stack.c
 *
 * The own functions of a sample's stack, without the library functions between and below them.
 */

/* Returns the innermost name of frame K of a stack, from the leaf, or its module's name. */
const char *ct_own_stack_name(const struct ct_profile *p, const struct ct_sample *s, uint32_t k);
/* Returns the innermost own function of sample I, or the innermost function if no own one is on the
 * stack. */
const char *ct_own_stack_function(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Stores the names of the own functions of the thread itself, not of one that woke it, the
 * innermost first, each once, MOST at most. Returns their number, at least 1: without own functions
 * it is the innermost of all. */
size_t ct_own_stack_functions(struct ct_own *o, const struct ct_profile *p, size_t i,
			      const char **names, size_t most);
/* Returns "parse < load < main": the own functions, the innermost first, or the innermost function
 * if no own one is on the stack. The caller frees the result. */
char *ct_own_stack_text(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Returns the same of the thread that ended the wait of sample I, which is before "[woken by]". If
 * no thread did or none is known, returns the frame that says so. The caller frees the result. */
char *ct_own_stack_waker(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Returns the innermost own function of the thread whose wait sample I is, which is below
 * "[woken by]" or the frame in its place. */
const char *ct_own_stack_waiter(struct ct_own *o, const struct ct_profile *p, size_t i);

/* Sums of values by name. */
struct ct_sum {
	char *name;
	int64_t value, count, longest;
	int64_t idle;	   /* part of VALUE: waits for something to do */
	const char *cause; /* of a lock: "condition", "semaphore" or NULL */
};

struct ct_sums {
	struct ct_sum *list;
	size_t count, room;
	struct ct_table table;
};

/* Returns the sum called NAME, which is added if it is new. Valid until the next call. */
struct ct_sum *ct_own_stack_sum(struct ct_sums *s, const char *name);
/* Sorts the sums, the largest first. None can be added afterwards. */
void ct_own_stack_sort(struct ct_sums *s);
void ct_own_stack_release(struct ct_sums *s);

/* Returns a text label of sample I, or NULL. */
const char *ct_own_stack_label(const struct ct_profile *p, size_t i, const char *key);
/* Returns a numeric label of sample I, or NONE. */
int64_t ct_own_stack_number(const struct ct_profile *p, size_t i, const char *key, int64_t none);

/* waits_threads.c
 *
 * A table of `cprof waits` by thread.
 */

struct ct_waits_threads;

struct ct_waits_threads *ct_waits_threads_new(void);
void ct_waits_threads_free(struct ct_waits_threads *t);
/* Adds VALUE of the thread called NAME: running if CAUSE is NULL, ready to run if it is "runnable",
 * else waiting for CAUSE in FUNCTION. */
void ct_waits_threads_add(struct ct_waits_threads *t, const char *name, const char *cause,
			  const char *function, bool idle, int64_t value);
/* Prints at most ROWS threads (0: all), those with most time first, and what each waited for most.
 */
void ct_waits_threads_print(struct ct_waits_threads *t, const char *unit, long rows);

/* leak_rows.c
 *
 * The rows of `cprof leaks`: from each dump the bytes and blocks in use by stack of your own code,
 * and from them a row for each stack that holds memory or, with several dumps, that grew,
 * also where chance may explain it.
 */

/* Counts for each power of two seconds, and one for blocks of under a second. */
#define CT_LEAK_AGES 65

/* Facts about a stack's bytes by age. */
struct ct_leak_detail {
	double blocks; /* not rounded */
	double bytes[CT_LEAK_AGES],
		variance[CT_LEAK_AGES]; /* [0] is under a second, [n] from 2^(n-1) seconds on */
	double ageless;			/* variance of the bytes whose age isn't known */
	/* The same for the number of blocks, if they come and go at random: the sum of the squares
	 * of their sizes. */
	double turnover[CT_LEAK_AGES], ageless_turnover;
};

struct ct_leak_dump {
	struct ct_profile *p;
	const char *file;
	size_t space; /* index of the type in bytes; the type in blocks is before it */
	struct ct_sums stacks;
	struct ct_leak_detail *details; /* one for each of STACKS */
	size_t detail_count, detail_room;
	int64_t bytes, blocks;
	double variance; /* of the bytes by sampling */
	bool has_ages, is_sampled;
};

struct ct_leak_row {
	const char *stack;
	int64_t bytes, blocks;		     /* in the last dump */
	const struct ct_leak_detail *detail; /* in the last dump */
	double grown; /* bytes, from the first dump to the last: of three or more, by their trend */
	double variance; /* of the bytes or, with several dumps, of the growth */
	/* Has grown, but by few blocks or samples, or in few dumps: by chance, or for a moment. */
	bool is_few;
};

struct ct_leaks {
	struct ct_leak_dump *dumps; /* the oldest first */
	size_t count;
	struct ct_leak_row *rows;
	size_t row_count; /* the last FEW are of stacks whose growth is unsure */
	size_t few;
	double minutes;	 /* time from the first dump to the last */
	bool has_errors; /* some rows have one */
};

/* Reads FILEs, in any order, and makes the rows. Returns -1 after an error message. Call
 * ct_leak_rows_release in any case. */
int ct_leak_rows_make(struct ct_leaks *l, char *const *files, size_t count);
void ct_leak_rows_release(struct ct_leaks *l);

/* instructions.c
 *
 * The instructions of a function, decoded by libcapstone, which is loaded for it.
 */

struct ct_instruction {
	uint64_t address, size;
	char *text;
	uint64_t target; /* of a call or jump, or the address of an operand; 0: none */
	bool is_place;	 /* TARGET is an operand's */
	/* The rest is the caller's. */
	int64_t flat, cum;
	bool is_shown;
	const char *file; /* NULL: unknown */
	unsigned line;
};
struct ct_dwarf_code;

/* Loads libcapstone. Returns false if it isn't installed. */
bool ct_instructions_load(void);
/* Decodes the code from address BEGIN to END. Returns the number of instructions in *LIST, which
 * ct_instructions_free frees; 0: none, or not of a known processor. */
size_t ct_instructions_decode(const struct ct_dwarf_code *code, uint64_t begin, uint64_t end,
			      struct ct_instruction **list);
void ct_instructions_free(struct ct_instruction *list, size_t count);

/* list_disasm.c
 *
 * `cprof list -disasm`: the instructions of functions with their values. For stripped code it is
 * the only answer.
 */

struct ct_list_disasm {
	const char *pattern, *source_path, *trim_path;
	const char *const *roots; /* of debug files, ended by NULL */
	bool all;		  /* every instruction, not only those around hot ones */
};

/* Shows the functions that match PICK. Returns the exit status. */
int ct_list_disasm(struct ct_report *r, struct ct_regex *pick, const struct ct_list_disasm *wish);

/* mode_options.c
 *
 * The options by which verbs choose modes: -cpu, -wall, -heap, -lock, -io, -event, each with its
 * setting. For run, start and record.
 */

struct ct_mode_option {
	const char *value; /* NULL: the mode isn't asked for; "": with its default setting */
};

/* One for each of ct_control_modes. */
extern struct ct_mode_option ct_mode_options[CT_MODES];
/* For ct_options_parse. */
extern const struct ct_option ct_mode_options_table[];

/* -heap-views, for run and start: a value of CPROF_HEAP_VIEWS; NULL: it isn't given. */
extern const char *ct_mode_options_heap_views;
extern const struct ct_option ct_mode_options_views_table[];

/* Are all settings readable? Otherwise says so and returns CT_FAILED. The library would report a
 * bad setting, too, but use its default, and the run would be for nothing. */
int ct_mode_options_check(const struct ct_verb *verb);
/* How many modes are asked for. */
unsigned ct_mode_options_count(void);
/* If BEFORE, the argument before OPERAND, is an option of these, and OPERAND can be its setting,
 * says on stderr that it follows after "=". */
void ct_mode_options_hint(const char *before, const char *operand);
/* Says on stderr that COMMAND[0] can't be run, for the reason ERROR, an errno value; and gives
 * the hint of ct_mode_options_hint. Returns the exit status, 126 or 127, that a shell would have.
 */
int ct_mode_options_cannot_run(char *const *command, int error);

/* PATH with INFIX before its extension, absolute, to be freed. */
char *ct_mode_options_infix(const char *path, const char *infix);
char *ct_mode_options_absolute(const char *path);
/* PATH as the library takes it literally, to be freed: a % would be a template's. */
char *ct_mode_options_escaped(const char *path);

/* own_table.c
 *
 * The table "Your code": the cost of each function of the program's own modules, including its
 * calls into libraries.
 */

struct ct_own_row {
	uint32_t node; /* node of the report's graph */
	int64_t own;   /* value of samples in which this is the innermost own function */
	int64_t total; /* value including the own functions that it calls */
	bool is_idle;  /* of waits for locks, most of OWN is for something to do */
};

struct ct_own_table {
	struct ct_own_row *rows; /* the largest first; idle ones after the others */
	size_t count;
	int64_t inside, outside; /* sums of samples with and without an own function */
	struct ct_sums modules;	 /* sums by the module whose work a sample is */
	int64_t elsewhere;	 /* sum of the modules that aren't own code */
	bool is_all;		 /* a table of all functions would say the same */
	bool is_nameless; /* no row has a name, and others have the time: there is no table */
};

/* Returns -1 after a message if -own is no expression. */
int ct_own_table_check(void);
/* The rule which frames of P are own code, by -own; NULL: none is (-own=). The caller frees it. */
struct ct_own *ct_own_table_rule(const struct ct_profile *p);
/* Sums up the samples of R, whose graph must be made. Returns -1 after a message if -own is no
 * expression. The caller releases the table. */
int ct_own_table_make(struct ct_own_table *t, const struct ct_report *r);
void ct_own_table_release(struct ct_own_table *t);
/* Prints at most ROWS rows (0: all). Prints nothing if neither the program's own code nor other
 * modules have samples. */
void ct_own_table_print(const struct ct_own_table *t, const struct ct_report *r, size_t rows);
void ct_own_table_json(const struct ct_own_table *t, const struct ct_report *r, struct ct_json *j);

/* preload.c
 *
 * Checks from outside whether a program can be profiled: is there a library, and does the program's
 * loader load it? For verb_run.c, verb_dump.c and verb_attach.c.
 */

/* Returns the path of the libcprof.so that belongs to this cprof, which the caller frees; NULL
 * after a message of VERB. */
char *ct_preload_library(const char *verb);
/* Returns the setting LD_PRELOAD=... by which PROGRAM (a path) loads the libcprof.so that belongs
 * to this cprof, for the program's libc, before what is preloaded already; the caller frees it.
 * NULL after a message of VERB. */
char *ct_preload_setting(const char *verb, const char *program);
/* Returns the file that a shell would run for NAME, which the caller frees; NULL with errno set if
 * there is none. */
char *ct_preload_program(const char *name);
bool ct_preload_is_elf(const char *path);
/* Did Go link PROGRAM (a path)? Such a program with cgo loads the library, but does not end through
 * libc. */
bool ct_preload_is_go(const char *path);
/* Returns the reason why no profile of PROGRAM (a path) can be made, which the caller frees, or
 * NULL. Sets *BREAKS if the program would not start with the library preloaded. */
char *ct_preload_obstacle(const char *program, bool *breaks);

/* run_command.c
 *
 * Runs a command in place of cprof: signals are passed on to the command, and cprof ends as the
 * command did. For verb_run.c.
 */

struct ct_ended {
	int status; /* as waitpid gives it */
	int error;  /* errno of exec; 0: the command was started */
	bool by_us; /* it was told to end because its time was over */
};

/* Run PROGRAM with ARGV and with SETTINGS ("NAME=VALUE", NULL-ended) added to the environment, for
 * at most SECONDS (0: until it ends). Then it gets SIGTERM, and SIGKILL if it goes on. Signals to
 * cprof alone are passed on; the terminal's signals reach the command directly. Returns 0, or a
 * negative errno if the command could not be started. */
int ct_run_command(const char *program, char *const argv[], char *const settings[], double seconds,
		   struct ct_ended *end);
/* End as the command did: with its exit status, or by the same signal. */
int ct_run_command_end_like(const struct ct_ended *end);

/* run_keep.c
 *
 * Keeps the profile of the previous run beside the new one, and compares the two. For
 * verb_run.c.
 */

struct ct_run_keep {
	int fd; /* the file that was there before the command ran; -1: none */
};

/* Call before the command runs, because the library replaces PATH as a whole. */
void ct_run_keep_open(struct ct_run_keep *k, const char *path);
/* Call after the command has replaced PATH: the previous contents become NAME.before.EXT, the
 * previous NAME.before.EXT becomes NAME.before2.EXT, and so on up to COUNT files. Returns the path
 * of the first, which the caller frees, or NULL if there was none, or if it can't be kept, which is
 * reported. Releases K. */
char *ct_run_keep_store(struct ct_run_keep *k, const char *path, long count);
void ct_run_keep_close(struct ct_run_keep *k);
/* May the profiles at A and B be compared? They must be of one program, with the same types and
 * with samples. */
int ct_run_keep_comparable(const char *a, const char *b);

/* run_programs.c
 *
 * The processes of a run, by program: which programs of a tree have most, and which process of
 * each. For run_show.c.
 */

/* Ids of different processes. */
struct ct_run_processes {
	int64_t *ids;
	size_t count, room;
};

struct ct_run_program {
	char *name;
	struct ct_run_processes processes;
	int64_t total, most;
	const char *largest; /* file that has MOST; NULL: none yet */
};

struct ct_run_programs {
	int64_t command; /* the command's process; 0: unknown */
	struct ct_run_processes children;
	struct ct_run_program *all; /* sorted once they are shown: the largest first */
	size_t count, room;
};

/* Adds the profile P (or NULL) of process ID, which has TOTAL and is in the file PATH. The caller
 * keeps PATH. */
void ct_run_programs_add(struct ct_run_programs *r, int64_t id, const struct ct_profile *p,
			 const char *path, int64_t total);
/* Prints the programs on stderr. ALL, in UNIT, is what all processes have together. */
void ct_run_programs_show(struct ct_run_programs *r, const char *mode, const char *unit,
			  int64_t all);
void ct_run_programs_free(struct ct_run_programs *r);

/* run_show.c
 *
 * Shows the result of a command that ran under libcprof: its files, and its hottest functions. For
 * verb_run.c.
 */

/* What was there before the run. */
struct ct_run_show_start {
	struct timespec since; /* files from before this time belong to earlier runs */
	int *files;	       /* so do these, which were written at this time; open */
	size_t count, room;
};

struct ct_run_show {
	struct ct_run_show_start start;
	const char *const *roots; /* directories of debug files, NULL-ended */
	long top;		  /* rows; 0: none */
	bool several;		  /* there are other modes, so each has one table */
	const char *flame;	  /* file for the flame graph, or NULL */
	bool open;		  /* open the flame graph in a browser */
	bool window; /* show only a part of the run: for the heap, the allocations in it */
};

/* Call before the command runs, for struct ct_run_show. PATH: one of the run's files, absolute. */
struct ct_run_show_start ct_run_show_start(const char *path);
/* Returns the part of PATH's name that stays at its end: ".pb", ".pb.gz". */
const char *ct_run_show_extension(const char *path);
/* Returns the file of COMPANION ("holders") beside PATH: NAME.holders.EXT for NAME.EXT,
 * NAME.holders.0001.EXT for NAME.0001.EXT, NAME.holders.EXT.123 for NAME.EXT.123, if they are
 * there. The caller frees it. */
char *ct_run_show_beside(const char *path, const char *companion);
bool ct_run_show_wrote(const struct ct_run_show *how, const char *path);
/* Prints on stderr the changes from the profile at BEFORE to the one at PATH. */
void ct_run_show_change(const char *mode, const char *before, const char *path);
/* Adds lines to the profile at PATH (absolute) of MODE ("cpu"), to its companions and to its
 * children's profiles. Shows the top on stderr, that of all processes together if the children have
 * more than the command itself. Prints where the files are. Returns false in that case. */
bool ct_run_show(const struct ct_run_show *how, const char *mode, const char *path);
/* Returns COMMAND's name with .html, which the caller frees. */
char *ct_run_show_page(const char *command);
/* Call after all modes: makes their flame graph, with one tab for each. */
void ct_run_show_flame(const struct ct_run_show *how);
/* Prints the slowest spans of COUNT files of the run, of those that took at least the duration
 * LEAST. NULL: says how to see them, if the program has any. */
void ct_run_show_spans(const char *least, char *const *paths, size_t count);

/* verb_spans.c, spans_slowest.c */

/* The profiles of one run, merged by mode, and their files as words of a shell. */
struct ct_spans_files {
	struct ct_profile **profiles;
	char **words;
	size_t count;
};

struct ct_times;
struct ct_times_span;
int ct_verb_spans_by_duration(const void *x, const void *y);
/* Returns a copy of the index's spans, sorted. The caller frees it. */
struct ct_times_span *ct_verb_spans_sorted(const struct ct_times *t,
					   int (*order)(const void *, const void *));
/* Prints the slowest spans of the first profile, of those that took at least LEAST s: how all
 * profiles say that the time was spent, and the command that shows more. SLOW: LEAST as text, or
 * NULL. */
void ct_spans_slowest(const struct ct_spans_files *f, const char *slow, double least);

/* symbolize_functions.c
 *
 * The functions of a profile while it is symbolized: equal ones are kept once, names are made
 * readable, and functions that nothing refers to are dropped. For symbolize.c.
 */

struct ct_functions {
	struct ct_profile *p;
	struct ct_table table; /* functions added here, by contents */
};

/* Returns the number of a function equal to F, which is added if it is new. */
uint32_t ct_symbolize_functions_add(struct ct_functions *t, const struct ct_function *f);
/* Returns the string of a name as the library writes it: demangled, without parameters. */
uint32_t ct_symbolize_functions_readable(struct ct_functions *t, const char *mangled);
/* Copies the lines of location L of FROM, with their functions. The caller frees them. */
struct ct_line *ct_symbolize_functions_copy(struct ct_functions *to, const struct ct_profile *from,
					    const struct ct_location *l);
/* Drops functions that no location uses any more. T is empty afterwards. */
void ct_symbolize_functions_finish(struct ct_functions *t);

/* symbolize_more.c
 *
 * The helper of a tree of processes: the library sends it the names of the files of further
 * processes. For verb_symbolize.c.
 */

struct ct_symbolize_more {
	char **files;
	size_t count, room, bytes;
	int *connections;
	size_t connection_count, connection_room;
	struct itimerval limit; /* the time that each batch may take */
};

void ct_symbolize_more_begin(struct ct_symbolize_more *m);
/* Forgets the files of before, and waits for files. Returns false if none have come for a while:
 * then it has stopped listening, and M is released. */
bool ct_symbolize_more_wait(struct ct_symbolize_more *m);

/* threads_text.c
 *
 * The threads of a process now (control/control.h): equal stacks together, and their text.
 * For `cprof threads` and `cprof live`.
 */

/* Threads with the same stack, state and system call: threads[first .. first + count - 1]. */
struct ct_thread_group {
	size_t first, count;
};

struct ct_threads {
	struct ct_profile *p;
	struct ct_thread_wait *threads;
	size_t count;
	struct ct_thread_group *groups;
	size_t group_count, group_room;
};

/* Takes P over, and groups its threads, the largest group first. */
void ct_threads_text_group(struct ct_threads *all, struct ct_profile *p);
void ct_threads_text_release(struct ct_threads *all);

/* A running thread has a frame that says so; it isn't shown. */
bool ct_threads_text_has_stack(const struct ct_thread_wait *t);
/* Calls SEE for each function of T's stack, the innermost first, inlined ones too. */
void ct_threads_text_frames(const struct ct_profile *p, const struct ct_thread_wait *t,
			    void (*see)(const struct ct_profile *p, const struct ct_location *l,
					const struct ct_line *line, void *arg),
			    void *arg);
/* Calls SEE for the threads of deadlock NUMBER, from 1 on, each of which waits for the next.
 * Returns how many; 0: there is no such deadlock. SEE may be NULL. */
size_t ct_threads_text_deadlock(const struct ct_threads *all, int64_t number,
				void (*see)(const struct ct_threads *all,
					    const struct ct_thread_wait *t, void *arg),
				void *arg);
/* Writes the text of deadlocks and of all groups for a screen of COLUMNS (0: names are not
 * shortened). */
void ct_threads_text_print(const struct ct_threads *all, int pid, size_t columns, FILE *to);

/* symbolize.c
 *
 * Adds lines and inlined calls to a profile's locations.
 */

struct ct_symbolized {
	size_t locations; /* locations that had no line before */
	size_t lines;	  /* locations of those that have a line now */
	size_t names;	  /* locations that got a function's name from a symbol table */
};

/* The user's own modules for which no lines were found, and why. */
struct ct_symbolize_missing {
	bool asked; /* the user named directories of debug files */
	char **texts;
	size_t count, room;
};

/* Adds lines to N profiles, whose common modules are read once. Calls SEE when one is done. ROOTS:
 * directories of debug files, searched before /usr/lib/debug, NULL-ended; or NULL. MISSING may be
 * NULL. */
void ct_symbolize_each(struct ct_profile *const *p, size_t n, const char *const *roots,
		       struct ct_symbolize_missing *missing,
		       void (*see)(size_t i, const struct ct_symbolized *done, void *arg),
		       void *arg);
/* The same, with what was done in DONE. */
void ct_symbolize_profiles(struct ct_profile *const *p, size_t n, const char *const *roots,
			   struct ct_symbolized *done);
void ct_symbolize_profile(struct ct_profile *p, const char *const *roots,
			  struct ct_symbolized *done);
/* Symbolize P; debug files are looked for in CT_DEBUG_ROOT only. */
void ct_symbolize_here(struct ct_profile *p);
/* Symbolize P, which process PID has just made: the files of a container are looked for where the
 * kernel shows them to us. */
void ct_symbolize_process(struct ct_profile *p, int pid);

/* verb_symbolize.c
 *
 * cprof symbolize, and its messages.
 */

/* Returns the directories of -debug-dir and CT_DEBUG_ROOT, NULL-ended, which the caller frees. */
const char **ct_verb_symbolize_roots(const struct ct_list *given);
struct ct_dwarf_module;
/* Returns why M, which was opened, has no IMAGE. ASKED: directories were given. The caller frees
 * it. */
char *ct_verb_symbolize_no_file(const struct ct_dwarf_module *m, const char *build_id, bool asked);
/* Notes that the module FILE of P has no lines. M has the reason, also after it was closed or not
 * opened. Only the user's own modules are noted (report.h). */
void ct_verb_symbolize_missing(struct ct_symbolize_missing *to, const struct ct_profile *p,
			       const char *file, const char *build_id,
			       const struct ct_dwarf_module *m);

/* The verbs of cprof that have no header of their own: each is one file, which defines its struct
 * ct_verb; main.c's table lists all verbs, in the order of `cprof --help`.
 */

extern const struct ct_verb ct_verb_attach;
extern const struct ct_verb ct_verb_detach;
extern const struct ct_verb ct_verb_info;
extern const struct ct_verb ct_verb_dump;
extern const struct ct_verb ct_verb_live;
extern const struct ct_verb ct_verb_ps;
extern const struct ct_verb ct_verb_push;
extern const struct ct_verb ct_verb_record;
/* The options of `cprof record`, for a verb that records, too; a check of their values, which
 * returns an exit status; and the recording of process PID. */
extern const struct ct_option *const ct_verb_record_tables[];
int ct_verb_record_check(const struct ct_verb *verb);
/* BEGUN, if any, is called when the modes are on. */
int ct_verb_record_process(int pid, void (*begun)(int pid));
extern const struct ct_verb ct_verb_serve;
extern const struct ct_verb ct_verb_set;
extern const struct ct_verb ct_verb_start;
extern const struct ct_verb ct_verb_stop;
extern const struct ct_verb ct_verb_threads;
extern const struct ct_verb ct_verb_run;
extern const struct ct_verb ct_verb_symbolize;
extern const struct ct_verb ct_verb_list;
extern const struct ct_verb ct_verb_merge;
extern const struct ct_verb ct_verb_peek;
extern const struct ct_verb ct_verb_strip_labels;
extern const struct ct_verb ct_verb_tags;
extern const struct ct_verb ct_verb_top;
/* From now on `cprof top` prints your code last. ONE_TABLE: it omits the table of all functions
 * where your code has half of the total. */
void ct_verb_top_for_run(bool one_table);
extern const struct ct_verb ct_verb_leaks;
extern const struct ct_verb ct_verb_locks;
extern const struct ct_verb ct_verb_spans;
extern const struct ct_verb ct_verb_waits;
extern const struct ct_verb ct_verb_timeline;
extern const struct ct_verb ct_verb_tree;

/* waits_wakers.c
 *
 * The second table of `cprof waits`: who ended the waits, from the files of wakers beside the wall
 * profile.
 */

/* Print, for each file of wakers that the same run wrote beside FILE, the ROWS (0: all) functions
 * that waited longest, each with the functions that ended its waits. WALL is the content of FILE;
 * OWN is the expression of -own, or NULL. Returns how many such files there are; a file that can't
 * be read doesn't count, after a message. */
unsigned ct_waits_wakers_print(const char *file, const struct ct_profile *wall, const char *own,
			       long rows);

#endif
