/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the ABI of cprof.h: sizes and offsets of its structs, and its numbers. For
 * tests/checks/abi.sh. */
#include <cprof.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("size %s %zu\n", #type, sizeof(struct type))
#define FIELD(type, field) printf("field %s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define NUMBER(name) printf("number %s %d\n", #name, name)

int main(void)
{
	SIZE(cprof_options);
	FIELD(cprof_options, size);
	FIELD(cprof_options, cpu_path);
	FIELD(cprof_options, wall_path);
	FIELD(cprof_options, heap_path);
	FIELD(cprof_options, lock_path);
	FIELD(cprof_options, frequency);
	FIELD(cprof_options, max_depth);
	FIELD(cprof_options, unwind);
	FIELD(cprof_options, symbolize);
	FIELD(cprof_options, checkpoint_ms);
	FIELD(cprof_options, dump_signal);
	FIELD(cprof_options, labels);
	FIELD(cprof_options, wall_frequency);
	FIELD(cprof_options, lock_threshold_ns);
	FIELD(cprof_options, heap_interval);
	FIELD(cprof_options, heap_mmap);
	FIELD(cprof_options, reserved);
	FIELD(cprof_options, io_path);
	FIELD(cprof_options, event_path);
	FIELD(cprof_options, event);
	FIELD(cprof_options, event_period);
	FIELD(cprof_options, times);
	SIZE(cprof_label_scope);
	SIZE(cprof_span);
	SIZE(cprof_span_stats);
	SIZE(cprof_stats);
	FIELD(cprof_stats, size);
	FIELD(cprof_stats, samples);
	FIELD(cprof_stats, expiries);
	FIELD(cprof_stats, lost_ring);
	FIELD(cprof_stats, lost_memory);
	FIELD(cprof_stats, lost_thread);
	FIELD(cprof_stats, lost_paused);
	FIELD(cprof_stats, truncated);
	FIELD(cprof_stats, incomplete);
	FIELD(cprof_stats, period);
	FIELD(cprof_stats, handler_ns);
	FIELD(cprof_stats, dumps);
	FIELD(cprof_stats, dump_failures);
	NUMBER(CPROF_OFF);
	NUMBER(CPROF_CPU);
	NUMBER(CPROF_WALL);
	NUMBER(CPROF_HEAP);
	NUMBER(CPROF_LOCK);
	NUMBER(CPROF_IO);
	NUMBER(CPROF_EVENT);
	NUMBER(CPROF_HEAP_PEAK);
	NUMBER(CPROF_HEAP_MMAP);
	NUMBER(CPROF_LOCK_HOLDERS);
	NUMBER(CPROF_LOCK_WAKERS);
	NUMBER(CPROF_HEAP_LIFETIMES);
	NUMBER(CPROF_HEAP_FRAGMENTATION);
	NUMBER(CPROF_IO_WAKERS);
	return 0;
}
