/* SPDX-License-Identifier: BSD-3-Clause */
/* Pager, colours, safe text; see core.h. */
#include "core/model.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

static bool colours;
static pid_t pager;

static bool wants_colours(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return !(no && *no) && term && strcmp(term, "dumb");
}

static const char *pager_command(void)
{
	const char *own = getenv("CPROF_PAGER"), *common = getenv("PAGER");

	return own ? own : common ? common : "command -v less >/dev/null && exec less || exec cat";
}

/* stdout goes to the pager. If there is no pager, nothing changes. */
static void start_pager(const char *command)
{
	int ends[2];

	if (!*command || !strcmp(command, "cat") || pipe(ends))
		return;
	fflush(stdout);
	pager = fork();
	if (!pager) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* less quits if everything fits, keeps colours, and leaves the screen as it is. */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (pager > 0)
		dup2(ends[1], STDOUT_FILENO);
	else
		pager = 0;
	close(ends[1]);
}

void ct_out_begin(void)
{
	/* A pager has no width. */
	ct_short_name_columns();
	if (!isatty(STDOUT_FILENO))
		return;
	colours = wants_colours();
	/* If the user leaves the pager early, that must not kill this process. */
	signal(SIGPIPE, SIG_IGN);
	start_pager(pager_command());
}

int ct_out_end(void)
{
	int error = 0;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		error = errno ? errno : EIO;
	if (pager) {
		close(STDOUT_FILENO);
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
		pager = 0;
		return CT_OK;
	}
	if (error && error != EPIPE) {
		fprintf(stderr, "cprof: the output can't be written: %s\n", strerror(error));
		return CT_FAILED;
	}
	return CT_OK;
}

const char *ct_out_paint(enum ct_out_paint paint)
{
	return colours ? ct_out_guard_paint(paint) : "";
}

void ct_out_text(FILE *to, const char *text)
{
	size_t n = strlen(text), length;
	bool safe;

	for (; n; text += length, n -= length) {
		length = cp_text_character(text, n, &safe);
		length += !length;
		if (safe)
			fwrite(text, 1, length, to);
		else
			fputc('?', to);
	}
}

char *ct_out_word(const char *name)
{
	char *text = ct_memory_alloc(4 * strlen(name) + 3), *to = text;
	bool plain = !strpbrk(name, " \t\n!\"#$&'()*;<=>?[\\]^`{|}~");

	if (plain)
		return strcpy(text, name);
	for (*to++ = '\''; *name; name++)
		to = *name == '\'' ? stpcpy(to, "'\\''") : (*to = *name, to + 1);
	strcpy(to, "'");
	return text;
}
