/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the CPU mode's settings; see settings.h. */
#include "modes/cpu/cpu.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_cpu_settings
CP_CONFIG_FITS(struct cp_cpu_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	NUMBER("CPUPROFILE_FREQUENCY", frequency, "99", 1, 10000, "samples per CPU second", OPTION(frequency), LIVE),
	CHOICE("CPROF_CPU_ENGINE", engine, "auto", "auto", "timer", "perf"),
};
/* clang-format on */

/* The profiler always has one timer per thread, so CPUPROFILE_PER_THREAD_TIMERS is ignored
 * silently. */
static void check_timer_signal(const struct cp_config_reader *r, struct cp_config *c)
{
	static const char *const prof[] = { "PROF", "SIGPROF", "27" };
	const char *value = cp_config_reader_get(r, "CPUPROFILE_TIMER_SIGNAL");
	unsigned ignored;

	if (value && cp_config_values_choice(value, prof, 3, &ignored))
		cp_config_reader_say(r, "CPUPROFILE_TIMER_SIGNAL", value, "PROF or 27", "PROF");
}

const struct cp_config_mode cp_cpu_settings = {
	.variable = "CPUPROFILE",
	.path_option = offsetof(struct cprof_options, cpu_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = check_timer_signal,
};
