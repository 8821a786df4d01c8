# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/api.c \
	%D%/api_change.c \
	%D%/attached.c \
	%D%/control.c \
	%D%/dump_on.c \
	%D%/fork_handlers.c \
	%D%/gperftools.c \
	%D%/last_window.c \
	%D%/mode_set.c \
	%D%/process.c \
	%D%/push.c \
	%D%/runs.c \
	%D%/serve.c \
	%D%/session.c \
	%D%/session_start.c \
	%D%/label_api.c \
	%D%/thread_waits.c \
	%D%/threads_now.c \
	%D%/window.c \
	%D%/window_take.c
