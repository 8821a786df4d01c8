/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole requests of a client of the control socket, answered by a session that is on: modes begin
 * and end, are set, dumped and taken windows of, whatever the texts are and whatever descriptors
 * come with them. The hooks of the library aren't in this program: its heap, locks and I/O give no
 * samples.
 *
 * The input: "~", the request ("1" is CP_CONTROL_STATUS), its descriptor ("M": the same as "m", and
 * the client goes without its reply), its text; and again. Another character in place of the
 * request: the text is the bytes of the message.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collect.h"
#include "host/host.h"
#include "session/session.h"

/* Longer inputs find nothing new. */
#define REQUESTS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cp_control_message message;

static void check(int holds)
{
	if (!holds)
		abort();
}

/* Files of profiles go nowhere: the session begins in a folder that has been removed. */
static void begin(void)
{
	char folder[] = "/tmp/fuzz-requests-XXXXXX";
	int here = open(".", O_DIRECTORY | O_CLOEXEC);

	check(here >= 0 && mkdtemp(folder) && !chdir(folder) && !rmdir(folder));
	check(!setenv("CPROF_CONTROL", "on", 1));
	cp_process_begin();
	check(cp_profiled_is_ours() && !fchdir(here));
	close(here);
	/* It would answer others meanwhile: requests are answered one at a time. */
	cp_collect_thread_stop();
}

static int descriptor(char kind)
{
	int fd = -1, pipes[2];

	switch (kind) {
	case 'm': fd = memfd_create("request", MFD_CLOEXEC); break;
	case 's': /* can't be written */
		fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		check(!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW));
		break;
	case 'r': fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); break;
	case 'f': fd = open("/dev/full", O_WRONLY | O_CLOEXEC); break;
	case 'd': fd = open("/", O_DIRECTORY | O_CLOEXEC); break;
	case 'p': /* nobody reads it: a write would wait, or raise a signal */
		check(!pipe2(pipes, O_CLOEXEC));
		close(pipes[0]);
		fd = pipes[1];
		break;
	default: break;
	}
	return fd;
}

/* What the client gets is a reply, and a file if it was promised one. */
static void check_reply(unsigned request, int fd)
{
	const struct cp_control_message *m = &message;
	struct stat st;
	bool writes = request == CP_CONTROL_DUMP || request == CP_CONTROL_THREADS;

	check(m->magic == CP_CONTROL_MAGIC && m->version == CP_CONTROL_VERSION &&
	      m->request == request && m->result <= 0 && m->result > -4096);
	check(m->size <= CP_CONTROL_TEXT && (!m->size || m->text[m->size - 1] == '\n'));
	if (writes && !m->result)
		check(!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0);
}

/* As the socket does it. */
static void answer(size_t got, int fd, bool received)
{
	unsigned request = message.request;

	if (cp_control_socket_check(&message, got))
		return;
	cp_control_answer_request(&message, fd);
	check_reply(request, fd);
	cp_control_see_answered(received);
}

static void make(unsigned request, const uint8_t *text, size_t size)
{
	if (size > CP_CONTROL_TEXT)
		size = CP_CONTROL_TEXT;
	message = (struct cp_control_message){ .magic = CP_CONTROL_MAGIC,
					       .version = CP_CONTROL_VERSION,
					       .request = (uint16_t)request,
					       .size = (uint32_t)size };
	memcpy(message.text, text, size);
}

/* Nothing is written to a file of this machine, however it is named. */
static void keep_inside(void)
{
	for (size_t i = 0; i < CP_CONTROL_TEXT; i++)
		if (message.text[i] == '/' && strncmp(message.text + i, "/dev/null", 9) != 0 &&
		    (i < 4 || strncmp(message.text + i - 4, "/dev/null", 9) != 0))
			message.text[i] = '_';
}

/* DATA: the request, its descriptor, its text. */
static void request(const uint8_t *data, size_t size)
{
	unsigned what = data[0] - (unsigned)'0';
	bool gone = data[1] >= 'A' && data[1] <= 'Z';
	int fd = descriptor((char)(gone ? data[1] - 'A' + 'a' : data[1]));
	size_t got = CP_CONTROL_HEADER;

	if (what < CP_CONTROL_REQUESTS) {
		make(what, data + 2, size - 2);
		got += message.size;
	} else {
		got = size - 2 < sizeof(message) ? size - 2 : sizeof(message);
		memcpy(&message, data + 2, got);
	}
	keep_inside();
	answer(got, fd, !gone);
	if (fd >= 0)
		close(fd);
}

/* The next input finds the session as this one did. */
static void end_modes(void)
{
	static const char *const modes[] = { "cpu", "wall", "heap", "lock", "io", "event" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		make(CP_CONTROL_STOP, (const uint8_t *)"", 0);
		cp_control_socket_text(&message, "mode", modes[i]);
		cp_control_socket_text(&message, "discard", "1");
		answer(CP_CONTROL_HEADER + message.size, -1, true);
		check(message.result == 0 || message.result == -ESRCH);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	const uint8_t *end = data + size, *next;

	if (!begun)
		begin();
	begun = true;
	for (unsigned i = 0; i < REQUESTS_MAX && data < end; i++, data = next) {
		next = memchr(data, '~', (size_t)(end - data));
		next = next ? next + 1 : end;
		size = (size_t)(next - data) - (next[-1] == '~');
		if (size >= 2)
			request(data, size);
	}
	end_modes();
	return 0;
}
