/* SPDX-License-Identifier: BSD-3-Clause */
/* A vfork's child puts a pipe in the place of its output and writes there; its parent's output is
 * still what it was. Prints nothing to it but through write.
 */
#include "host.h"

int main(void)
{
	int p[2], status, fd = open("/dev/null", O_WRONLY);
	char c[2000];

	EXPECT(pipe(p) == 0);
	EXPECT(write(fd, "x", 1) == 1);
	for (int i = 0; i < 1000; i++) {
		pid_t child = vfork();

		if (!child) {
			dup2(p[1], fd);
			if (write(fd, "y", 1) != 1)
				_exit(1);
			_exit(0);
		}
		EXPECT(waitpid(child, &status, 0) == child && status == 0);
		EXPECT(write(fd, "x", 1) == 1);
	}
	EXPECT(read(p[0], c, sizeof(c)) == 1000);
	HOST_END();
}
