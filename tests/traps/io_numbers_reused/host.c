/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of a file becomes a socket's, after each way to close it; each socket gets one byte.
 */
#include <dirent.h>
#include <sys/socket.h>

#include "host.h"

int close_range(unsigned first, unsigned last, int flags);

static int file(void)
{
	int fd = open("/dev/null", O_WRONLY);

	EXPECT(write(fd, "x", 1) == 1);
	return fd;
}

/* FD is free again. */
static void is_socket(int fd)
{
	int s[2];

	EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
	EXPECT(s[0] == fd);
	EXPECT(write(s[0], "x", 1) == 1);
	syscall(SYS_close, s[0]);
	close(s[1]);
}

int main(void)
{
	int fd, s[2], low;
	FILE *f;
	DIR *d;

	close(fd = file());
	is_socket(fd);
	syscall(SYS_close, fd = file());
	is_socket(fd);
	fd = file();
	EXPECT(close_range((unsigned)fd, ~0u, 0) == 0);
	is_socket(fd);
	f = fdopen(fd = file(), "w");
	fclose(f);
	is_socket(fd);
	fd = open("/", O_RDONLY);
	d = fdopendir(fd);
	EXPECT(read(fd, s, 1) == -1);
	closedir(d);
	is_socket(fd);
	f = popen("exec cat >/dev/null", "w");
	fd = fileno(f);
	EXPECT(write(fd, "x", 1) == 1);
	low = open("/dev/null", O_RDONLY); /* popen has closed the lower end of the pipe */
	EXPECT(low < fd);
	pclose(f);
	is_socket(fd);
	close(low);
	/* In its place. */
	fd = file();
	EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0 && dup2(s[0], fd) == fd);
	EXPECT(write(fd, "x", 1) == 1);
	close(fd);
	close(s[0]);
	close(s[1]);
	HOST_END();
}
