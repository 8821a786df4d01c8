/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/settings/, by the file that implements them. */
#ifndef CP_SETTINGS_SETTINGS_H
#define CP_SETTINGS_SETTINGS_H

#include "sample/ring.h"

/* The fields of the settings; config.c declares the functions that read them. */

#define CP_PATH_MAX 4096

enum cp_unwind_choice { CP_UNWIND_AUTO, CP_UNWIND_FP, CP_UNWIND_DWARF, CP_UNWIND_LIBUNWIND };
/* CPROF_CONTROL; auto: while a mode is on; a path: on */
enum cp_control_choice { CP_CONTROL_AUTO, CP_CONTROL_ON, CP_CONTROL_OFF };
/* Most bytes of the path, so that with its suffixes it fits into a socket's address. */
#define CP_CONTROL_PATH 91
enum cp_symbolize_choice { CP_SYMBOLIZE_NONE, CP_SYMBOLIZE_NAMES, CP_SYMBOLIZE_FULL };

/* Room for the settings of one mode. */
#define CP_CONFIG_MODE_WORDS 144

/* config_table.c has a row for each field that a variable sets. */
struct cp_config {
	/* CPROF_UNWIND; auto: dwarf; libunwind, where it is built in, if dwarf can't be prepared;
	 * else fp (unwinders.c) */
	enum cp_unwind_choice unwind;
	unsigned max_depth;	/* CPROF_MAX_DEPTH, frames, 1-4096 */
	uint64_t checkpoint_ns; /* CPROF_CHECKPOINT; 0 = off */
	uint64_t times;		/* CPROF_TIMES, bytes, or CP_CONFIG_TIMES_KEEP and ns; 0 = off */
	int dump_signal;	/* CPROF_SIGNAL; 0 = none */
	bool dump_signal_asked; /* the user has set the signal explicitly */
	int toggle_signal;	/* CPUPROFILESIGNAL; 0 = not set */
	int heap_signal;	/* HEAPPROFILESIGNAL: dumps the heap; 0 = not set */
	/* The mode that CPUPROFILE, the toggle and ProfilerStart select: CPU, or wall with
	 * CPUPROFILE_REALTIME */
	enum cprof_mode named_mode;
	bool follow;		 /* CPROF_FOLLOW */
	bool jemalloc_backtrace; /* CPROF_JEMALLOC_BACKTRACE */
	enum cp_symbolize_choice symbolize;
	enum cp_control_choice control;
	char control_path[CP_CONTROL_PATH]; /* CPROF_CONTROL=/PATH, with CONTROL on; "" = none */
	unsigned verbose;		    /* CPROF_VERBOSE, 0-1 */
	bool use_pid;	 /* CPUPROFILE_USE_PID=1 (gperftools): pid in the name, also in the first
			    process */
	char only[1024]; /* CPROF_ONLY: comma-separated globs; "" = all */
	char label_keys[1024]; /* CPROF_LABEL_KEYS: globs of keys that files may hold; "" = all */
	char labels[1024];     /* CPROF_LABELS: k=v,... on every sample; "" = none */
	char dump_on[1024];    /* CPROF_DUMP_ON: cp_triggers_parse; "" = no such dumps */
	char serve[256];       /* CPROF_SERVE: HOST:PORT that serves this process; "" = none */
	char push[1024];       /* CPROF_PUSH: URL that windows are pushed to; "" = none */
	bool nofile[CP_MAIN_MODES]; /* started from outside: clients read the profile, and no file
				       is written */
	/* The settings that belong to a mode, as the mode's own struct: cp_config_of. */
	uint64_t of_mode[CP_MAIN_MODES][CP_CONFIG_MODE_WORDS];
	/* CPUPROFILE, WALLPROFILE, HEAPPROFILE, LOCKPROFILE as given (templates are not expanded);
	 * "" = off. Only paths of modes that exist are ever read, copied or written. */
	char path[CP_MAIN_MODES][CP_PATH_MAX];
};

/* Returns the settings of MODE in C, as the mode's struct (modes/NAME/NAME.h). */
static inline void *cp_config_of(const struct cp_config *c, enum cprof_mode mode)
{
	return (void *)(uintptr_t)c->of_mode[mode];
}

/* config.c
 *
 * The settings: the values that the environment or an options struct asks for. The modes must be
 * known before (cp_mode_ops_set).
 */

struct cprof_options;

/* Sets the documented defaults, with all modes off. */
void cp_config_defaults(struct cp_config *c);

/* Sets the defaults, then reads the environment over them. NAME(key) returns a variable's value or
 * NULL (secure_getenv in the library). For a value that can't be read, prints one line to stderr
 * that names the variable, the value, the accepted values and the value used instead. Prints
 * nothing if no mode is on. */
void cp_config_read(struct cp_config *c, const char *(*name)(const char *key));

/* The same, but prints nothing if CPROF_ONLY excludes PROGRAM. */
void cp_config_read_for(struct cp_config *c, const char *(*name)(const char *key),
			const char *program);
/* The same without any output, for descendants of a process that has printed the lines already. */
void cp_config_read_quietly(struct cp_config *c, const char *(*name)(const char *key));
/* The same, but the last line about a bad value goes to SAID, of SIZE bytes; "" if all values are
 * good. */
void cp_config_read_asked(struct cp_config *c, const char *(*name)(const char *key), char *said,
			  size_t size);

/* Takes the settings of the modes from O; a field that is 0 leaves C's value. The caller takes the
 * paths: cp_config_table_path returns mode M's path in O, or NULL. Returns 0, or -EINVAL if a
 * value is out of range. */
int cp_config_table_take(struct cp_config *c, const struct cprof_options *o);
const char *cp_config_table_path(const struct cprof_options *o, unsigned m);

/* Reads CPROF_CONTROL alone into C, without output. */
void cp_config_read_control(struct cp_config *c, const char *(*name)(const char *key));
/* Returns whether the profiler is to start: a mode is on, or one may be turned on from outside. */
bool cp_config_starts(const struct cp_config *c);
/* Returns whether a mode is on. */
bool cp_config_any(const struct cp_config *c);
/* Returns the name of MODE's variable: "CPUPROFILE"; NULL if there is no such mode. */
const char *cp_config_variable(unsigned mode);

/* Copies all of C to TO. */
void cp_config_copy(struct cp_config *to, const struct cp_config *c);
/* Copies C's settings of mode M, its path included, to TO. */
void cp_config_take_mode(struct cp_config *to, const struct cp_config *c, unsigned m);

/* Returns whether PROGRAM (a basename) matches CPROF_ONLY's globs (*, ?, [a-z]), or CPROF_ONLY is
 * empty. */
bool cp_config_wants_program(const struct cp_config *c, const char *program);

/* config_table.c
 *
 * The tables of settings: one of settings that belong to no mode, and one for each mode, in the
 * mode's folder. The tables give the defaults, tell how the environment and
 * the options are read, and which values are bad. tests/checks/documented.sh compares them with the
 * documents. config.c and a mode's READ read the settings that a row can't express: paths, and the
 * switches of gperftools that change another setting.
 */

struct cp_config_reader;

/* The type of the field, and how its value is written. */
enum cp_config_kind {
	CP_CONFIG_NUMBER,   /* unsigned, MIN to MAX; with PERCENT also 1% to 100% */
	CP_CONFIG_SIZE,	    /* uint64_t, MIN to MAX bytes */
	CP_CONFIG_TIMES,    /* uint64_t, 0 (off) or MIN to MAX bytes */
	CP_CONFIG_DURATION, /* uint64_t, 0 or MIN to MAX ns */
	CP_CONFIG_SWITCH,   /* bool */
	CP_CONFIG_CHOICE,   /* an enum: the number of one of NAMES */
	CP_CONFIG_LIST, /* unsigned: a bit for each of NAMES, or CP_CONFIG_UNSET with the default */
	CP_CONFIG_SIGNAL, /* int; 0: none */
	CP_CONFIG_TEXT,	  /* char[1024] */
};

#define CP_CONFIG_TIMES_MIN (UINT64_C(64) << 10)
#define CP_CONFIG_TIMES_MAX (UINT64_C(1) << 30)
/* With this bit, the rest is a duration: the index keeps only its last ns, in this many bytes. */
#define CP_CONFIG_TIMES_KEEP (UINT64_C(1) << 63)
/* Kept by default if there may be dumps by themselves (CPROF_DUMP_ON), ns. */
#define CP_CONFIG_TIMES_DUMP_ON UINT64_C(30000000000)
#define CP_CONFIG_TIMES_KEEP_BYTES (UINT64_C(32) << 20)

#define CP_CONFIG_NAMES 4
#define CP_CONFIG_TEXT_SIZE 1024

struct cp_config_row {
	const char *variable;
	enum cp_config_kind kind : 8;
	bool live;   /* can be changed while the mode is on */
	uint16_t at; /* offset of the field in struct cp_config, or in the mode's struct */
	/* The field in struct cprof_options; 0: none. Its type is unsigned (number), unsigned long
	 * long (size), long long or unsigned long long (duration), int (switch)
	 * or const char * (text). */
	uint16_t option;
	bool percent;	      /* a number that may be a percentage (CP_CONFIG_PERCENT) */
	const char *standard; /* the default as text; NULL: 0, or "" */
	uint64_t min, max;
	const char *const *names; /* CP_CONFIG_NAMES; NULL after the last */
	/* The accepted values, for messages. For a number, the text after "MIN to MAX"; for other
	 * kinds, the whole text. NULL for a choice and a list: the message lists NAMES. */
	const char *accepted;
	/* For a text: the value that replaces a bad one, in words and as the value, and a function
	 * that recognizes good values; NULL: all values are good. */
	const char *otherwise, *instead;
	bool (*is_good)(const char *value);
};

/* A list with this bit was not set, and has its default. */
#define CP_CONFIG_UNSET (1u << 31)
/* A number with this bit is a percentage: the rest, 1 to 100. */
#define CP_CONFIG_PERCENT (1u << 31)

/* The settings that belong to no mode. */
extern const struct cp_config_row cp_config_table[];
extern const size_t cp_config_table_size;

/* The settings of one mode. The mode's own struct has the fields: cp_config_of. */
struct cp_config_mode {
	const char *variable; /* "CPUPROFILE": the variable with the path; the mode is on if it is
				 set */
	size_t path_option;   /* offset of the path in struct cprof_options; 0: it has no field */
	const struct cp_config_row *rows;
	size_t count;
	/* Called after all rows were read from the environment. NULL = nothing else is read. */
	void (*read)(const struct cp_config_reader *r, struct cp_config *c);
};

/* Make the settings of mode M known. NAME is the mode's. Call before settings are read. */
void cp_config_table_add(unsigned m, const char *name, const struct cp_config_mode *mode);
/* Return the settings of mode M, and its name; NULL if there is no such mode. */
const struct cp_config_mode *cp_config_table_mode(unsigned m);
const char *cp_config_table_name(unsigned m);
/* Return row I of all tables together, or NULL after the last. */
const struct cp_config_row *cp_config_table_at(size_t i);

/* config_reader.c
 *
 * Reads single settings from the environment, and says what is wrong with them.
 *
 * One rule for all variables: an empty value counts as not set, except for a list; text that can't
 * be read leaves the default; a number out of range becomes the nearest number in range. For each
 * value that isn't taken as it is, one line names the variable, the value, the accepted values and
 * the value used instead.
 */

struct cp_config_reader {
	const char *(*name)(const char *key); /* returns a variable's value, or NULL */
	const char *
		program; /* print nothing if CPROF_ONLY excludes this program; NULL: always print */
	bool quiet;
	char *said; /* gets the last line about a bad value instead of stderr; or NULL */
	size_t said_size;
};

/* Returns KEY's value; NULL if it is not set, or empty. */
const char *cp_config_reader_get(const struct cp_config_reader *r, const char *key);
/* Prints the line about KEY's bad VALUE, which is cut and stripped of control characters. */
void cp_config_reader_say(const struct cp_config_reader *r, const char *key, const char *value,
			  const char *accepted, const char *used);
/* Reads ROW's variable into its field in IN: a struct cp_config, or a mode's struct. */
void cp_config_reader_read(const struct cp_config_reader *r, const struct cp_config_row *row,
			   void *in);
/* Reads a switch that has no field. */
bool cp_config_reader_switch(const struct cp_config_reader *r, const char *key);
/* Copies VALUE to TO. Returns false, with TO unchanged, if VALUE doesn't fit. */
bool cp_config_reader_copy(const char *value, char *to, size_t size);
/* Writes ROW's field in IN as a person would write it. Not for a text. */
void cp_config_reader_show(const struct cp_config_row *row, const void *in, char *to, size_t size);
/* Sets ROW's field in IN to the default. The field is zero before. */
void cp_config_reader_default(const struct cp_config_row *row, void *in);

/* triggers.c
 *
 * What CPROF_DUMP_ON dumps on.
 */

#define CP_TRIGGERS 8
#define CP_TRIGGER_NAME 64 /* as CP_SPAN_NAME */

struct cp_trigger {
	uint64_t more_than;	    /* ns; bytes of resident memory; or per cent. 0: no trigger */
	bool is_memory, percent;    /* PERCENT: of the nearest limit */
	bool passed;		    /* for dump_on.c */
	char span[CP_TRIGGER_NAME]; /* of spans of this name; "": of all */
};

/* Reads TEXT, as "span>500ms,span:checkout>2s,rss>80%,rss>2G". Zeros follow the last one. Returns 0
 * or -EINVAL. */
int cp_triggers_parse(const char *text, struct cp_trigger to[CP_TRIGGERS]);
bool cp_triggers_are_good(const char *text);

/* config_values.c
 *
 * Parses values as people write them in the environment: sizes, durations, signals, switches.
 *
 * Called while the settings are read. No allocation, no locale. Every parser returns 0, -EINVAL
 * for text that is not of its kind, or -ERANGE; outputs are unchanged on failure.
 */

/* Decimal digits only. -ERANGE above UINT64_MAX. */
int cp_config_values_number(const char *s, uint64_t *value);

/* "512K", "1.5M", "2G" (powers of 1024, either case), or a number of bytes. */
int cp_config_values_size(const char *s, uint64_t *bytes);

/* The size of a time index: a size, or "off" (0). */
int cp_config_values_times(const char *s, uint64_t *bytes);

/* "250ns", "10us", "1.5s", "2m", "1h", or a bare number of seconds. More than six digits after the
 * point are -EINVAL. A value above zero never becomes zero. */
int cp_config_values_duration(const char *s, uint64_t *ns);

/* 0/1, no/yes, off/on, false/true, either case. */
int cp_config_values_bool(const char *s, bool *value);

/* Read a signal into *SIG: "USR2", "SIGUSR2", "RTMIN+1", "RTMAX-2", "12", or "none" (0). Returns
 * -ERANGE for a signal that can't be caught, that the C library or the sampler needs, or that
 * reports a fault of the program. */
int cp_config_values_signal(const char *s, int *sig);

/* Sets *INDEX to the index of S in NAMES, which has COUNT items. */
int cp_config_values_choice(const char *s, const char *const *names, unsigned count,
			    unsigned *index);

/* The reverse, for messages. The text always ends with NUL. */
void cp_config_values_signal_text(int sig, char *to, size_t size);
void cp_config_values_duration_text(uint64_t ns, char *to, size_t size);

/* Returns whether S is key=value pairs separated by commas, without an empty key. */
bool cp_config_values_are_labels(const char *s);

/* path.c
 *
 * Names of profile files: templates, dump numbers, process suffixes.
 */

struct cp_path_facts {
	int pid;
	const char *program; /* basename */
	const char *host;
	uint64_t start_time;			   /* UTC seconds since 1970, for %t */
	const char *(*variable)(const char *name); /* for %q{NAME}; NULL: none is set */
	const char *rank; /* MPI or Slurm rank as decimal text; NULL = no rank */
};

/* Each function returns 0, or -ENAMETOOLONG with TO untouched; cp_path_expand also -ESTALE:
 * TEMPLATE is relative, and CWD is "". */

/* Expands %p %e %t %h and %q{NAME}, the value of an environment variable, of TEMPLATE and makes the
 * path absolute from CWD. %t is YYYYmmdd-HHMMSS in UTC; an unknown %x is kept. Appends ".rank-N" if
 * a rank is known and the template has no %p. Sets *HAS_PID if %p occurred. The result is still a
 * template: %n and %% are left for cp_path_number, which every path passes before it is opened. So
 * a % in the directory's or the program's name is doubled. */
int cp_path_expand(char *to, size_t size, const char *template, const char *cwd,
		   const struct cp_path_facts *facts, bool *has_pid);

/* Writes the path of dump NUMBER (1 and up) to TO: "%n" is replaced by four digits; without %n the
 * path is NAME.0001.EXT. EXT is the part after the last dot of the file name (".pb.gz" and
 * ".pprof.gz" count as one EXT; a dot at the start of the name begins no EXT). NUMBER 0 gives the
 * path at exit: ".%n", "-%n", "_%n" or "%n" is removed, or becomes 0000 at the start of the name.
 * "%%" becomes "%". */
int cp_path_number(char *to, size_t size, const char *path, unsigned number);

/* Writes PATH, still a template, with "." and INFIX before its EXT: NAME.peak.EXT. TO may be
 * PATH. */
int cp_path_infix(char *to, size_t size, const char *path, const char *infix);

/* Appends "." and PID to PATH, then "." and SEQUENCE if SEQUENCE is above 1. TO may be PATH. */
int cp_path_process(char *to, size_t size, const char *path, int pid, unsigned sequence);

/* Returns the first byte of VALUE, a path from the environment, without gperftools' mark.
 * gperftools sets that byte's highest bit in CPUPROFILE and HEAPPROFILE to tell the program's
 * children that they are children. A byte that begins a UTF-8 sequence is returned unchanged. */
char cp_path_first(const char *value);
/* Returns whether A and B are the same path, with or without the mark. */
bool cp_path_same(const char *a, const char *b);

/* process_info.c
 *
 * The names of the process (program, host, rank) for file names and CPROF_ONLY. Ordinary
 * context.
 */

struct cp_process_info {
	struct cp_path_facts path;
	char program[256]; /* basename of the executable, as it was started */
	char file[256];	   /* of the file itself, if PROGRAM is a link to it; else empty */
	char host[65];
	char rank[16];
};

/* Fills F for this process now. F->path points into F, which must live on. */
void cp_process_info_read(struct cp_process_info *f);
/* Returns the F of the last call, or NULL. */
const struct cp_process_info *cp_process_info_last(void);

/* unknown.c
 *
 * Reports variables of the environment that look like settings but are not. Without the report, a
 * typing error would silently turn a setting, or the whole profile, off.
 */

struct cp_unknown {
	char name[64];	   /* the variable's name, cut to this size */
	const char *meant; /* the path variable that it is for; NULL: it is a CPROF_* */
};

/* Find the next such variable in ENVIRONMENT from *AT on; *AT moves after it. These are all
 * CPROF_* that no setting has, and names that begin like that of an unset path variable
 * (CPU_PROFILE). Returns false at the end. */
bool cp_unknown_next(char *const *environment, size_t *at, struct cp_unknown *found);

#endif
