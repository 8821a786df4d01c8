/* SPDX-License-Identifier: BSD-3-Clause */
/* Perfetto's trace format (protos/perfetto/trace/trace.proto): a message of packets, all of one
 * sequence. Times are nanoseconds since the start; a clock snapshot says when that was. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "core/report.h"
#include "flame/flame.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER }; /* TrackEvent.Type */
/* Fields of TracePacket. */
enum {
	CLOCK_SNAPSHOT = 6,
	TIMESTAMP = 8,
	SEQUENCE = 10,
	TRACK_EVENT = 11,
	INTERNED_DATA = 12,
	SEQUENCE_FLAGS = 13,
	TRACK_DESCRIPTOR = 60,
	PERF_SAMPLE = 66
};

/* A message that is being made. */
struct message {
	uint8_t *data;
	size_t size, room;
};

struct out {
	const struct ct_trace *t;
	FILE *to;
	struct message packet, part, inner;
	uint64_t flows;
};

/* ---- protobuf ---- */

static void put_varint(struct message *m, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*CT_PUSH(m->data, m->size, m->room) = (uint8_t)v | 0x80;
	*CT_PUSH(m->data, m->size, m->room) = (uint8_t)v;
}

static void put_number(struct message *m, unsigned field, uint64_t v)
{
	put_varint(m, field << 3 | VARINT);
	put_varint(m, v);
}

static void put_fixed(struct message *m, unsigned field, uint64_t v)
{
	put_varint(m, field << 3 | FIXED64);
	for (int i = 0; i < 8; i++)
		*CT_PUSH(m->data, m->size, m->room) = (uint8_t)(v >> 8 * i);
}

static void put_bytes(struct message *m, unsigned field, const void *data, size_t size)
{
	put_varint(m, field << 3 | BYTES);
	put_varint(m, size);
	for (size_t i = 0; i < size; i++)
		*CT_PUSH(m->data, m->size, m->room) = ((const uint8_t *)data)[i];
}

static void put_text(struct message *m, unsigned field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

/* Adds PART to M and empties PART. */
static void put_part(struct message *m, unsigned field, struct message *part)
{
	put_bytes(m, field, part->data, part->size);
	part->size = 0;
}

/* Writes PART as field FIELD of a packet. */
static void end_packet(struct out *o, unsigned field)
{
	struct message head = { 0 };

	put_part(&o->packet, field, &o->part);
	put_number(&o->packet, SEQUENCE, 1);
	put_varint(&head, 1 << 3 | BYTES);
	put_varint(&head, o->packet.size);
	fwrite(head.data, 1, head.size, o->to);
	fwrite(o->packet.data, 1, o->packet.size, o->to);
	o->packet.size = 0;
	free(head.data);
}

/* ---- what is interned, and tracks ---- */

static void put_pair(struct out *o, unsigned field, uint64_t id, const char *text)
{
	put_number(&o->inner, 1, id);
	put_text(&o->inner, 2, text);
	put_part(&o->part, field, &o->inner);
}

/* Ids are indices + 1. One mapping stands for all modules: names are known, addresses aren't. */
static void put_interned(struct out *o)
{
	const struct ct_frames *frames = o->t->frames;
	uint32_t *path = ct_memory_alloc((o->t->stack_count + 1) * sizeof(*path));

	put_pair(o, 16, 1, "");
	put_pair(o, 17, 1, o->t->thread_count ? o->t->threads[0].process : "program");
	put_number(&o->inner, 1, 1); /* Mapping */
	put_number(&o->inner, 2, 1);
	put_number(&o->inner, 5, UINT64_C(1) << 47);
	put_number(&o->inner, 7, 1);
	put_part(&o->part, 19, &o->inner);
	for (size_t i = 0; i < frames->count; i++) {
		put_pair(o, 5, i + 1, ct_frame_name(frames, (uint32_t)i));
		put_number(&o->inner, 1, i + 1); /* Frame */
		put_number(&o->inner, 2, i + 1);
		put_number(&o->inner, 3, 1);
		put_number(&o->inner, 4, i + 1);
		put_part(&o->part, 6, &o->inner);
	}
	for (size_t i = 0; i < o->t->stack_count; i++) {
		size_t depth = 0;

		for (uint32_t at = (uint32_t)i; at != CT_NONE; at = o->t->stacks[at].caller)
			path[depth++] = o->t->stacks[at].frame;
		put_number(&o->inner, 1, i + 1); /* Callstack */
		while (depth)
			put_number(&o->inner, 2, path[--depth] + 1);
		put_part(&o->part, 7, &o->inner);
	}
	free(path);
	put_number(&o->packet, SEQUENCE_FLAGS, 1); /* SEQ_INCREMENTAL_STATE_CLEARED */
	end_packet(o, INTERNED_DATA);
}

static void put_clocks(struct out *o)
{
	put_number(&o->inner, 1, 6); /* BOOTTIME, the clock of all packets */
	put_number(&o->inner, 2, 0);
	put_part(&o->part, 1, &o->inner);
	put_number(&o->inner, 1, 1); /* REALTIME */
	put_number(&o->inner, 2, (uint64_t)o->t->start);
	put_part(&o->part, 1, &o->inner);
	end_packet(o, CLOCK_SNAPSHOT);
}

/* Tracks of thread I: its own, which has the spans, and one each of waits and wakes. */
enum { SPANS = 1, WAITS, WAKES, MEMORY, TRACKS };

static uint64_t track_of(size_t thread, unsigned which)
{
	return thread * TRACKS + which;
}

static void put_tracks(struct out *o, size_t i)
{
	static const char *const names[] = { NULL, NULL, "waits", "wakes" };
	const struct ct_trace_thread *t = &o->t->threads[i];

	if (ct_trace_is_main(o->t, i)) {
		put_number(&o->part, 1, track_of(o->t->thread_count + i, SPANS));
		put_number(&o->inner, 1, (uint64_t)t->pid);
		put_text(&o->inner, 6, t->process);
		put_part(&o->part, 3, &o->inner);
		end_packet(o, TRACK_DESCRIPTOR);
		put_number(&o->part, 1, track_of(i, MEMORY));
		put_text(&o->part, 2, "resident memory");
		put_number(&o->part, 5, track_of(o->t->thread_count + i, SPANS));
		put_number(&o->inner, 3, 3); /* UNIT_SIZE_BYTES */
		put_part(&o->part, 8, &o->inner);
		end_packet(o, TRACK_DESCRIPTOR);
	}
	put_number(&o->part, 1, track_of(i, SPANS));
	put_number(&o->inner, 1, (uint64_t)t->pid);
	put_number(&o->inner, 2, (uint64_t)t->tid);
	put_text(&o->inner, 5, t->name);
	put_part(&o->part, 4, &o->inner);
	end_packet(o, TRACK_DESCRIPTOR);
	for (unsigned which = WAITS; which <= WAKES; which++) {
		put_number(&o->part, 1, track_of(i, which));
		put_text(&o->part, 2, names[which]);
		put_number(&o->part, 5, track_of(i, SPANS));
		end_packet(o, TRACK_DESCRIPTOR);
	}
}

/* ---- what happened ---- */

static void begin_event(struct out *o, uint64_t when, unsigned type, uint64_t track)
{
	put_number(&o->packet, TIMESTAMP, when);
	put_number(&o->part, 9, type);
	put_number(&o->part, 11, track);
}

static void put_slice(struct out *o, const struct ct_trace_item *item, uint64_t track)
{
	const char *in = item->stack == CT_NONE
				 ? NULL
				 : ct_frame_name(o->t->frames, o->t->stacks[item->stack].frame);
	char *name = in ? ct_memory_printf("%s: %s", item->name, in) : ct_memory_strdup(item->name);

	begin_event(o, item->begin, SLICE_BEGIN, track);
	put_text(&o->part, 23, name);
	end_packet(o, TRACK_EVENT);
	begin_event(o, item->begin + item->duration, SLICE_END, track);
	end_packet(o, TRACK_EVENT);
	free(name);
}

/* An arrow from the waker to the thread that it woke. */
static void put_wake(struct out *o, size_t thread, const struct ct_trace_item *item)
{
	begin_event(o, item->begin, INSTANT, track_of(item->other, WAKES));
	put_text(&o->part, 23, "wakes");
	put_fixed(&o->part, 47, ++o->flows);
	end_packet(o, TRACK_EVENT);
	begin_event(o, item->begin, INSTANT, track_of(thread, WAKES));
	put_text(&o->part, 23, item->name);
	put_fixed(&o->part, 48, o->flows);
	end_packet(o, TRACK_EVENT);
}

static void put_sample(struct out *o, const struct ct_trace_thread *t,
		       const struct ct_trace_item *item)
{
	put_number(&o->packet, TIMESTAMP, item->begin);
	put_number(&o->part, 2, (uint64_t)t->pid);
	put_number(&o->part, 3, (uint64_t)t->tid);
	if (item->stack != CT_NONE)
		put_number(&o->part, 4, item->stack + 1);
	put_number(&o->part, 5, 2); /* MODE_USER */
	put_number(&o->part, 6, (uint64_t)ct_numbers_clamp(item->weight));
	end_packet(o, PERF_SAMPLE);
}

static void put_items(struct out *o, size_t i)
{
	const struct ct_trace_thread *t = &o->t->threads[i];

	for (size_t k = 0; k < t->count; k++) {
		const struct ct_trace_item *item = &t->items[k];

		switch (item->kind) {
		case CT_TRACE_SAMPLE: put_sample(o, t, item); break;
		case CT_TRACE_WAIT: put_slice(o, item, track_of(i, WAITS)); break;
		case CT_TRACE_SPAN: put_slice(o, item, track_of(i, SPANS)); break;
		case CT_TRACE_WAKE: put_wake(o, i, item); break;
		case CT_TRACE_ALLOCATION: break; /* its format for these has sums, no events */
		}
	}
}

static void put_memory(struct out *o, const struct ct_trace_memory *m)
{
	for (size_t i = 0; i < o->t->thread_count; i++) {
		if (o->t->threads[i].pid != m->pid)
			continue;
		begin_event(o, m->when, COUNTER, track_of(i, MEMORY));
		put_number(&o->part, 30, m->resident);
		end_packet(o, TRACK_EVENT);
		return;
	}
}

void ct_trace_perfetto_write(const void *trace, FILE *to)
{
	struct out o = { .t = trace, .to = to };

	put_clocks(&o);
	put_interned(&o);
	for (size_t i = 0; i < o.t->thread_count; i++)
		put_tracks(&o, i);
	for (size_t i = 0; i < o.t->thread_count; i++)
		put_items(&o, i);
	for (size_t i = 0; i < o.t->memory_count; i++)
		put_memory(&o, &o.t->memory[i]);
	free(o.packet.data);
	free(o.part.data);
	free(o.inner.data);
}
