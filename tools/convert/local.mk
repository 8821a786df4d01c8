# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/convert.c \
	%D%/convert_callgrind.c \
	%D%/convert_speedscope.c
