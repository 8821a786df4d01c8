# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/flame.c \
	%D%/flame_data.c \
	%D%/flame_frames.c \
	%D%/flame_source.c \
	%D%/flame_svg.c \
	%D%/flame_tabs.c \
	%D%/flame_text.c \
	%D%/flame_times.c \
	%D%/flame_tree.c \
	%D%/folded.c
