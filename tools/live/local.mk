# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/live.c \
	%D%/live_body.c \
	%D%/live_draw.c \
	%D%/live_flame.c \
	%D%/live_keys.c \
	%D%/live_screen.c \
	%D%/live_table.c \
	%D%/live_tree.c \
	%D%/live_watch.c
