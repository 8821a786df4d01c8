# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/io.c \
	%D%/io_names.c \
	%D%/io_rows.c
PRELOAD_SOURCES += \
	%D%/hooks/calls.c
PRELOAD_SMALL_SOURCES += \
	%D%/hooks/by_number.c \
	%D%/hooks/files.c \
	%D%/hooks/sockets.c \
	%D%/hooks/streams.c
SIGSAFE_SOURCES += \
	%D%/signal/io_counts.c \
	%D%/signal/io_event.c \
	%D%/signal/io_kind.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/io_sample.c \
	%D%/signal/io_target.c \
	%D%/signal/io_wake.c
