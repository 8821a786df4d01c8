# SPDX-License-Identifier: BSD-3-Clause
if !AARCH64
TOOL_SOURCES += \
	%D%/attach.c \
	%D%/code.c \
	%D%/hunt.c \
	%D%/proc.c \
	%D%/refuse.c \
	%D%/seccomp.c \
	%D%/seize.c \
	%D%/space.c \
	%D%/unwind.c
endif
