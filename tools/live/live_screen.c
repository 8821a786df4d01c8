/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal, by ncurses; see live.h.
 *
 * Signals are blocked except while we wait, so what they ask for is done between two pictures. */
#include "live/live.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text.h"

static struct ct_curses_window *window;
static bool ours, utf8, colours;
static int rows = 24, columns_of_screen = 80;
static sigset_t waiting; /* signal mask during a wait */
static volatile sig_atomic_t resized, stopped, continued, end_signal;

static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
#define HANDLED (sizeof(handled) / sizeof(*handled))

/* ---- signals ---- */

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		resized = 1;
	else if (sig == SIGTSTP)
		stopped = 1;
	else if (sig == SIGCONT)
		continued = 1;
	else
		end_signal = sig;
}

static void handle_signal(int sig)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(sig, &a, NULL);
}

/* Called before newterm, which sets handlers of its own for signals without one. */
static void set_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HANDLED; i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, &waiting);
	for (size_t i = 0; i < HANDLED; i++) {
		sigdelset(&waiting, handled[i]);
		handle_signal(handled[i]);
	}
	signal(SIGPIPE, SIG_IGN);
}

void ct_live_screen_obey_signal(void)
{
	if (!end_signal || end_signal == SIGINT)
		return;
	signal(end_signal, SIG_DFL);
	raise(end_signal);
	sigprocmask(SIG_SETMASK, &waiting, NULL);
}

/* ---- ncurses ---- */

struct ct_curses ct_curses;

#define FUNCTION(name)                                                                             \
	{                                                                                          \
#name, &ct_curses.name                                                             \
	}

/* Fills ct_curses. Returns false if the library is not there. */
static bool live_curses_load(void)
{
	/* Some functions are in libtinfo, if that is a library of its own. ncursesw needs it, so
	 * dlsym finds them. */
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

/* For Ctrl-Z: gives the terminal to the shell meanwhile. */
static void stop_screen(void)
{
	sigset_t set;

	stopped = 0;
	ct_curses.endwin();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	handle_signal(SIGTSTP);
}

/* ---- begin and end ---- */

/* The colours of each look, and the attributes without colours. */
static const struct {
	short text, background;	      /* among 8 colours; -1: the terminal's own */
	short text256, background256; /* among 256 colours */
	unsigned attributes, without;
} looks[CT_LOOKS] = {
	[CT_LOOK_PLAIN] = { -1, -1, -1, -1, 0, 0 },
	[CT_LOOK_BOLD] = { -1, -1, -1, -1, CT_CURSES_BOLD, CT_CURSES_BOLD },
	[CT_LOOK_DIM] = { -1, -1, 245, -1, 0, 0 },
	[CT_LOOK_HEAD] = { 0, 6, 255, 24, 0, CT_CURSES_REVERSE },
	[CT_LOOK_WARN] = { 3, -1, 214, -1, CT_CURSES_BOLD, CT_CURSES_BOLD },
	[CT_LOOK_BAR] = { 2, -1, 208, -1, 0, 0 },
	[CT_LOOK_OWN] = { 0, 3, 16, 215, 0, CT_CURSES_REVERSE },
	[CT_LOOK_OWN2] = { 0, 2, 16, 222, 0, CT_CURSES_REVERSE | CT_CURSES_BOLD },
	[CT_LOOK_OTHER] = { 0, 6, 16, 110, 0, CT_CURSES_UNDERLINE },
	[CT_LOOK_OTHER2] = { 0, 7, 16, 152, 0, CT_CURSES_UNDERLINE | CT_CURSES_BOLD },
	[CT_LOOK_CHOSEN] = { 7, 1, 231, 125, CT_CURSES_BOLD, CT_CURSES_BOLD },
};

static void choose_colours(void)
{
	const char *no = getenv("NO_COLOR");
	bool many;

	colours = !(no && *no) && ct_curses.has_colors() && ct_curses.start_color() >= 0;
	if (!colours)
		return;
	ct_curses.use_default_colors();
	many = ct_curses.tigetnum("colors") >= 256;
	for (short i = 1; i < CT_LOOKS; i++)
		ct_curses.init_pair(i, many ? looks[i].text256 : looks[i].text,
				    many ? looks[i].background256 : looks[i].background);
}

static void take_size(void)
{
	struct winsize size;

	resized = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	rows = size.ws_row;
	columns_of_screen = size.ws_col;
	ct_curses.resizeterm(rows, columns_of_screen);
	ct_curses.wresize(window, rows, columns_of_screen);
	ct_curses.clearok(window, true);
}

static char *open_terminal(const char *term)
{
	const char *move;

	if (!live_curses_load())
		return ct_memory_strdup("the screen needs ncurses (libncursesw.so.6), which is not "
					"installed (Debian: libncursesw6); \"cprof record PID\" "
					"shows a window as text");
	setlocale(LC_CTYPE, "");
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	set_signals();
	move = ct_curses.newterm(NULL, ct_out_guard_past(), stdin) ? ct_curses.tigetstr("cup")
								   : NULL;
	if (!move || move == (char *)-1)
		return ct_memory_printf("the terminal \"%s\" is unknown here, or has no screen: "
					"set TERM; \"cprof record PID\" shows a window as text",
					term);
	return NULL;
}

char *ct_live_screen_open(void)
{
	const char *term = getenv("TERM");
	char *why;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ct_memory_strdup("the screen needs a terminal; \"cprof record PID\" shows a "
					"window as text");
	if (!term || !*term || !strcmp(term, "dumb"))
		return ct_memory_printf("the terminal (TERM=%s) has no screen: set TERM, or use "
					"\"cprof record PID\", which shows a window as text",
					term ? term : "");
	why = open_terminal(term);
	if (why)
		return why;
	ours = true;
	atexit(ct_live_screen_close);
	ct_curses.cbreak();
	ct_curses.noecho();
	ct_curses.nonl();
	ct_curses.curs_set(0);
	ct_curses.set_escdelay(50);
	choose_colours();
	window = ct_curses.newwin(0, 0, 0, 0);
	ct_curses.keypad(window, true);
	ct_curses.nodelay(window, true);
	take_size();
	return NULL;
}

void ct_live_screen_close(void)
{
	if (!ours)
		return;
	ours = false;
	ct_curses.endwin();
}

/* ---- pictures ---- */

int ct_live_screen_rows(void)
{
	return rows;
}

int ct_live_screen_columns(void)
{
	return columns_of_screen;
}

bool ct_live_screen_has_blocks(void)
{
	return utf8;
}

bool ct_live_screen_has_colours(void)
{
	return colours;
}

void ct_live_screen_begin(void)
{
	ct_curses.werase(window);
}

void ct_live_screen_end(void)
{
	ct_curses.wrefresh(window);
}

void ct_live_screen_redraw(void)
{
	ct_curses.clearok(window, true);
}

/* Writes the next character of *TEXT to TO, as the terminal can show it. Returns its columns. */
static int take_character(const char **text, char *to, size_t *bytes)
{
	mbstate_t state = { 0 };
	bool safe;
	wchar_t c;
	size_t n = utf8 ? mbrtowc(&c, *text, strlen(*text), &state) : 1;
	int width;

	if (!utf8 && (unsigned char)**text < 0x80)
		c = (unsigned char)**text;
	else if (!utf8) {
		/* One "?" replaces all bytes of a character. */
		while (((unsigned char)(*text)[n] & 0xc0) == 0x80)
			n++;
		c = 0;
	} else if (n == (size_t)-1 || n == (size_t)-2 || !n) {
		n = 1;
		c = 0;
	}
	cp_text_character(*text, strlen(*text), &safe);
	width = c && safe ? wcwidth(c) : -1;
	if (width < 0) {
		to[(*bytes)++] = '?';
		width = 1;
	} else {
		memcpy(to + *bytes, *text, n);
		*bytes += n;
	}
	*text += n;
	return width;
}

int ct_live_screen_put(int row, int column, int columns, enum ct_live_look look, const char *text)
{
	char *shown;
	size_t bytes = 0, before;
	int used = 0;

	if (columns > columns_of_screen - column)
		columns = columns_of_screen - column;
	if (row < 0 || row >= rows || columns <= 0)
		return 0;
	shown = ct_memory_alloc(2 * strlen(text) + 8);
	while (*text) {
		int width;

		before = bytes;
		width = take_character(&text, shown, &bytes);
		if (used + width > columns) {
			bytes = before;
			break;
		}
		used += width;
	}
	ct_curses.wattr_set(window, colours ? looks[look].attributes : looks[look].without,
			    colours ? (short)look : 0, NULL);
	ct_curses.wmove(window, row, column);
	ct_curses.waddnstr(window, shown, (int)bytes);
	ct_curses.wattr_set(window, 0, 0, NULL);
	free(shown);
	return used;
}

void ct_live_screen_fill(int row, int column, int columns, enum ct_live_look look, const char *text)
{
	int used = ct_live_screen_put(row, column, columns, look, text);
	char *spaces = ct_memory_printf("%*s", columns > used ? columns - used : 0, "");

	ct_live_screen_put(row, column + used, columns - used, look, spaces);
	free(spaces);
}

/* ---- events ---- */

enum ct_live_event ct_live_screen_wait(int a, int b)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			      { .fd = a, .events = POLLIN },
			      { .fd = b, .events = POLLIN } };
	int n = ppoll(p, 3, NULL, &waiting);

	if (end_signal)
		return CT_EVENT_END;
	if (stopped)
		stop_screen();
	if (continued) {
		continued = 0;
		ct_curses.endwin();
		take_size();
		return CT_EVENT_REDRAW;
	}
	if (resized) {
		take_size();
		return CT_EVENT_REDRAW;
	}
	if (n > 0 && p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return CT_EVENT_END;
	return n > 0 && !p[0].revents ? CT_EVENT_NEWS : CT_EVENT_KEYS;
}

int ct_live_screen_key(void)
{
	return ct_curses.wgetch(window);
}
