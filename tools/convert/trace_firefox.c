/* SPDX-License-Identifier: BSD-3-Clause */
/* The Firefox Profiler's processed profile format, version 60: tables as columns of arrays.
 * Strings, functions, frames and stacks are shared by all threads. Times are milliseconds. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "flame/flame.h"

#define VERSION 60

struct out {
	const struct ct_trace *t;
	struct ct_json j;
};

/* A column: an array with a value for each of COUNT rows. */
static void column(struct out *o, const char *key, size_t count,
		   void (*put)(struct out *o, size_t i))
{
	ct_json_open(&o->j, key, '[');
	for (size_t i = 0; i < count; i++)
		put(o, i);
	ct_json_close(&o->j, ']');
}

static void put_null(struct out *o, size_t i)
{
	(void)i;
	ct_json_number(&o->j, NULL, 1e308 * 10);
}

static void put_zero(struct out *o, size_t i)
{
	(void)i;
	ct_json_integer(&o->j, NULL, 0);
}

static void put_less(struct out *o, size_t i)
{
	(void)i;
	ct_json_integer(&o->j, NULL, -1);
}

static void put_false(struct out *o, size_t i)
{
	(void)i;
	ct_json_bool(&o->j, NULL, false);
}

static void put_self(struct out *o, size_t i)
{
	ct_json_integer(&o->j, NULL, (int64_t)i);
}

static void put_index(struct ct_json *j, uint32_t index)
{
	if (index == CT_NONE)
		ct_json_number(j, NULL, 1e308 * 10);
	else
		ct_json_integer(j, NULL, index);
}

static void put_name(struct out *o, size_t i)
{
	ct_json_integer(&o->j, NULL, o->t->frames->list[i].name);
}

static void put_category(struct out *o, size_t i)
{
	ct_json_integer(&o->j, NULL, o->t->frames->list[i].kind);
}

static void put_caller(struct out *o, size_t i)
{
	put_index(&o->j, o->t->stacks[i].caller);
}

static void put_frame(struct out *o, size_t i)
{
	put_index(&o->j, o->t->stacks[i].frame);
}

static void put_string(struct out *o, size_t i)
{
	ct_json_text(&o->j, NULL, ct_text(o->t->frames->pool, (uint32_t)i));
}

/* Ends a table of ROWS with the columns that we have nothing for. */
static void end_table(struct out *o, const char *const *nulls, size_t count, size_t rows)
{
	for (size_t i = 0; i < count; i++)
		column(o, nulls[i], rows, put_null);
	ct_json_integer(&o->j, "length", (int64_t)rows);
	ct_json_close(&o->j, '}');
}

static void put_shared(struct out *o)
{
	size_t frames = o->t->frames->count, stacks = o->t->stack_count;
	static const char *const nulls[] = { "nativeSymbol", "innerWindowID", "line", "column" };
	static const char *const of_function[] = { "source", "lineNumber", "columnNumber" };
	static const char *const empty[] = { "resourceTable:lib,name,host,type",
					     "nativeSymbols:libIndex,address,name,functionSize",
					     "sources:uuid,filename" };

	ct_json_open(&o->j, "shared", '{');
	ct_json_open(&o->j, "stackTable", '{');
	column(o, "frame", stacks, put_frame);
	column(o, "prefix", stacks, put_caller);
	end_table(o, NULL, 0, stacks);
	ct_json_open(&o->j, "frameTable", '{');
	column(o, "address", frames, put_less);
	column(o, "inlineDepth", frames, put_zero);
	column(o, "category", frames, put_category);
	column(o, "subcategory", frames, put_zero);
	column(o, "func", frames, put_self);
	end_table(o, nulls, sizeof(nulls) / sizeof(*nulls), frames);
	ct_json_open(&o->j, "funcTable", '{');
	column(o, "name", frames, put_name);
	column(o, "isJS", frames, put_false);
	column(o, "relevantForJS", frames, put_false);
	column(o, "resource", frames, put_less);
	end_table(o, of_function, sizeof(of_function) / sizeof(*of_function), frames);
	for (unsigned i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		char *text = ct_memory_strdup(empty[i]), *save = NULL;

		ct_json_open(&o->j, strtok_r(text, ":,", &save), '{');
		for (char *key = strtok_r(NULL, ":,", &save); key;
		     key = strtok_r(NULL, ":,", &save))
			column(o, key, 0, put_null);
		end_table(o, NULL, 0, 0);
		free(text);
	}
	column(o, "stringArray", o->t->frames->pool->string_count, put_string);
	ct_json_close(&o->j, '}');
}

/* ---- threads ---- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

enum field { STACK, TIME, WEIGHT, CPU, NAME, START, END, PHASE, CATEGORY, DATA };

static const char *thread_text(const struct out *o, uint32_t thread)
{
	return thread == CT_NONE ? "" : o->t->threads[thread].name;
}

static void put_data(struct out *o, const struct ct_trace_item *item)
{
	static const char *const types[] = { "", "wait", "span", "", "wake" };

	ct_json_open(&o->j, NULL, '{');
	ct_json_text(&o->j, "type", types[item->kind]);
	if (item->kind == CT_TRACE_WAKE)
		ct_json_text(&o->j, "by", thread_text(o, item->other));
	if (item->kind == CT_TRACE_SPAN)
		ct_json_number(&o->j, "spans", item->weight);
	if (item->stack != CT_NONE) {
		ct_json_text(&o->j, "in",
			     ct_frame_name(o->t->frames, o->t->stacks[item->stack].frame));
		ct_json_open(&o->j, "cause", '{');
		ct_json_number(&o->j, "time", ms(item->begin));
		ct_json_integer(&o->j, "stack", item->stack);
		ct_json_close(&o->j, '}');
	}
	ct_json_close(&o->j, '}');
}

static void put_field(struct out *o, const struct ct_trace_item *item, enum field f)
{
	bool moment = item->kind == CT_TRACE_WAKE;

	switch (f) {
	case STACK: put_index(&o->j, item->stack); break;
	case TIME:
	case START: ct_json_number(&o->j, NULL, ms(item->begin)); break;
	case END:
		ct_json_number(&o->j, NULL, moment ? 1e308 * 10 : ms(item->begin + item->duration));
		break;
	case WEIGHT:
		ct_json_number(&o->j, NULL,
			       item->kind == CT_TRACE_SAMPLE ? item->weight / 1e6 : item->weight);
		break;
	case CPU: ct_json_number(&o->j, NULL, item->weight); break;
	case NAME:
		ct_json_integer(&o->j, NULL, ct_model_string(o->t->frames->pool, item->name));
		break;
	case PHASE: ct_json_integer(&o->j, NULL, moment ? 0 : 1); break;
	case CATEGORY: ct_json_integer(&o->j, NULL, 0); break;
	case DATA: put_data(o, item);
	}
}

/* A table of the items of the kinds in KINDS (bits), with these columns. */
static void put_table(struct out *o, const struct ct_trace_thread *t, const char *name,
		      unsigned kinds, const char *weight, const char *const *keys,
		      const enum field *fields)
{
	size_t count = 0;

	ct_json_open(&o->j, name, '{');
	for (unsigned k = 0; keys[k]; k++) {
		ct_json_open(&o->j, keys[k], '[');
		for (size_t i = 0; i < t->count; i++)
			if (kinds >> t->items[i].kind & 1)
				put_field(o, &t->items[i], fields[k]);
		ct_json_close(&o->j, ']');
	}
	for (size_t i = 0; i < t->count; i++)
		count += kinds >> t->items[i].kind & 1;
	if (weight)
		ct_json_text(&o->j, "weightType", weight);
	ct_json_integer(&o->j, "length", (int64_t)count);
	ct_json_close(&o->j, '}');
}

static void put_pid(struct out *o, int64_t pid)
{
	char *text = ct_memory_printf("%lld", (long long)pid);

	ct_json_text(&o->j, "pid", text);
	free(text);
}

static void put_thread(struct out *o, size_t i)
{
	static const char *const samples[] = { "stack", "time", "weight", "threadCPUDelta", NULL };
	static const char *const markers[] = { "data",	"name",	    "startTime", "endTime",
					       "phase", "category", NULL };
	static const char *const allocations[] = { "stack", "time", "weight", NULL };
	static const enum field fields[] = { STACK, TIME, WEIGHT, CPU },
				of_markers[] = { DATA, NAME, START, END, PHASE, CATEGORY };
	const struct ct_trace_thread *t = &o->t->threads[i];
	struct ct_json *j = &o->j;
	bool allocates = false;

	ct_json_open(j, NULL, '{');
	ct_json_text(j, "processType", "default");
	ct_json_text(j, "processName", t->process);
	ct_json_number(j, "processStartupTime", 0);
	ct_json_number(j, "processShutdownTime", 1e308 * 10);
	ct_json_number(j, "registerTime", ms(t->begin));
	ct_json_number(j, "unregisterTime", t->end ? ms(t->end) : 1e308 * 10);
	column(o, "pausedRanges", 0, put_null);
	ct_json_text(j, "name", t->name);
	ct_json_bool(j, "isMainThread", ct_trace_is_main(o->t, i));
	ct_json_bool(j, "showMarkersInTimeline", true);
	put_pid(o, t->pid);
	ct_json_integer(j, "tid", t->tid);
	put_table(o, t, "samples", 1u << CT_TRACE_SAMPLE, "tracing-ms", samples, fields);
	put_table(o, t, "markers", 1u << CT_TRACE_WAIT | 1u << CT_TRACE_SPAN | 1u << CT_TRACE_WAKE,
		  NULL, markers, of_markers);
	for (size_t k = 0; k < t->count; k++)
		allocates |= t->items[k].kind == CT_TRACE_ALLOCATION;
	if (allocates)
		put_table(o, t, "nativeAllocations", 1u << CT_TRACE_ALLOCATION, "bytes",
			  allocations, fields);
	ct_json_close(j, '}');
}

/* ---- memory, and what describes all ---- */

/* The counter of process PID, whose main thread is THREAD: differences, as this format counts. */
static void put_counter(struct out *o, int64_t pid, size_t thread)
{
	const struct ct_trace *t = o->t;
	uint64_t before = 0, count = 0;
	struct ct_json *j = &o->j;

	for (size_t i = 0; i < t->memory_count; i++)
		count += t->memory[i].pid == pid;
	if (!count)
		return;
	ct_json_open(j, NULL, '{');
	ct_json_text(j, "name", "resident memory");
	ct_json_text(j, "category", "Memory");
	ct_json_text(j, "description", "memory that the process has in RAM");
	put_pid(o, pid);
	ct_json_integer(j, "mainThreadIndex", (int64_t)thread);
	ct_json_open(j, "samples", '{');
	ct_json_open(j, "time", '[');
	for (size_t i = 0; i < t->memory_count; i++)
		if (t->memory[i].pid == pid)
			ct_json_number(j, NULL, ms(t->memory[i].when));
	ct_json_close(j, ']');
	ct_json_open(j, "count", '[');
	for (size_t i = 0; i < t->memory_count; i++) {
		if (t->memory[i].pid != pid)
			continue;
		ct_json_integer(j, NULL, (int64_t)(t->memory[i].resident - before));
		before = t->memory[i].resident;
	}
	ct_json_close(j, ']');
	ct_json_integer(j, "length", (int64_t)count);
	ct_json_close(j, '}');
	ct_json_close(j, '}');
}

/* By ct_frame_kind; the format wants a grey one. */
static void put_categories(struct ct_json *j)
{
	static const char *const names[] = { "Program", "Kernel",  "JIT",
					     "Other",	"Runtime", "Library" };
	static const char *const colours[] = {
		"yellow", "orange", "blue", "grey", "green", "purple"
	};

	ct_json_open(j, "categories", '[');
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", names[i]);
		ct_json_text(j, "color", colours[i]);
		ct_json_open(j, "subcategories", '[');
		ct_json_text(j, NULL, "Other");
		ct_json_close(j, ']');
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
}

static void put_schemas(struct ct_json *j)
{
	static const char *const schemas[][4] = { { "wait", "in", "Function", "string" },
						  { "span", "spans", "Stands for", "integer" },
						  { "wake", "by", "Woken by", "string" } };

	ct_json_open(j, "markerSchema", '[');
	for (unsigned i = 0; i < sizeof(schemas) / sizeof(*schemas); i++) {
		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", schemas[i][0]);
		ct_json_text(j, "tableLabel", "{marker.name}");
		ct_json_open(j, "display", '[');
		ct_json_text(j, NULL, "marker-chart");
		ct_json_text(j, NULL, "marker-table");
		ct_json_text(j, NULL, "timeline-overview");
		ct_json_close(j, ']');
		ct_json_open(j, "fields", '[');
		ct_json_open(j, NULL, '{');
		ct_json_text(j, "key", schemas[i][1]);
		ct_json_text(j, "label", schemas[i][2]);
		ct_json_text(j, "format", schemas[i][3]);
		ct_json_close(j, '}');
		ct_json_close(j, ']');
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
}

static void put_meta(struct out *o)
{
	struct ct_json *j = &o->j;

	ct_json_open(j, "meta", '{');
	ct_json_number(j, "interval", o->t->period / 1e6);
	ct_json_number(j, "startTime", (double)o->t->start / 1e6);
	ct_json_number(j, "profilingStartTime", 0);
	ct_json_number(j, "profilingEndTime", ms(o->t->end));
	ct_json_integer(j, "processType", 0);
	ct_json_text(j, "product", o->t->thread_count ? o->t->threads[0].process : "cprof");
	ct_json_integer(j, "stackwalk", 1);
	ct_json_integer(j, "version", 31);
	ct_json_integer(j, "preprocessedProfileVersion", VERSION);
	ct_json_text(j, "importedFrom", "cprof");
	ct_json_bool(j, "symbolicated", true);
	ct_json_bool(j, "symbolicationNotSupported", true);
	ct_json_bool(j, "usesOnlyOneStackType", true);
	ct_json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	ct_json_open(j, "sampleUnits", '{');
	ct_json_text(j, "time", "ms");
	ct_json_text(j, "eventDelay", "ms");
	ct_json_text(j, "threadCPUDelta", "ns");
	ct_json_close(j, '}');
	put_categories(j);
	put_schemas(j);
	ct_json_close(j, '}');
}

void ct_trace_firefox_write(const void *trace, FILE *to)
{
	struct out o = { .t = trace, .j = ct_json_to(to) };

	ct_json_open(&o.j, NULL, '{');
	put_meta(&o);
	column(&o, "libs", 0, put_null);
	column(&o, "threads", o.t->thread_count, put_thread);
	ct_json_open(&o.j, "counters", '[');
	for (size_t i = 0; i < o.t->thread_count; i++)
		if (ct_trace_is_main(o.t, i))
			put_counter(&o, o.t->threads[i].pid, i);
	ct_json_close(&o.j, ']');
	put_shared(&o); /* last, because markers add strings */
	ct_json_close(&o.j, '}');
}
