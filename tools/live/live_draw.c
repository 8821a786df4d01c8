/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines at the top and at the bottom, and the help; see live.h.
 *
 *     redis-server  pid 4711  cpu 98%  modes cpu (heap)                             every 2s
 *     cpu: 1.96s in 2.0s, 194 samples  lost 0  cost 0.12%
 *     a message, the filter, or the frame of the flame graph that is chosen
 *     ... the body ...
 *     keys
 */
#include <stdlib.h>
#include <string.h>

#include "live/live.h"

/* With less CPU time than this, a share is meaningless. */
#define ENOUGH_CPU_NS 100000000u

int ct_live_draw_body_rows(void)
{
	int rows = ct_live_screen_rows() - CT_LIVE_BODY - 1;

	return rows > 0 ? rows : 0;
}

/* ---- the first line ---- */

/* Returns "cpu (heap)": modes that this screen has turned on are in parentheses. */
static char *modes_text(const struct ct_live *l)
{
	char *text = ct_memory_strdup("");

	for (int m = 0; m < CT_MODES; m++) {
		const char *name = ct_control_modes[m].name;
		char *longer;

		if (!ct_control_mode_number(&l->status, name, "since") && !l->started[m])
			continue;
		longer = ct_memory_printf(l->started[m] ? "%s (%s)" : "%s %s", text, name);
		free(text);
		text = longer;
	}
	return text;
}

static void draw_first(const struct ct_live *l)
{
	char *modes = modes_text(l), cpu[32] = "", *left, *right;
	int columns = ct_live_screen_columns(), n;

	if (l->cpu >= 0 && !l->ended)
		snprintf(cpu, sizeof(cpu), "  cpu %.0f%%", 100 * l->cpu);
	left = ct_memory_printf(" %s  pid %d%s  modes%s", l->program ? l->program : "?", l->pid,
				cpu, *modes ? modes : " -");
	right = ct_memory_printf("%severy %gs ",
				 l->ended    ? "ENDED  "
				 : l->paused ? "PAUSED  "
					     : "",
				 l->every);
	ct_live_screen_fill(0, 0, columns, CT_LOOK_HEAD, left);
	n = (int)strlen(right);
	if (columns >= 2 * n + 20)
		ct_live_screen_put(0, columns - n, n, CT_LOOK_HEAD, right);
	free(right);
	free(left);
	free(modes);
}

/* ---- the second line ---- */

static char *lost_text(const struct ct_live *l)
{
	const struct ct_control_mode *m = &ct_control_modes[l->mode];
	unsigned long long lost = ct_control_mode_number(&l->status, m->name, "lost");
	char text[CT_NUMBER_ROOM];

	if (m->waits)
		return ct_memory_strdup(
			lost ? ct_numbers_format(text, (int64_t)lost, "nanoseconds", "auto") : "0");
	return ct_memory_printf("%llu", lost);
}

static char *cost_text(const struct ct_live *l)
{
	unsigned long long own = ct_control_number(&l->status, "cost_ns");
	unsigned long long all = ct_control_number(&l->status, "cpu_ns");

	if (all < own + ENOUGH_CPU_NS)
		return ct_memory_strdup("-");
	return ct_memory_printf("%.2f%%", 100.0 * (double)own / (double)(all - own));
}

/* Returns "lock delay", but not "cpu cpu". */
static char *what_text(const struct ct_live *l, const struct ct_profile *p)
{
	const struct ct_control_mode *m = &ct_control_modes[l->mode];
	const char *mode = l->companion ? m->companions[l->companion - 1].infix : m->name;
	const char *type = p ? ct_text(p, p->types[l->table.type].type) : mode;

	return strcmp(type, mode) != 0 ? ct_memory_printf("%s %s", mode, type)
				       : ct_memory_strdup(mode);
}

static void draw_second(const struct ct_live *l)
{
	static const char *const counted[CT_MODES] = { "samples", "samples", "allocations",
						       "waits",	  "calls",   "samples" };
	const struct ct_profile *p = ct_live_profile(l);
	char *lost = lost_text(l), *cost = cost_text(l), *what = what_text(l, p), *text;
	char sum[CT_NUMBER_ROOM];

	if (p)
		text = ct_memory_printf(" %s: %s in %.1fs, %lld %s  lost %s  cost %s", what,
					ct_live_table_value(&l->table, sum, l->table.sum),
					(double)p->duration_nanos / 1e9,
					(long long)l->table.samples, counted[l->mode], lost, cost);
	else
		text = ct_memory_printf(" %s  lost %s  cost %s", what, lost, cost);
	ct_live_screen_put(1, 0, ct_live_screen_columns(), CT_LOOK_BOLD, text);
	free(text);
	free(what);
	free(cost);
	free(lost);
}

/* ---- the third line ---- */

static char *chosen_text(const struct ct_live *l)
{
	char value[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];

	return ct_memory_printf(" %s: %s, %s%s", l->chosen->name,
				ct_live_table_value(&l->table, value, l->chosen->value),
				ct_numbers_percent(share, l->chosen->value, l->table.sum) +
					strspn(share, " "),
				l->chosen->own ? ", your code" : "");
}

static void draw_third(const struct ct_live *l)
{
	enum ct_live_look look = CT_LOOK_WARN;
	char *text;

	if (l->typing)
		text = ct_memory_printf(" Filter: %s_   (Enter keeps it, Esc removes it)",
					l->filter);
	else if (l->ended)
		text = ct_memory_printf(" Process %d has ended; these are its last figures. q "
					"leaves.",
					l->pid);
	else if (l->said)
		text = ct_memory_printf(" %s", l->said);
	else if (*l->filter)
		text = ct_memory_printf(" Filter: %s   (Esc removes it)", l->filter);
	else if (l->view == CT_LIVE_FLAME && l->chosen)
		text = chosen_text(l), look = CT_LOOK_BOLD;
	else
		return;
	ct_live_screen_put(2, 0, ct_live_screen_columns(), look, text);
	free(text);
}

/* ---- keys ---- */

static void draw_keys(const struct ct_live *l)
{
	static const char *const tables[] = {
		" c cpu  w wall  h heap  l lock  i io  e event | f flame  t threads | s sort  v "
		"value  / "
		"filter  p pause  +/- time  ? help  q quit",
		" c w h l i e mode  f flame  t threads  s sort  / filter  p pause  ? help  q quit"
	};
	static const char *const flames[] = {
		" c cpu  w wall  h heap  l lock  i io  e event | f table  t threads | arrows "
		"choose  Enter "
		"zoom  u out  / find  p pause  ? help  q quit",
		" arrows choose  Enter zoom  u out  f table  / find  p pause  ? help  q quit"
	};
	static const char *const threads[] = {
		" c cpu  w wall  h heap  l lock  i io  e event | t table  f flame | arrows scroll  "
		"/ filter "
		" p pause  +/- time  ? help  q quit",
		" arrows scroll  t table  f flame  / filter  p pause  ? help  q quit"
	};
	const char *const *texts = l->view == CT_LIVE_FLAME	? flames
				   : l->view == CT_LIVE_THREADS ? threads
								: tables;
	int columns = ct_live_screen_columns();

	ct_live_screen_fill(ct_live_screen_rows() - 1, 0, columns, CT_LOOK_HEAD,
			    texts[(int)strlen(texts[0]) > columns]);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"c w h l i e CPU, wall clock, heap, locks, I/O, page faults: turned on if off",
		"            (modes in parentheses), and off again at the end. The same key",
		"            again: who holds the locks; the heap's peak",
		"s           sort by own or by total",
		"v           the next value: bytes, blocks, delay, calls",
		"f           flame graph of the last window, and back; arrows, Enter, u",
		"t           what every thread does now, and back",
		"/           show what has this text only; Esc shows all again",
		"+ -         longer, shorter windows",
		"p, space    pause: the screen stays, the program and the profile go on",
		"arrows, PgUp, PgDn, Home, End",
		"            scroll",
		"Ctrl-L      draw the screen anew",
		"q, Ctrl-C   leave",
		"",
		"own: in the function itself; of your code, with the libraries that it",
		"calls. total: with all that it calls. Shares are of the window's sum.",
		"lost, cost: since the start of the mode, of the process (cprof ps).",
	};

	for (int i = 0; i < (int)(sizeof(lines) / sizeof(*lines)) && i < ct_live_draw_body_rows();
	     i++)
		ct_live_screen_put(CT_LIVE_BODY + i, 1, ct_live_screen_columns() - 1, CT_LOOK_PLAIN,
				   lines[i]);
}

void ct_live_draw(struct ct_live *l)
{
	ct_live_screen_begin();
	draw_first(l);
	draw_second(l);
	draw_third(l);
	if (l->help)
		draw_help();
	else if (l->view == CT_LIVE_FLAME && ct_live_profile(l) && l->table.sum)
		ct_live_flame(l);
	else
		ct_live_body(l);
	draw_keys(l);
	ct_live_screen_end();
}
