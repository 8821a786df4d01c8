/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/otlp/, by the file that implements them. */
#ifndef CP_OTLP_OTLP_H
#define CP_OTLP_OTLP_H

#include <protobuf-c/protobuf-c.h>

#include "core/report.h"

/* OpenTelemetry's profiles (OTLP, opentelemetry.proto.profiles.v1development): a profile in memory
 * as such a message.
 *
 * Each sample type becomes a Profile of its own, the default type first; all share one dictionary.
 * Labels become attributes ("thread" and "tid" under OpenTelemetry's names), except for trace_id
 * and span_id, which become a link. What OTLP has no field for is in pprof.* attributes, as
 * OpenTelemetry's conventions say, so that nothing is lost.
 */

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
	/* Attributes of the process: service.name, process.pid, host.name ... Keys are unique. */
	const struct ct_otlp_attribute *resource;
	size_t resource_count;
};

/* Writes a ProfilesData message, which is also an ExportProfilesServiceRequest, uncompressed.
 * Samples of equal stack and labels are summed; values of 0 are left out. Returns 0 or a negative
 * errno. Memory: about 32 bytes a sample, besides the profile. */
int ct_otlp_encode(const struct ct_otlp *what, FILE *to);

#define CT_OTLP_RESOURCE_MAX 16
/* Fills TO from the profile: the attributes that the program's SDK published, or else the program's
 * name as service.name; process.pid, process.executable.name and .path, and os.type. The texts live
 * as long as P. Returns their number. */
size_t ct_otlp_resource(const struct ct_profile *p, struct ct_otlp_attribute *to);

/* Field numbers of the messages of OTLP profiles that are written field by field (otlp.proto says
 * why), and the names of attributes that say what pprof's format has and OTLP's has not. */

enum { OTLP_DATA_RESOURCES = 1, OTLP_DATA_DICTIONARY = 2 };
enum { OTLP_RESOURCE = 1, OTLP_RESOURCE_SCOPES = 2 };
enum { OTLP_SCOPE = 1, OTLP_SCOPE_PROFILES = 2 };
enum { OTLP_PROFILE_SAMPLES = 2 };
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

/* otlp_encode.c
 *
 * Writes the fields of a protobuf message, or only counts their bytes: a message's size stands
 * before its contents. Used by otlp_encode.c.
 */

struct ct_otlp_out {
	FILE *to; /* NULL: only count the bytes */
	uint64_t bytes;
	int error;
	uint8_t *message; /* one packed message */
	size_t message_room;
};

void ct_otlp_encode_bytes(struct ct_otlp_out *o, unsigned field, const void *data, size_t n);
void ct_otlp_encode_message(struct ct_otlp_out *o, unsigned field, const ProtobufCMessage *m);

/* otlp_rows.c
 *
 * The samples of a profile as OTLP wants them: numbered stacks, sets of attributes, links, and one
 * row for each combination of these. Used by otlp_encode.c.
 *
 * All numbers are those of the message's tables: 0 is none, the first entry is 1.
 */

struct ct_otlp_row {
	uint32_t stack;
	uint32_t set; /* label set of the profile */
};

/* An attribute of the table: one value, or several texts and numbers of the same key. */
struct ct_otlp_entry {
	uint32_t key, unit;    /* strings of TEXTS */
	uint32_t first, count; /* values */
	bool list;
};

/* TEXT is 0 for a number or a bool. */
struct ct_otlp_value {
	uint32_t text; /* string of VALUE_TEXTS + 1 */
	bool truth;    /* NUMBER is a bool */
	int64_t number;
};

struct ct_otlp_link {
	uint8_t trace[OTLP_TRACE_BYTES], span[OTLP_SPAN_BYTES];
};

struct ct_otlp_set {
	uint32_t first, count; /* range in set_attributes */
	uint32_t link;
};

struct ct_otlp_rows {
	const struct ct_profile *p;
	struct ct_profile *texts;	/* a profile whose strings are the string table */
	struct ct_profile *value_texts; /* a profile whose strings are values of attributes */

	struct ct_otlp_row *rows;
	int64_t *values; /* type_count values per row */
	size_t row_count, row_room;
	uint32_t *stack_sample; /* by stack - 1: a sample that has the stack */
	size_t stack_count, stack_room;

	struct ct_otlp_entry *entries; /* by attribute - 1 */
	struct ct_otlp_value *entry_values;
	size_t entry_count, entry_room, value_count, value_room;
	struct ct_otlp_link *links; /* by link - 1 */
	size_t link_count, link_room;
	struct ct_otlp_set *sets; /* by index of the label set */
	uint32_t *set_attributes;
	size_t set_attribute_count, set_attribute_room;

	struct ct_table stack_table, row_table, entry_table, link_table;
};

void ct_otlp_rows_init(struct ct_otlp_rows *r, const struct ct_profile *p);
void ct_otlp_rows_release(struct ct_otlp_rows *r);

/* Returns the number of a text in the string table. Bytes that are not UTF-8 become '?', because a
 * receiver refuses a whole message for one of them. */
uint32_t ct_otlp_rows_string(struct ct_otlp_rows *r, const char *text);
/* Returns the number of an attribute of the table, which is added if it is new. UNIT may be "". */
uint32_t ct_otlp_rows_attribute(struct ct_otlp_rows *r, const char *key, const char *unit,
				const struct ct_otlp_value *values, size_t count, bool list);
struct ct_otlp_value ct_otlp_rows_value(struct ct_otlp_rows *r, const char *text);
uint32_t ct_otlp_rows_text(struct ct_otlp_rows *r, const char *key, const char *text);
uint32_t ct_otlp_rows_true(struct ct_otlp_rows *r, const char *key);

/* Numbers the attributes of all label sets that samples have (otlp_sets.c). */
void ct_otlp_sets_take(struct ct_otlp_rows *r);

/* otlp_tables.c
 *
 * The dictionary of an OTLP message: the tables that samples refer to. Used by otlp_encode.c.
 */

struct ct_otlp_tables {
	struct ct_otlp_rows *rows;
	/* By the profile's index: the number in the message's table, 0 = not in it. */
	uint32_t *location_at, *function_at, *mapping_at;
	/* By number - 1: the index in the profile. */
	uint32_t *locations, *functions, *mappings;
	size_t location_count, function_count, mapping_count;
	uint32_t **location_attributes,
		**mapping_attributes; /* each list ends with 0, and may be NULL */
};

/* Chooses and numbers what the rows need, and adds its texts and attributes to ROWS. */
void ct_otlp_tables_init(struct ct_otlp_tables *t, struct ct_otlp_rows *rows);
void ct_otlp_tables_release(struct ct_otlp_tables *t);
/* Writes the fields of a ProfilesDictionary. Nothing may be added to the rows' texts after the
 * first call. */
void ct_otlp_tables_write(const struct ct_otlp_tables *t, struct ct_otlp_out *o);

#endif
