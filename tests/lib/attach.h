/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that load the library while they run, as `cprof attach` does, and detach it. */
#ifndef TESTS_ATTACH_H
#define TESTS_ATTACH_H

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/attach.h"
#include "base/control.h"
#include "host.h"

static void *attach_thread(void *library)
{
	struct cp_attach_request r = { .version = CP_ATTACH_VERSION };
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int (*attach)(struct cp_attach_request *) = NULL;
	void *f = handle ? dlsym(handle, CP_ATTACH_SYMBOL) : NULL;

	memcpy(&attach, &f, sizeof(f));
	EXPECT(attach != NULL);
	if (attach && attach(&r))
		printf("%s\n", r.reason);
	return NULL;
}

static void attach(char *library)
{
	pthread_t t;

	EXPECT(!pthread_create(&t, NULL, attach_thread, library) && !pthread_join(t, NULL));
}

/* Returns the result of a request of the control socket, with TEXT. */
static int ask(int what, const char *text)
{
	static struct cp_control_message m;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, CP_CONTROL_NAME "%d", getpid());

	m = (struct cp_control_message){ .magic = CP_CONTROL_MAGIC,
					 .version = CP_CONTROL_VERSION,
					 .request = (uint16_t)what,
					 .size = (uint32_t)strlen(text) };
	memcpy(m.text, text, m.size);
	if (connect(fd, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
	    send(fd, &m, CP_CONTROL_HEADER + m.size, 0) < 0 || recv(fd, &m, sizeof(m), 0) < 0)
		m.result = -errno;
	close(fd);
	return m.result;
}

/* Until the collector has ended: its socket is gone then. */
static void detach(void)
{
	int result = ask(CP_CONTROL_DETACH, "");

	EXPECT(result == 0);
	for (int i = 0; i < 5000 && ask(CP_CONTROL_STATUS, "") != -ECONNREFUSED; i++)
		usleep(1000);
}

#endif
