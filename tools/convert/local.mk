# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/convert.c \
	%D%/convert_callgrind.c \
	%D%/convert_speedscope.c \
	%D%/pgo.c \
	%D%/pgo_tree.c \
	%D%/trace.c \
	%D%/trace_firefox.c \
	%D%/trace_perfetto.c
