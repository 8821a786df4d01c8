/* SPDX-License-Identifier: BSD-3-Clause */
/* One start or stop at a time; see session.h. */
#include "session/session.h"

static uint32_t changing;

bool cp_api_change_begin(void)
{
	return !cp_exchange_acqrel(&changing, 1);
}

int cp_api_change_end(int err)
{
	cp_store_release(&changing, 0);
	return err;
}

bool cp_api_change_fork_child(void)
{
	return cp_exchange_acqrel(&changing, 0) != 0;
}
