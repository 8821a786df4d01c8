# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/collect.c \
	%D%/collect_loop.c \
	%D%/collect_thread.c \
	%D%/control_path.c \
	%D%/control_socket.c \
	%D%/drain.c \
	%D%/perf_probe.c \
	%D%/shrink.c \
	%D%/sweep.c \
	%D%/task_sleep.c \
	%D%/thread_timer.c \
	%D%/threads.c \
	%D%/worker.c
