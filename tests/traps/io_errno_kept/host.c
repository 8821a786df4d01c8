/* SPDX-License-Identifier: BSD-3-Clause */
/* errno after calls that succeed, and after those that fail. */
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "host.h"

#define KEEPS(call)                                                                                \
	do {                                                                                       \
		errno = 77;                                                                        \
		EXPECT(call);                                                                      \
		EXPECT(errno == 77);                                                               \
	} while (0)
#define SETS(error, call)                                                                          \
	do {                                                                                       \
		errno = 77;                                                                        \
		EXPECT((call) == -1);                                                              \
		EXPECT(errno == (error));                                                          \
	} while (0)

int main(void)
{
	char text[] = "abc", c[8];
	struct stat s;
	int p[2], fd;
	FILE *f;
	DIR *d;

	for (int i = 0; i < 300; i++) {
		KEEPS(pipe(p) == 0);
		KEEPS(write(p[1], "x", 1) == 1);
		KEEPS(read(p[0], c, 8) == 1);
		KEEPS(close(p[1]) == 0);
		KEEPS(read(p[0], c, 8) == 0);
		KEEPS(close(p[0]) == 0);
		SETS(EBADF, read(p[0], c, 1));
		SETS(EBADF, close(p[0]));
		SETS(EBADF, syscall(SYS_read, p[0], c, 1));
		SETS(ENOENT, open("/nonexistent/x", O_RDONLY));
		SETS(ENOENT, stat("/nonexistent/x", &s));
		SETS(ENOENT, rename("/nonexistent/x", "/nonexistent/y"));
		KEEPS(stat("/", &s) == 0);
		KEEPS((fd = open("/", O_RDONLY)) >= 0);
		SETS(EISDIR, read(fd, c, 1));
		SETS(ENOTSOCK, recv(fd, c, 1, 0));
		SETS(EFAULT, stat((const char *)8, &s));
		KEEPS(close(fd) == 0);
		KEEPS((d = opendir("/proc/self/task")));
		errno = 77;
		while (readdir(d))
			;
		EXPECT(errno == 77);
		KEEPS(closedir(d) == 0);
		errno = 77;
		EXPECT(!opendir("/nonexistent") && errno == ENOENT);
	}
	/* A stream without a descriptor. */
	f = fmemopen(text, sizeof(text), "r");
	KEEPS(fclose(f) == 0);
	HOST_END();
}
