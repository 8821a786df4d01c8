# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/otlp_encode.c \
	%D%/otlp_resource.c \
	%D%/otlp_rows.c \
	%D%/otlp_sets.c \
	%D%/otlp_tables.c
