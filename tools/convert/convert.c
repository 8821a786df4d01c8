/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof convert`: a profile in the format of another tool. */
#include "convert/convert.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "flame/flame.h"
#include "otlp/otlp.h"

static struct {
	const char *output, *to, *type;
	bool threads;
} my;

static const struct ct_option options[] = {
	CT_TEXT("to", "FORMAT", &my.to, "speedscope, callgrind, folded or otlp"),
	CT_TEXT("output", "FILE", &my.output, "default: standard output"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "value shown first: a name or number"),
	CT_FLAG("threads", &my.threads, "each thread separately (speedscope, folded)"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_filter_options, NULL };

static void write_folded(const void *context, FILE *to)
{
	const struct ct_convert *what = context;
	struct ct_folded folded = { .profile = what->profile,
				    .type = what->type,
				    .by = CT_BY_FUNCTION,
				    .threads = what->threads };

	ct_folded_write(&folded, to);
}

/* ---- `cprof convert -to=otlp`: OpenTelemetry's profiles ---- */

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

static const struct {
	const char *name;
	ct_flame_writer *write;
} formats[] = {
	{ "speedscope", ct_convert_speedscope },
	{ "callgrind", ct_convert_callgrind },
	{ "folded", write_folded },
	{ "otlp", ct_convert_otlp },
};

static ct_flame_writer *find_writer(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].write;
	return NULL;
}

static bool goes_to_a_terminal(void)
{
	return (!my.output || !strcmp(my.output, "-")) && isatty(STDOUT_FILENO);
}

static int convert(char *const *sources, int count, ct_flame_writer *write)
{
	struct ct_profile *p = ct_flame_sides_open(sources, count);
	struct ct_convert what;
	int status, error = 0;

	if (!p)
		return CT_FAILED;
	what = (struct ct_convert){
		.profile = p, .name = sources[0], .threads = my.threads, .error = &error
	};
	status = ct_flame_sides_type(p, my.type, &what.type);
	if (status == CT_OK)
		status = ct_flame_file(my.output, write, &what);
	if (status == CT_OK && error) {
		fprintf(stderr, "cprof: %s can't be written in this format: %s\n", sources[0],
			strerror(-error));
		status = CT_FAILED;
	}
	ct_model_free(p);
	return status;
}

static int verb_convert(int argc, char **argv)
{
	ct_flame_writer *write;

	if (!my.to)
		return ct_options_wrong(&ct_verb_convert, "-to=FORMAT is needed");
	write = find_writer(my.to);
	if (write == ct_convert_otlp && goes_to_a_terminal()) {
		fputs("cprof: a profile is not written to a terminal; give -output=FILE\n", stderr);
		return CT_FAILED;
	}
	if (!write)
		return ct_options_wrong(&ct_verb_convert,
					"-to=%s is none of speedscope, callgrind, folded and otlp",
					my.to);
	return convert(argv, argc, write);
}

const struct ct_verb ct_verb_convert = {
	.name = "convert",
	.operands = "-to=FORMAT FILE...",
	.summary = "A profile in another tool's format",
	.details = "  speedscope  https://www.speedscope.app (JSON; all sample types)\n"
		   "  callgrind   kcachegrind, callgrind_annotate; calls= are samples\n"
		   "  folded      flamegraph.pl; see also \"cprof folded\"\n"
		   "  otlp        OpenTelemetry's profiles (protobuf)\n",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_convert,
};
