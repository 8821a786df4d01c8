/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the heap mode's settings; see settings.h. */
#include "modes/heap/heap.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_heap_settings
CP_CONFIG_FITS(struct cp_heap_settings);

#define BYTES "a size as 1G or 100M, or 0 for off"

/* clang-format off */
static const struct cp_config_row rows[] = {
	SWITCH("HEAPPROFILE_USE_PID", use_pid, "0"),
	SIZE("CPROF_HEAP_INTERVAL", interval, "512K", 1, UINT64_C(1) << 30,
	     "a size as 512K or 1M (1 to 1G; 1: every allocation)", OPTION(heap_interval), LIVE),
	NUMBER("CPROF_HEAP_BUDGET", budget, NULL, 0, 1000000, "samples a second, or 1% to 100% of the CPU time (0: the interval stays)", OR_PERCENT, LIVE),
	SIZE("HEAP_PROFILE_ALLOCATION_INTERVAL", allocated, NULL, 0, UINT64_MAX, BYTES),
	SIZE("HEAP_PROFILE_DEALLOCATION_INTERVAL", freed, NULL, 0, UINT64_MAX, BYTES),
	SIZE("HEAP_PROFILE_INUSE_INTERVAL", in_use, NULL, 0, UINT64_MAX, BYTES),
	DURATION("HEAP_PROFILE_TIME_INTERVAL", time_ns, NULL, CP_CONFIG_DUMP_MIN, CP_CONFIG_DUMP_MAX,
		 "seconds or a duration as 10m, or 0 for off"),
	SWITCH("HEAP_PROFILE_MMAP", mmap, "0", OPTION(heap_mmap)),
	LIST("CPROF_HEAP_VIEWS", views, "resident", "resident", "lifetimes", "fragmentation", "mmap"),
};
/* clang-format on */

bool cp_heap_settings_shows(const struct cp_heap_settings *s, enum cp_heap_view view)
{
	unsigned views = s->views & CP_CONFIG_UNSET && s->interval <= 1 ? 0 : s->views;

	return (view == CP_HEAP_VIEW_MMAP && s->mmap) || (views >> view & 1);
}

static void read_mmap_switches(const struct cp_config_reader *r, struct cp_config *c)
{
	struct cp_heap_settings *s = cp_config_of(c, CPROF_HEAP);
	bool only = cp_config_reader_switch(r, "HEAP_PROFILE_ONLY_MMAP");

	if (only)
		cp_config_reader_say(r, "HEAP_PROFILE_ONLY_MMAP", "1",
				     "0: mappings have a file beside the heap's",
				     "HEAP_PROFILE_MMAP=1");
	if (cp_config_reader_switch(r, "HEAP_PROFILE_MMAP_LOG"))
		cp_config_reader_say(r, "HEAP_PROFILE_MMAP_LOG", "1", "0: mappings are not logged",
				     "0");
	s->mmap |= only;
}

const struct cp_config_mode cp_heap_settings = {
	.variable = "HEAPPROFILE",
	.path_option = offsetof(struct cprof_options, heap_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = read_mmap_switches,
};
