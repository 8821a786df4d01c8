/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzzer's function over the files that are kept for it: its seeds, and what it once found.
 * In make check; see tests/fuzz/seeds.
 */
#include <dirent.h>

#define OWN_MAIN
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_READ (1 << 20)

static const char *folder;

static void replay(const char *name)
{
	static uint8_t data[SIZE_MAX_READ];
	char path[1024];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	CHECK(f != NULL);
	if (!f)
		return;
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	printf("# %s: %zu bytes\n", name, size);
	/* Cut off anywhere, too. */
	for (size_t n = size; n > 0; n -= n > 64 ? n / 16 : 1)
		CHECK_EQ(LLVMFuzzerTestOneInput(data, n), 0);
}

static void test_kept_inputs_do_no_harm(void)
{
	unsigned count = 0;
	struct dirent *e;
	DIR *d = opendir(folder);

	if (!d)
		SKIP("there is no folder of inputs");
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			replay(e->d_name);
			count++;
		}
	closedir(d);
	CHECK(count > 0);
}

int main(void)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/tests/fuzz/seeds/" FUZZER,
		 getenv("srcdir") ? getenv("srcdir") : ".");
	folder = path;
	RUN(test_kept_inputs_do_no_harm);
	return harness_end();
}
