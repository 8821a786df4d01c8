# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/control.c \
	%D%/control_each.c \
	%D%/control_space.c \
	%D%/control_talk.c \
	%D%/helper.c \
	%D%/last_window.c \
	%D%/thread_wait.c \
	%D%/window.c
