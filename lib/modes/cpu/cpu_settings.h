/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU mode's settings. */
#ifndef CP_CPU_SETTINGS_H
#define CP_CPU_SETTINGS_H

enum cp_engine_choice { CP_ENGINE_AUTO, CP_ENGINE_TIMER, CP_ENGINE_PERF };

struct cp_cpu_settings {
	unsigned frequency;	      /* CPUPROFILE_FREQUENCY, Hz, 1-10000 */
	enum cp_engine_choice engine; /* CPROF_CPU_ENGINE */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_cpu_settings;

#endif
