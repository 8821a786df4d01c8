# SPDX-License-Identifier: BSD-3-Clause
SIGSAFE_SOURCES += \
	%D%/index.c \
	%D%/pages.c \
	%D%/stackcopy.c \
	%D%/sys.c
SIGSAFE_SMALL_SOURCES += \
	%D%/arena.c \
	%D%/sort.c \
	%D%/vec.c \
	%D%/fdwrite.c \
	%D%/filestat.c \
	%D%/globs.c \
	%D%/log.c \
	%D%/notes.c \
	%D%/reserve.c \
	%D%/text.c \
	%D%/thread_file.c
