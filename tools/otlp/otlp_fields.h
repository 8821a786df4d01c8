/* SPDX-License-Identifier: BSD-3-Clause */
/* Field numbers of the messages of OTLP profiles that are written field by field (otlp.proto says
 * why), and the names of attributes that say what pprof's format has and OTLP's has not. */
#ifndef CT_OTLP_FIELDS_H
#define CT_OTLP_FIELDS_H

enum { OTLP_DATA_RESOURCES = 1, OTLP_DATA_DICTIONARY = 2 };
enum { OTLP_RESOURCE = 1, OTLP_RESOURCE_SCOPES = 2 };
enum { OTLP_SCOPE = 1, OTLP_SCOPE_PROFILES = 2 };
enum { OTLP_PROFILE_TYPE = 1, OTLP_PROFILE_SAMPLES = 2 };
enum {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS = 2,
	OTLP_FUNCTIONS = 3,
	OTLP_LINKS = 4,
	OTLP_STRINGS = 5,
	OTLP_ATTRIBUTES = 6,
	OTLP_STACKS = 7,
};

#define OTLP_BUILD_ID "process.executable.build_id.gnu"
#define OTLP_HAS_FUNCTIONS "pprof.mapping.has_functions"
#define OTLP_HAS_FILENAMES "pprof.mapping.has_filenames"
#define OTLP_HAS_LINES "pprof.mapping.has_line_numbers"
#define OTLP_HAS_INLINES "pprof.mapping.has_inline_frames"
#define OTLP_IS_FOLDED "pprof.location.is_folded"
#define OTLP_COMMENT "pprof.profile.comment"
#define OTLP_DOC_URL "pprof.profile.doc_url"
#define OTLP_DROP_FRAMES "pprof.profile.drop_frames"
#define OTLP_KEEP_FRAMES "pprof.profile.keep_frames"
#define OTLP_DEFAULT_TYPE "pprof.scope.default_sample_type"
#define OTLP_TYPE_ORDER "pprof.scope.sample_type_order"

#define OTLP_TRACE_BYTES 16
#define OTLP_SPAN_BYTES 8

#endif
