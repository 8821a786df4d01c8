/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof convert -to=otlp`: OpenTelemetry's profiles; see otlp/otlp.h. */
#include <errno.h>

#include "convert/convert.h"
#include "core/core.h"
#include "otlp/otlp.h"

void ct_convert_otlp(const void *context, FILE *to)
{
	const struct ct_convert *what = context;
	struct ct_otlp_attribute resource[CT_OTLP_RESOURCE_MAX];
	struct ct_otlp o = { .profile = what->profile, .resource = resource };

	o.resource_count = ct_otlp_resource(what->profile, resource);
	if (to == stdout)
		to = ct_out_guard_past();
	*what->error = ct_otlp_encode(&o, to);
	if (!*what->error && fflush(to))
		*what->error = -errno;
}
