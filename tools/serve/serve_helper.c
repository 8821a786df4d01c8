/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h.
 *
 * The server is a child: it never asks a process itself, and who is to be served must be asked.
 * Nobody is asked again before all that were found have ended.
 */
#include "serve/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/verbs.h"

struct watched {
	struct pollfd *items; /* pidfds */
	size_t count, room;
};

static void release_watched(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++)
		close(w->items[i].fd);
	free(w->items);
}

static struct watched find_watched(const char *address)
{
	const struct ct_serve_pids only = { .asked = address };
	struct ct_serve_processes all;
	struct watched w = { NULL, 0, 0 };

	ct_serve_processes_ask(&all, &only, false);
	for (size_t i = 0; i < all.count; i++) {
		int fd = (int)syscall(SYS_pidfd_open, all.items[i].pid, 0);

		if (fd >= 0)
			*CT_PUSH(w.items, w.count, w.room) =
				(struct pollfd){ .fd = fd, .events = POLLIN };
		free(all.items[i].program);
	}
	free(all.items);
	return w;
}

/* Waits until all in W have ended, or SERVER has. Returns true if W's processes have. */
static bool wait_for(struct watched *w, int server)
{
	size_t left = w->count;

	*CT_PUSH(w->items, w->count, w->room) = (struct pollfd){ .fd = server, .events = POLLIN };
	while (left) {
		int n = poll(w->items, w->count, -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || w->items[w->count - 1].revents)
			break;
		for (size_t i = 0; i + 1 < w->count; i++)
			if (w->items[i].fd >= 0 && w->items[i].revents) {
				close(w->items[i].fd);
				w->items[i].fd = -1;
				left--;
			}
	}
	w->items[--w->count].fd = -1;
	return !left;
}

static bool is_any(const char *address)
{
	struct watched w = find_watched(address);
	bool any = w.count;

	release_watched(&w);
	return any;
}

/* Returns the exit status: CT_FAILED if the server ended before the processes. */
static int serve_while_any(const char *address, int (*serve)(const char *address))
{
	pid_t parent = getpid(), child = fork();
	int pidfd;
	bool goes_on = child > 0, all_ended = false;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? serve(address) : CT_FAILED);
	}
	pidfd = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
	while (goes_on) {
		struct watched w = find_watched(address);

		all_ended = !w.count;
		goes_on = !all_ended && wait_for(&w, pidfd);
		release_watched(&w);
	}
	if (child > 0) {
		kill(child, SIGTERM);
		waitpid(child, NULL, 0);
	}
	if (pidfd >= 0)
		close(pidfd);
	return all_ended ? CT_OK : CT_FAILED;
}

int ct_serve_helper(const char *address, int (*serve)(const char *address))
{
	int status = CT_OK;

	/* The next round sees a process whose helper left because it found this one still there. */
	while (ct_helper_become_only("serve", address)) {
		if (is_any(address))
			status = serve_while_any(address, serve);
		ct_helper_leave();
		if (status != CT_OK || !is_any(address))
			break;
	}
	return status;
}
