# SPDX-License-Identifier: BSD-3-Clause
SIGSAFE_SOURCES += \
	%D%/arena.c \
	%D%/index.c \
	%D%/pages.c \
	%D%/sort.c \
	%D%/stackcopy.c \
	%D%/sys.c \
	%D%/vec.c
SIGSAFE_SMALL_SOURCES += \
	%D%/fdwrite.c \
	%D%/globs.c \
	%D%/log.c \
	%D%/notes.c \
	%D%/text.c
