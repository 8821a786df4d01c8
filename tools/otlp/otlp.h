/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenTelemetry's profiles (OTLP, opentelemetry.proto.profiles.v1development): a profile in memory
 * as such a message.
 *
 * Each sample type becomes a Profile of its own, the default type first; all share one dictionary.
 * Labels become attributes ("thread" and "tid" under OpenTelemetry's names), except for trace_id
 * and span_id, which become a link. What OTLP has no field for is in pprof.* attributes, as
 * OpenTelemetry's conventions say, so that nothing is lost.
 */
#ifndef CT_OTLP_H
#define CT_OTLP_H

#include <stdint.h>
#include <stdio.h>

#include "core/model.h"

/* The names of a trace and a span as labels: 32 and 16 lower-case hexadecimal digits. */
#define CT_OTLP_TRACE_LABEL "trace_id"
#define CT_OTLP_SPAN_LABEL "span_id"

/* TEXT is NULL for a number. */
struct ct_otlp_attribute {
	const char *key, *text;
	int64_t number;
};

struct ct_otlp {
	const struct ct_profile *profile;
	/* What the samples are of: service.name, process.pid, host.name ... Keys are unique. */
	const struct ct_otlp_attribute *resource;
	size_t resource_count;
	uint64_t types; /* bit I: sample type I is written; 0: all are */
};

/* Writes a ProfilesData message, which is also an ExportProfilesServiceRequest, uncompressed.
 * Samples of equal stack and labels are summed; values of 0 are left out. Returns 0 or a negative
 * errno. Memory: about 32 bytes a sample, besides the profile. */
int ct_otlp_encode(const struct ct_otlp *what, FILE *to);

#define CT_OTLP_RESOURCE_MAX 16
/* Fills TO with what the profile itself tells: service.name and the like, as the program's SDK
 * published them, or else the program's name as service.name; process.pid, process.executable.name
 * and .path, and os.type. The texts live as long as P. Returns their number. */
size_t ct_otlp_resource(const struct ct_profile *p, struct ct_otlp_attribute *to);

#endif
