/* SPDX-License-Identifier: BSD-3-Clause */
/* ncurses, as far as it is used here. It is loaded when `cprof live` runs, because no other verb
 * needs it. Called by live_screen.c.
 *
 * The declarations are those of libncursesw.so.6, whose numbers and signatures don't change. The
 * header at build time may belong to another version than the library that is found at run time.
 */
#ifndef CT_LIVE_CURSES_H
#define CT_LIVE_CURSES_H

#include <stdbool.h>
#include <stdio.h>

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

/* Fills ct_curses. Returns false if the library is not there. */
bool ct_live_curses_load(void);
extern struct ct_curses ct_curses;

#endif
