/* SPDX-License-Identifier: BSD-3-Clause */
/* Static probes (USDT) for tools outside: OpenTelemetry's eBPF profiler, bpftrace, perf, gdb.
 *
 *     otel_memory:alloc(ptr, size, weighted_bytes)   a block was sampled
 *     otel_memory:free(ptr)                          a sampled block is about to be freed
 *
 * A probe is a nop, a note in .note.stapsdt that says where it is and where its arguments are, and
 * a counter of the tools that listen (the semaphore), which the tools change. Any context.
 */
#ifndef CP_USDT_H
#define CP_USDT_H

#include <stdint.h>

extern volatile uint16_t cp_usdt_alloc_semaphore __attribute__((visibility("hidden")));
extern volatile uint16_t cp_usdt_free_semaphore __attribute__((visibility("hidden")));

void cp_usdt_alloc_fire(uint64_t p, uint64_t size, uint64_t weighted_bytes);
void cp_usdt_free_fire(uint64_t p);

static inline void cp_usdt_alloc(uint64_t p, uint64_t size, uint64_t weighted_bytes)
{
	if (__builtin_expect(cp_usdt_alloc_semaphore != 0, 0))
		cp_usdt_alloc_fire(p, size, weighted_bytes);
}

static inline void cp_usdt_free(uint64_t p)
{
	if (__builtin_expect(cp_usdt_free_semaphore != 0, 0))
		cp_usdt_free_fire(p);
}

#endif
