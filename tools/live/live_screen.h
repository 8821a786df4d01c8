/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal of `cprof live`: text at places, keys, signals. Everything is called by the main
 * thread.
 */
#ifndef CT_LIVE_SCREEN_H
#define CT_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* How text looks. Where there are no colours, attributes take their place. */
enum ct_live_look {
	CT_LOOK_PLAIN,
	CT_LOOK_BOLD,
	CT_LOOK_DIM,
	CT_LOOK_HEAD, /* the first and the last line */
	CT_LOOK_WARN,
	CT_LOOK_BAR,
	/* Frames of a flame graph: the program's own code, and other code. Neighbours have
	 * different ones. */
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
	CT_EVENT_REDRAW, /* another size, or the terminal is ours again */
	CT_EVENT_END,	 /* a signal asks us to end */
};

/* Makes the terminal ours. Returns NULL, or why that can't be, and what to do, to be freed. */
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
/* Puts TEXT there, cut to COLUMNS; control characters become "?". Returns the columns that it
 * takes. */
int ct_live_screen_put(int row, int column, int columns, enum ct_live_look look, const char *text);
/* The same, and fills the rest of COLUMNS with spaces. */
void ct_live_screen_fill(int row, int column, int columns, enum ct_live_look look,
			 const char *text);
void ct_live_screen_end(void);
/* The next picture is drawn on an empty screen. */
void ct_live_screen_redraw(void);

/* Waits for something to happen, also at the descriptors A and B (-1: none). */
enum ct_live_event ct_live_screen_wait(int a, int b);
/* The next key, a byte or CT_KEY_*; below 0: there is none. */
int ct_live_screen_key(void);

#endif
