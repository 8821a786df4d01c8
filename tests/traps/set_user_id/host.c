/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with the library. As a set-user-id program it must not look at the environment; to show
 * that it would otherwise, the test runs it without that bit, too. Argument: a relative path to
 * profile to, by the API; one more: until the end,
 * with lines. */
#include "cprof.h"
#include "host.h"

int main(int argc, char **argv)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	burn(0.05);
	if (argc > 1) {
		o.cpu_path = argv[1];
		o.frequency = 1000;
		o.symbolize = argc > 2 ? "full" : NULL;
		EXPECT(cprof_start(&o) == 0);
		burn(0.05);
		if (argc == 2)
			EXPECT(cprof_stop() == 0);
	}
	HOST_END();
}
