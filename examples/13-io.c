/* SPDX-License-Identifier: BSD-3-Clause */
/* A store that makes each record safe on its own, and looks for its settings each time. The I/O
 * profile shows which calls take the time, which fail, and from where.
 *
 *     cc -O2 -g 13-io.c -o 13-io
 *     LD_PRELOAD=libcprof.so IOPROFILE=13-io.pb ./13-io
 *       -> 40 records
 *     cprof top -cum 13-io.pb
 *       -> store_record
 *     cprof tags 13-io.pb
 *       -> sync
 *     cprof top -cum -sample_index=errors 13-io.pb
 *       -> find_settings
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 40

static char record[65536];
static volatile int settings;

__attribute__((noinline)) static void find_settings(void)
{
	static const char *const places[] = { "/etc/store.d/settings", "settings.local" };

	for (int i = 0; i < 2; i++) {
		int fd = open(places[i], O_RDONLY);

		if (fd >= 0) {
			settings++;
			close(fd);
		}
	}
}

__attribute__((noinline)) static int store_record(int fd)
{
	int done = write(fd, record, sizeof(record)) == (ssize_t)sizeof(record);

	return fsync(fd) == 0 && done;
}

int main(void)
{
	int fd = open("store.data", O_CREAT | O_TRUNC | O_WRONLY, 0600), stored = 0;

	memset(record, 'x', sizeof(record));
	for (int i = 0; i < RECORDS; i++) {
		find_settings();
		stored += store_record(fd);
	}
	close(fd);
	printf("%d records\n", stored);
	return 0;
}
