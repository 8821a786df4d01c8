# SPDX-License-Identifier: BSD-3-Clause
SIGSAFE_SOURCES += \
	%D%/capture.c \
	%D%/diary.c \
	%D%/gate.c \
	%D%/labels.c \
	%D%/labelset.c \
	%D%/own_time.c \
	%D%/poisson.c \
	%D%/ring.c \
	%D%/stackmem.c \
	%D%/thread.c \
	%D%/ticks.c \
	%D%/trace_context.c \
	%D%/waiters.c
SIGSAFE_SMALL_SOURCES += \
	%D%/perf_event.c \
	%D%/wakes.c
