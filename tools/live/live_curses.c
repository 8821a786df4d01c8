/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads ncurses; see live.h. */
#include "live/live.h"

#include "core/core.h"

struct ct_curses ct_curses;

#define FUNCTION(name)                                                                             \
	{                                                                                          \
#name, &ct_curses.name                                                             \
	}

bool ct_live_curses_load(void)
{
	/* Some are in libtinfo, where that is a library of its own: ncursesw needs it, so dlsym
	 * finds them. */
	const struct ct_library_function functions[] = {
		FUNCTION(newterm),	FUNCTION(newwin),      FUNCTION(cbreak),
		FUNCTION(noecho),	FUNCTION(nonl),	       FUNCTION(curs_set),
		FUNCTION(set_escdelay), FUNCTION(keypad),      FUNCTION(nodelay),
		FUNCTION(has_colors),	FUNCTION(start_color), FUNCTION(use_default_colors),
		FUNCTION(init_pair),	FUNCTION(tigetnum),    FUNCTION(tigetstr),
		FUNCTION(resizeterm),	FUNCTION(wresize),     FUNCTION(clearok),
		FUNCTION(werase),	FUNCTION(wmove),       FUNCTION(wattr_set),
		FUNCTION(waddnstr),	FUNCTION(wrefresh),    FUNCTION(wgetch),
		FUNCTION(endwin)
	};

	return ct_library_load("libncursesw.so.6", functions,
			       sizeof(functions) / sizeof(*functions));
}
