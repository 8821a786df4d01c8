# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/otlp_cursor.c \
	%D%/otlp_decode.c \
	%D%/otlp_dictionary.c \
	%D%/otlp_encode.c \
	%D%/otlp_names.c \
	%D%/otlp_out.c \
	%D%/otlp_resource.c \
	%D%/otlp_rows.c \
	%D%/otlp_samples.c \
	%D%/otlp_sets.c \
	%D%/otlp_tables.c
