/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper that the library starts for CPROF_PUSH=URL; see push.h. control/control.h says which
 * of several helpers stays. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/control.h"
#include "core/core.h"
#include "push/push.h"

static bool asks_for_us(const struct cp_control_message *status, void *url)
{
	char *value = ct_control_value(status, "push");
	bool is = value && !strcmp(value, url);

	free(value);
	return is;
}

static bool look(struct ct_push *p, void *url)
{
	ct_push_follow_all(p->follow, true, asks_for_us, url);
	return ct_push_follow_count(p->follow) > 0;
}

static int serve(const struct ct_push_how *how, const char *url)
{
	struct ct_push p;

	if (ct_push_begin(&p, how, true))
		return CT_FAILED;
	if (look(&p, (char *)url))
		ct_push_loop(&p, look, (char *)url);
	return ct_push_end(&p);
}

int ct_push_helper(const struct ct_push_how *how, const char *url)
{
	int status = CT_OK;

	/* A process whose helper found ours still there, and left, is seen by the next round. */
	while (ct_helper_become_only("push", url)) {
		bool any;
		struct ct_push probe = { .how = how };

		status = serve(how, url);
		ct_helper_leave();
		how->follow->queue = NULL;
		probe.follow = ct_push_follow_new(how->follow);
		any = look(&probe, (char *)url);
		ct_push_follow_free(probe.follow);
		if (!any)
			break;
	}
	return status;
}
