/* SPDX-License-Identifier: BSD-3-Clause */
/* Knows which process is profiled; see host.h. */
#include "host/host.h"

#include "base/start_data.h"

static uint32_t active CP_START_DATA;
static uint32_t retired CP_START_DATA;
static int pid CP_START_DATA;

void cp_profiled_begin(void)
{
	pid = cp_sys_getpid();
}

void cp_profiled_set_active(bool is)
{
	cp_store_release(&active, is);
}

void cp_profiled_retire(void)
{
	cp_store_relaxed(&retired, 1);
}

void cp_profiled_return(void)
{
	cp_store_relaxed(&retired, 0);
}

int cp_profiled_pid(void)
{
	return pid;
}

bool cp_profiled_active(void)
{
	return cp_load_acquire(&active) != 0;
}

bool cp_profiled_is_this(void)
{
	/* A child of clone() may have the same pid, in its own pid namespace. */
	return (cp_profiled_retired() || cp_sys_getpid() == pid) && !cp_fork_mark_is_gone();
}

/* A process ran beside its parent, in the parent's TLS. */
static uint32_t any_beside;

bool cp_profiled_is_this_thread(void)
{
	if (cp_self.unshared && cp_fork_mark_is_there())
		return true;
	if (!cp_profiled_is_this())
		return false;
	/* The child of a vfork is gone as soon as its parent runs again. */
	cp_self.unshared = !cp_profiled_retired() && !cp_load_relaxed(&any_beside);
	return true;
}

void cp_profiled_shares_thread(bool by_vfork)
{
	if (!by_vfork)
		cp_store_relaxed(&any_beside, 1);
	cp_self.unshared = 0;
}

bool cp_profiled_is_ours(void)
{
	return cp_profiled_active() && cp_profiled_is_this();
}

bool cp_profiled_retired(void)
{
	return cp_load_relaxed(&retired) != 0;
}
