# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/comments.c \
	%D%/consumers.c \
	%D%/cut.c \
	%D%/deflate.c \
	%D%/dump.c \
	%D%/encode.c \
	%D%/helper.c \
	%D%/mode_ops.c \
	%D%/pprof.c \
	%D%/process_context.c \
	%D%/row_labels.c \
	%D%/rows.c \
	%D%/run.c \
	%D%/sink_file.c \
	%D%/sink_gzip.c \
	%D%/sink_memory.c \
	%D%/utf8.c \
	%D%/wakers.c \
	%D%/write_times.c
