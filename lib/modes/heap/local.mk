# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/allocator.c \
	%D%/heap.c \
	%D%/heap_budget.c \
	%D%/heap_census.c \
	%D%/heap_mode.c \
	%D%/heap_report.c \
	%D%/heap_rows.c \
	%D%/heap_views.c \
	%D%/jemalloc_hooks.c \
	%D%/mappings.c \
	%D%/memory.c
PRELOAD_SOURCES += \
	%D%/hooks/census_calls.c \
	%D%/hooks/jemalloc.c \
	%D%/hooks/malloc.c \
	%D%/hooks/new.c
PRELOAD_SMALL_SOURCES += \
	%D%/hooks/mmap.c
SIGSAFE_SOURCES += \
	%D%/signal/census.c \
	%D%/signal/stack_depot.c \
	%D%/signal/heap_event.c \
	%D%/signal/heap_exact.c \
	%D%/signal/heap_hot.c \
	%D%/signal/heap_stack.c \
	%D%/signal/live.c \
	%D%/signal/tail_cache.c \
	%D%/signal/stack_cache.c \
	%D%/signal/usdt.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/heap_jemalloc.c
