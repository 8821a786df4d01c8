/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/live/, by the file that implements them. */
#ifndef CP_LIVE_LIVE_H
#define CP_LIVE_LIVE_H

#include "control/control.h"
#include "core/report.h"

/* live_table.c
 *
 * The functions of a window as rows: the user's code, and all functions, as in `cprof top`. */

struct ct_live_row {
	char *name;
	int64_t self, total; /* SELF of the user's code includes the libraries that it calls */
};

struct ct_live_table {
	struct ct_live_row *own, *all;
	size_t own_count, all_count;
	int64_t sum;	/* sum over all samples */
	int64_t inside; /* sum over the samples with the user's code */
	int64_t samples;
	size_t type; /* sample type of the profile */
	const char *from_unit;
};

/* Makes *T from sample type TYPE of P. P must exist as long as *T. */
void ct_live_table_make(struct ct_live_table *t, struct ct_profile *p, size_t type);
void ct_live_table_sort(struct ct_live_table *t, bool by_total);
void ct_live_table_release(struct ct_live_table *t);

/* Writes VALUE in the unit that suits the sum. */
char *ct_live_table_value(const struct ct_live_table *t, char *to, int64_t value);

/* live_tree.c
 *
 * The stacks of a window as a tree, for the flame graph.
 */

struct ct_live_frame {
	const char *name;				/* name, in the profile's memory */
	int64_t value;					/* value with its children */
	bool own;					/* it is the program's own code */
	struct ct_live_frame *parent, *children, *next; /* NEXT: the next sibling by name */
};

struct ct_live_tree {
	struct ct_live_frame root; /* called "all" */
	struct ct_live_frame **blocks;
	size_t used, block_count, block_room;
};

/* Makes the tree of sample type TYPE of P. P must exist as long as the tree. */
void ct_live_tree_make(struct ct_live_tree *t, const struct ct_profile *p, size_t type);
void ct_live_tree_release(struct ct_live_tree *t);

/* live_watch.c
 *
 * The thread that asks the process, so that the screen never waits for it: windows of the modes,
 * what the process says of itself, and where its threads are.
 *
 * All functions are called by the main thread, which blocks the signals that it handles before it
 * starts this thread.
 */

struct ct_live_watch;

/* Seconds after the last window in which a mode that was turned on ends by itself if this program
 * is killed. Longer than the longest time between two windows. */
#define CT_LIVE_LEASE 90

/* News from the process. The caller owns all of it. */
struct ct_live_news {
	/* The last window of each watched mode and of its companions. NULL: none. */
	struct ct_profile *profiles[CT_MODES], *companions[CT_MODES][CT_COMPANIONS];
	struct ct_profile *threads;	  /* profile of the threads, or NULL */
	struct cp_control_message status; /* valid if HAS_STATUS */
	char *said;			  /* a message for the user, or NULL */
	bool has_status;
	bool ended; /* the process is gone */
	/* Modes that are watched, and those that were turned on for it. */
	bool watched[CT_MODES], started[CT_MODES];
};

/* EVERY: seconds between two windows. SETTINGS: for modes that are turned on, or NULLs. */
struct ct_live_watch *ct_live_watch_new(int pid, double every, const char *const *settings);
/* Turns off what was turned on. Returns false if the process doesn't answer within some seconds. */
bool ct_live_watch_end(struct ct_live_watch *w);

/* Returns a descriptor that is readable when there are news. */
int ct_live_watch_fd(const struct ct_live_watch *w);
/* Gets the news. Returns false if there are none. */
bool ct_live_watch_news(struct ct_live_watch *w, struct ct_live_news *news);

/* Watches MODE from now on. */
void ct_live_watch_mode(struct ct_live_watch *w, int mode);
/* Sets whether the news include the threads. */
void ct_live_watch_threads(struct ct_live_watch *w, bool wanted);
void ct_live_watch_every(struct ct_live_watch *w, double every);
/* The process is gone, so nothing more is asked. */
void ct_live_watch_gone(struct ct_live_watch *w);

/* live.c
 *
 * The screen of `cprof live`: its contents, and the parts that draw it and react to keys. Called by
 * the main thread only. */

#define CT_LIVE_LEAST_EVERY 0.5
#define CT_LIVE_MOST_EVERY 60
#define CT_LIVE_FILTER 64

enum ct_live_view { CT_LIVE_TABLE, CT_LIVE_FLAME, CT_LIVE_THREADS };

/* The names from the root of a tree to a frame, by which the frame is found in another tree. */
struct ct_live_path {
	char **names;
	size_t count, room;
};

struct ct_live {
	int pid;
	char *program;
	struct ct_live_watch *watch;
	double every;

	/* The shown view of a mode (COMPANION 0) or of one of its companions (1, ...). */
	enum ct_live_view view;
	int mode, companion;
	bool help, paused, by_total, ended;
	char filter[CT_LIVE_FILTER];
	bool typing;   /* the user is typing the filter */
	size_t scroll; /* number of lines of the body above the screen */

	/* The last window of each mode and of its companions; NULL: none yet. */
	struct ct_profile *profiles[CT_MODES][1 + CT_COMPANIONS];
	/* The shown sample type, + 1; 0: the default. */
	size_t types[CT_MODES][1 + CT_COMPANIONS];
	bool watched[CT_MODES], started[CT_MODES];
	/* Made from the shown profile. */
	struct ct_live_table table;
	struct ct_live_tree tree;
	struct ct_live_frame *zoom, *chosen;	    /* frames of the tree; NULL: none */
	struct ct_live_path zoom_path, chosen_path; /* the same while there is no tree */
	size_t flame_top; /* number of levels of the tree above the screen */
	char **lines;	  /* lines of the threads */
	size_t line_count, line_room;
	struct ct_profile *threads;

	/* The status of the process. */
	struct cp_control_message status;
	bool has_status;
	double status_time, cpu; /* CPU: share of one processor between the last two statuses; below
				    0: unknown */
	unsigned long long cpu_ns;
	char *said; /* a message, or NULL */
};

/* ---- live.c ---- */

/* Shows the screen until the user leaves it. MODES: those to be watched, FIRST first. SETTINGS: as
 * for ct_live_watch_new. Returns the exit status. */
int ct_live(int pid, double every, int first, const bool *modes, const char *const *settings);
/* The profile that is shown, or NULL. */
struct ct_profile *ct_live_profile(const struct ct_live *l);
/* Makes the table and the tree anew for another profile or type. */
void ct_live_rebuild(struct ct_live *l);
/* Makes the lines of the threads anew. */
void ct_live_rebuild_lines(struct ct_live *l);
/* Does TEXT match the filter, in any case of letters? */
bool ct_live_matches(const struct ct_live *l, const char *text);

/* ---- live_keys.c ---- */

/* Handles KEY. Returns false if the user wants to leave. */
bool ct_live_keys(struct ct_live *l, int key);

/* ---- live_draw.c ---- */

void ct_live_draw(struct ct_live *l);
/* Number of rows between the lines at the top and the line at the bottom. */
int ct_live_draw_body_rows(void);
#define CT_LIVE_BODY 3 /* first row of the body */

/* ---- live_body.c: the table and the threads ---- */

void ct_live_body(struct ct_live *l);

/* ---- live_flame.c ---- */

void ct_live_flame(struct ct_live *l);
/* Handles KEY. Returns false if the key isn't one of the flame graph's. */
bool ct_live_flame_key(struct ct_live *l, int key);
/* Returns the path of a frame, to be dropped by the caller. */
struct ct_live_path ct_live_flame_path(const struct ct_live_frame *frame);
void ct_live_flame_drop(struct ct_live_path *path);
/* Returns the frame of TREE to which PATH leads, as far as it is there, and drops PATH. If the tree
 * is empty, returns NULL and keeps PATH for the next one. */
struct ct_live_frame *ct_live_flame_find(struct ct_live_tree *tree, struct ct_live_path *path);

/* live_screen.c
 *
 * ncurses, as far as it is used here. It is loaded when `cprof live` runs, because no other verb
 * needs it.
 *
 * The declarations are those of libncursesw.so.6, whose numbers and signatures don't change. The
 * header at build time may belong to another version than the library that is found at run time.
 */

struct ct_curses_window;

enum {
	CT_CURSES_ERR = -1,
	CT_CURSES_UNDERLINE = 1 << 17,
	CT_CURSES_REVERSE = 1 << 18,
	CT_CURSES_DIM = 1 << 20,
	CT_CURSES_BOLD = 1 << 21
};

enum {
	CT_KEY_DOWN = 0402,
	CT_KEY_UP = 0403,
	CT_KEY_LEFT = 0404,
	CT_KEY_RIGHT = 0405,
	CT_KEY_HOME = 0406,
	CT_KEY_BACKSPACE = 0407,
	CT_KEY_NPAGE = 0522,
	CT_KEY_PPAGE = 0523,
	CT_KEY_ENTER = 0527,
	CT_KEY_END = 0550
};

struct ct_curses {
	void *(*newterm)(const char *type, FILE *out, FILE *in);
	struct ct_curses_window *(*newwin)(int rows, int columns, int y, int x);
	int (*cbreak)(void);
	int (*noecho)(void);
	int (*nonl)(void);
	int (*curs_set)(int visibility);
	int (*set_escdelay)(int ms);
	int (*keypad)(struct ct_curses_window *, bool);
	int (*nodelay)(struct ct_curses_window *, bool);
	bool (*has_colors)(void);
	int (*start_color)(void);
	int (*use_default_colors)(void);
	int (*init_pair)(short pair, short text, short background);
	int (*tigetnum)(const char *name);
	char *(*tigetstr)(const char *name);
	int (*resizeterm)(int rows, int columns);
	int (*wresize)(struct ct_curses_window *, int rows, int columns);
	int (*clearok)(struct ct_curses_window *, bool);
	int (*werase)(struct ct_curses_window *);
	int (*wmove)(struct ct_curses_window *, int y, int x);
	int (*wattr_set)(struct ct_curses_window *, unsigned attributes, short pair, void *);
	int (*waddnstr)(struct ct_curses_window *, const char *text, int bytes);
	int (*wrefresh)(struct ct_curses_window *);
	int (*wgetch)(struct ct_curses_window *);
	int (*endwin)(void);
};

extern struct ct_curses ct_curses;

/* The terminal of `cprof live`: text at places, keys, signals. Everything is called by the main
 * thread.
 */

/* How text looks. Without colours, attributes replace them. */
enum ct_live_look {
	CT_LOOK_PLAIN,
	CT_LOOK_BOLD,
	CT_LOOK_DIM,
	CT_LOOK_HEAD, /* the first and last line of the screen */
	CT_LOOK_WARN,
	CT_LOOK_BAR,
	/* Frames of a flame graph: the program's own code, and other code. Neighbours differ. */
	CT_LOOK_OWN,
	CT_LOOK_OWN2,
	CT_LOOK_OTHER,
	CT_LOOK_OTHER2,
	CT_LOOK_CHOSEN,
	CT_LOOKS
};

enum ct_live_event {
	CT_EVENT_KEYS,	 /* there may be keys */
	CT_EVENT_NEWS,	 /* one of the descriptors is readable */
	CT_EVENT_REDRAW, /* the size changed, or the terminal is this program's again */
	CT_EVENT_END,	 /* a signal asks us to end */
};

/* Takes the terminal. Returns NULL, or a text, to be freed, that says why that is impossible and
 * what to do. */
char *ct_live_screen_open(void);
/* Gives the terminal back. May be called twice. */
void ct_live_screen_close(void);
/* Ends this program as the signal does that asked for the end, if there was one. Returns if there
 * was none, and for Ctrl-C, which is the way to leave for many. */
void ct_live_screen_obey_signal(void);

int ct_live_screen_rows(void);
int ct_live_screen_columns(void);
/* Can the screen show block elements? */
bool ct_live_screen_has_blocks(void);
/* Are there colours? */
bool ct_live_screen_has_colours(void);

void ct_live_screen_begin(void);
/* Puts TEXT at ROW and COLUMN, cut to COLUMNS; control characters become "?". Returns the columns
 * that it takes. */
int ct_live_screen_put(int row, int column, int columns, enum ct_live_look look, const char *text);
/* The same, and fills the rest of COLUMNS with spaces. */
void ct_live_screen_fill(int row, int column, int columns, enum ct_live_look look,
			 const char *text);
void ct_live_screen_end(void);
/* Draws the next picture on an empty screen. */
void ct_live_screen_redraw(void);

/* Waits for an event, also at the descriptors A and B (-1: none). */
enum ct_live_event ct_live_screen_wait(int a, int b);
/* Returns the next key, a byte or CT_KEY_*; below 0: none. */
int ct_live_screen_key(void);

#endif
