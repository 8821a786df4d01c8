/* The list of modes; see mode.h. */
#include "mode.h"

const struct cp_mode_ops *const cp_modes[CP_MODES] = {
	[CP_MODE_CPU] = &cp_mode_cpu,	[CP_MODE_WALL] = &cp_mode_wall,
	[CP_MODE_LOCK] = &cp_mode_lock, [CP_MODE_HOLDERS] = &cp_mode_holders,
	[CP_MODE_HEAP] = &cp_mode_heap, [CP_MODE_PEAK] = &cp_mode_peak,
	[CP_MODE_MMAP] = &cp_mode_mmap,
};

void cp_modes_thread_begin(struct cp_thread *t)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_modes[m] && cp_modes[m]->thread_begin)
			cp_modes[m]->thread_begin(t);
}

void cp_modes_thread_end(struct cp_thread *t)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_modes[m] && cp_modes[m]->thread_end)
			cp_modes[m]->thread_end(t);
}

void cp_modes_exec_begin(void)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_modes[m] && cp_modes[m]->exec_begin)
			cp_modes[m]->exec_begin();
}

void cp_modes_exec_failed(void)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_modes[m] && cp_modes[m]->exec_failed)
			cp_modes[m]->exec_failed();
}
