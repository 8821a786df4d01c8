/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes windows of a process, as `cprof push` and serve do: take-windows PID MODE [SETTING].
 *
 * Each line of the input is the file for the next window. The answer is a line: "window" and the
 * names of the companions, "ended", "stopped" or "failed", with the reason. A companion's window is
 * in FILE.COMPANION. The end of the input closes the window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.h"
#include "core/core.h"
#include "core/read.h"

static void keep(struct ct_profile *p, const char *path)
{
	if (p)
		ct_write_file(p, path);
}

static void take(struct ct_window *w, const struct ct_control_mode *mode, const char *path)
{
	static const char *const words[] = { [CT_WINDOW_OK] = "window",
					     [CT_WINDOW_ENDED] = "ended",
					     [CT_WINDOW_STOPPED] = "stopped",
					     [CT_WINDOW_FAILED] = "failed" };
	struct ct_window_taken t;
	char *why;
	enum ct_window_result r = ct_window_take(w, &t, &why);

	keep(t.profile, path);
	printf("%s %s", words[r], why ? why : "");
	for (int i = 0; i < CT_COMPANIONS; i++) {
		char *beside;

		if (!t.companions[i])
			continue;
		beside = ct_memory_printf("%s.%s", path, mode->companions[i].name);
		keep(t.companions[i], beside);
		printf("%s ", mode->companions[i].name);
		free(beside);
	}
	putchar('\n');
	ct_window_taken_release(&t);
	free(why);
}

int main(int argc, char **argv)
{
	struct ct_window_how how = { .lease = 60 };
	struct ct_window *w;
	char line[4100], *why;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	how.mode = argv[2];
	how.setting = argv[3];
	if (ct_window_open(&w, atoi(argv[1]), &how, &why)) {
		printf("failed %s\n", why);
		free(why);
		return 1;
	}
	printf("open %s\n", ct_window_was_on(w) ? "was on" : "was off");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		take(w, &ct_control_modes[ct_control_modes_find(how.mode)], line);
	}
	ct_window_close(w);
	return 0;
}
