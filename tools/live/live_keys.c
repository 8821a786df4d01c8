/* SPDX-License-Identifier: BSD-3-Clause */
/* Obeys keys; see live.h. The texts of help are in live_draw.c. */
#include <stdlib.h>
#include <string.h>

#include "live/live.h"

#define ESCAPE 27
#define DELETE 127
#define CTRL_L 12
#define CTRL_U 21

static void show_view(struct ct_live *l, enum ct_live_view view)
{
	l->view = view;
	l->scroll = 0;
	l->help = false;
	ct_live_watch_threads(l->watch, view == CT_LIVE_THREADS);
}

/* Returns the next companion that has samples; 0: the mode. */
static int next_companion(const struct ct_live *l)
{
	for (int i = l->companion + 1; i <= CT_COMPANIONS; i++)
		if (l->profiles[l->mode][i])
			return i;
	return 0;
}

/* Shows MODE; if it is shown already, its next companion. */
static void show_mode(struct ct_live *l, int mode)
{
	bool same = l->mode == mode && l->view != CT_LIVE_THREADS && l->watched[mode];

	l->companion = same ? next_companion(l) : 0;
	l->mode = mode;
	if (!l->ended && !l->watched[mode])
		ct_live_watch_mode(l->watch, mode);
	show_view(l, l->view == CT_LIVE_THREADS ? CT_LIVE_TABLE : l->view);
	ct_live_rebuild(l);
}

static void next_type(struct ct_live *l)
{
	const struct ct_profile *p = ct_live_profile(l);
	size_t *type = &l->types[l->mode][l->companion];

	if (!p || !p->type_count)
		return;
	*type = (*type ? *type : ct_model_default_type(p) + 1) % p->type_count + 1;
	ct_live_rebuild(l);
}

static void change_every(struct ct_live *l, bool longer)
{
	static const double steps[] = { 0.5, 1, 2, 5, 10, 30, 60 };
	const size_t count = sizeof(steps) / sizeof(*steps);
	double to = l->every;

	for (size_t i = 0; i < count; i++) {
		double step = steps[longer ? i : count - 1 - i];

		if (longer ? step > l->every : step < l->every) {
			to = step;
			break;
		}
	}
	l->every = to;
	ct_live_watch_every(l->watch, to);
}

/* ---- the filter ---- */

static void filter_changed(struct ct_live *l)
{
	l->scroll = 0;
	ct_live_rebuild_lines(l);
}

/* Removes the last character. */
static void shorten(char *text)
{
	size_t n = strlen(text);

	while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static void type(struct ct_live *l, int key)
{
	size_t n = strlen(l->filter);

	if (key == '\r' || key == '\n' || key == CT_KEY_ENTER) {
		l->typing = false;
	} else if (key == ESCAPE) {
		l->typing = false;
		*l->filter = '\0';
	} else if (key == CTRL_U) {
		*l->filter = '\0';
	} else if (key == DELETE || key == '\b' || key == CT_KEY_BACKSPACE) {
		shorten(l->filter);
	} else if (key >= ' ' && key < 256 && n + 1 < sizeof(l->filter)) {
		l->filter[n] = (char)key;
		l->filter[n + 1] = '\0';
	}
	filter_changed(l);
}

/* ---- all keys ---- */

static bool scroll(struct ct_live *l, int key)
{
	size_t page = (size_t)ct_live_draw_body_rows();

	/* Drawing corrects a scroll that goes too far. */
	switch (key) {
	case CT_KEY_DOWN:
	case 'j': l->scroll++; return true;
	case CT_KEY_UP:
	case 'k': l->scroll -= l->scroll > 0; return true;
	case CT_KEY_NPAGE: l->scroll += page; return true;
	case CT_KEY_PPAGE: l->scroll -= l->scroll < page ? l->scroll : page; return true;
	case CT_KEY_HOME:
	case 'g': l->scroll = 0; return true;
	case CT_KEY_END:
	case 'G': l->scroll = SIZE_MAX / 2; return true;
	default: return false;
	}
}

static bool choose_mode(struct ct_live *l, int key)
{
	static const char keys[CT_MODES + 1] = "cwhlie";
	const char *at = key > 0 && key < 128 ? strchr(keys, key) : NULL;

	if (!at || key == '\0')
		return false;
	show_mode(l, (int)(at - keys));
	return true;
}

static void toggle_view(struct ct_live *l, enum ct_live_view view)
{
	show_view(l, l->view == view ? CT_LIVE_TABLE : view);
}

bool ct_live_keys(struct ct_live *l, int key)
{
	if (l->typing) {
		type(l, key);
		return true;
	}
	if (key == 'q' || key == 'Q')
		return false;
	if (l->help) { /* any key only closes the help */
		l->help = false;
		return true;
	}
	if (l->view == CT_LIVE_FLAME ? ct_live_flame_key(l, key) : scroll(l, key))
		return true;
	if (choose_mode(l, key))
		return true;
	switch (key) {
	case 'f': toggle_view(l, CT_LIVE_FLAME); break;
	case 't': toggle_view(l, CT_LIVE_THREADS); break;
	case 's':
		l->by_total = !l->by_total;
		ct_live_table_sort(&l->table, l->by_total);
		break;
	case 'v': next_type(l); break;
	case 'p':
	case ' ': l->paused = !l->paused; break;
	case '+': change_every(l, true); break;
	case '-': change_every(l, false); break;
	case '/': l->typing = true; break;
	case ESCAPE:
		*l->filter = '\0';
		filter_changed(l);
		break;
	case '?': l->help = true; break;
	case CTRL_L: ct_live_screen_redraw(); break;
	default: break;
	}
	return true;
}
