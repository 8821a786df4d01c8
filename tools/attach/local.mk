# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/attach.c \
	%D%/code.c \
	%D%/hunt.c \
	%D%/refuse.c \
	%D%/seize.c \
	%D%/space.c \
	%D%/unwind.c
