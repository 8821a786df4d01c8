/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells all modes of threads, forks and execs; see output.h. */
#include "output/output.h"

#include "base/start_data.h"

static const struct cp_mode_ops *const *table CP_START_DATA;

static uint32_t numbers CP_START_DATA; /* numbers of the table's modes, as bits */

void cp_mode_ops_set(const struct cp_mode_ops *const modes[CP_MODES])
{
	uint32_t found = 0;

	for (unsigned m = 0; m < CP_MODES; m++)
		if (modes[m]) {
			found |= UINT32_C(1) << m;
			if (m < CP_MAIN_MODES)
				cp_config_table_add(m, modes[m]->name, modes[m]->settings);
		}
	table = modes;
	numbers = found;
}

static unsigned lowest(uint32_t bits)
{
	return bits ? (unsigned)__builtin_ctz(bits) : CP_MODES;
}

unsigned cp_mode_ops_first(void)
{
	return lowest(numbers);
}

unsigned cp_mode_ops_after(unsigned m)
{
	return lowest(numbers & (UINT32_MAX << m << 1));
}

/* Call OP of every mode that has it. */
#define EACH(op, ...)                                                                              \
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))             \
		if (table[m]->op)                                                                  \
	table[m]->op(__VA_ARGS__)

void cp_mode_ops_thread_begin(struct cp_thread *t)
{
	EACH(thread_begin, t);
}

void cp_mode_ops_thread_end(struct cp_thread *t)
{
	EACH(thread_end, t);
}

void cp_mode_ops_thread_left(void)
{
	EACH(thread_left);
}

void cp_mode_ops_thread_changed(void)
{
	EACH(thread_changed);
}

void cp_mode_ops_unloaded(struct cp_module_diff *u)
{
	EACH(unloaded, u);
}

void cp_mode_ops_fork_begin(void)
{
	EACH(fork_begin);
}

void cp_mode_ops_fork_locks(void)
{
	EACH(fork_locks);
}

void cp_mode_ops_suspend(bool dumps)
{
	EACH(suspend, dumps);
}

void cp_mode_ops_resume(void)
{
	EACH(resume);
}

bool cp_mode_ops_has_more(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (table[m]->has_more && table[m]->has_more())
			return true;
	return false;
}

bool cp_mode_ops_keep(struct cp_thread *t)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (table[m]->keep && table[m]->keep(t))
			return true;
	return false;
}
