/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals of the I/O mode's hooks; see io.h. */
#include "modes/io/io.h"

#include "base/start_data.h"
#include "host/real.h"
#include "modes/io/signal/io_signal.h"

struct cp_io_real cp_io_real CP_START_DATA;

#define WANTED(minor, type, name, parameters)                                                      \
	{ .at = offsetof(struct cp_io_real, name), .since = minor },
static const struct cp_real_wanted wanted[] = { CP_IO_REAL_FUNCTIONS(WANTED) };
#define NAME(minor, type, name, parameters) #name "\0"
static const char wanted_names[] = CP_IO_REAL_FUNCTIONS(NAME);

int cp_io_real_resolve(void)
{
	int missing =
		cp_real_find(&cp_io_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);

	/* From now on a call with the mode off is one comparison and a jump. */
	cp_and_seqcst(&cp_io_active, ~(uint32_t)CP_IO_EARLY);
	return missing;
}
