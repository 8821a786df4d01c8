/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof convert`: a profile in the format of another tool. */
#include "convert/convert.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "flame/flame.h"
#include "otlp/otlp.h"
#include "convert/pgo.h"

static struct {
	const char *output, *to, *type, *binary;
} my;

static const struct ct_option options[] = {
	CT_TEXT("to", "FORMAT", &my.to,
		"speedscope, firefox, perfetto, callgrind, folded, otlp, llvm,\n" CT_OPTIONS_INDENT
		"gcc, bolt or order"),
	CT_TEXT("output", "FILE", &my.output, "default: standard output"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "value shown first: a name or number"),
	CT_TEXT("binary", "NAME", &my.binary,
		"for compilers: the module, by name or path; default: the program"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options,
						  ct_threads_options, ct_filter_options, NULL };

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

static void write_otlp(const void *context, FILE *to)
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

static void write_gcc(const void *what, FILE *to)
{
	ct_pgo_tree_gcc(what, to == stdout ? ct_out_guard_past() : to);
}

static void write_perfetto(const void *what, FILE *to)
{
	ct_trace_perfetto_write(what, to == stdout ? ct_out_guard_past() : to);
}

static const struct {
	const char *name;
	ct_flame_writer *write;
	enum ct_pgo_needs needs;  /* 0: the binary isn't read */
	bool is_binary, is_trace; /* a trace has all files, each by itself */
} formats[] = {
	{ "speedscope", ct_convert_speedscope, 0, false, false },
	{ "callgrind", ct_convert_callgrind, 0, false, false },
	{ "folded", write_folded, 0, false, false },
	{ "otlp", write_otlp, 0, true, false },
	{ "firefox", ct_trace_firefox_write, 0, false, true },
	{ "perfetto", write_perfetto, 0, true, true },
	{ "llvm", ct_pgo_tree_llvm, CT_PGO_LLVM_LINES, false, false },
	{ "gcc", write_gcc, CT_PGO_LINES, true, false },
	{ "bolt", ct_pgo_bolt, CT_PGO_NUMBERED_SYMBOLS, false, false },
	{ "order", ct_pgo_order, CT_PGO_SYMBOLS, false, false },
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

static size_t find_format(const char *name)
{
	size_t i = 0;

	while (i < FORMATS && strcmp(formats[i].name, name) != 0)
		i++;
	return i;
}

static bool goes_to_a_terminal(void)
{
	return (!my.output || !strcmp(my.output, "-")) && isatty(STDOUT_FILENO);
}

/* Writes with the samples of the binary, if the format needs them. */
static int convert_with_binary(struct ct_convert *what, size_t format)
{
	struct ct_pgo pgo;
	int status = CT_FAILED;

	if (!formats[format].needs)
		return ct_flame_file(my.output, formats[format].write, what);
	what->pgo = &pgo;
	if (ct_pgo_open(&pgo, what->profile, what->type, my.binary, formats[format].needs))
		status = ct_flame_file(my.output, formats[format].write, what);
	ct_pgo_close(&pgo);
	return status;
}

static int convert(char *const *sources, int count, size_t format)
{
	struct ct_profile *p = ct_flame_sides_open(sources, count);
	struct ct_convert what;
	int status, error = 0;

	if (!p)
		return CT_FAILED;
	what = (struct ct_convert){ .profile = p,
				    .name = sources[0],
				    .threads = ct_filter_tags_threads_wanted(),
				    .error = &error };
	status = ct_flame_sides_type(p, my.type, &what.type);
	if (status == CT_OK)
		status = convert_with_binary(&what, format);
	if (status == CT_OK && error) {
		fprintf(stderr, "cprof: %s can't be written in this format: %s\n", sources[0],
			strerror(-error));
		status = CT_FAILED;
	}
	ct_model_free(p);
	return status;
}

static int convert_trace(char *const *sources, int count, size_t format)
{
	struct ct_trace t;
	int status = CT_FAILED;

	if (ct_trace_open(&t, sources, count))
		status = ct_flame_file(my.output, formats[format].write, &t);
	ct_trace_release(&t);
	return status;
}

static int verb_convert(int argc, char **argv)
{
	size_t format;

	if (!my.to)
		return ct_options_wrong(&ct_verb_convert, "-to=FORMAT is needed");
	format = find_format(my.to);
	if (format < FORMATS && formats[format].is_binary && goes_to_a_terminal()) {
		fputs("cprof: a profile is not written to a terminal; give -output=FILE\n", stderr);
		return CT_FAILED;
	}
	if (format == FORMATS)
		return ct_options_wrong(
			&ct_verb_convert,
			"-to=%s is none of speedscope, firefox, perfetto, callgrind, folded, otlp, "
			"llvm, gcc, bolt and order",
			my.to);
	return (formats[format].is_trace ? convert_trace : convert)(argv, argc, format);
}

const struct ct_verb ct_verb_convert = {
	.name = "convert",
	.operands = "-to=FORMAT FILE...",
	.summary = "A profile in another tool's format",
	.details =
		"  speedscope  https://www.speedscope.app (JSON; all sample types)\n"
		"  firefox     https://profiler.firefox.com (JSON; all files of a run, by time)\n"
		"  perfetto    https://ui.perfetto.dev (protobuf; all files of a run, by time)\n"
		"  callgrind   kcachegrind, callgrind_annotate; calls= are samples\n"
		"  folded      flamegraph.pl; see also \"cprof folded\"\n"
		"  otlp        OpenTelemetry's profiles (protobuf)\n"
		"  llvm        clang, rustc: -fprofile-sample-use=FILE (text)\n"
		"  gcc         GCC 12 to 14: -fauto-profile=FILE\n"
		"  bolt        llvm-bolt -data=FILE\n"
		"  order       ld.lld --call-graph-ordering-file=FILE\n",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_convert,
};
