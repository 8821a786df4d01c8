# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/config.c \
	%D%/config_reader.c \
	%D%/config_table.c \
	%D%/config_values.c \
	%D%/process_info.c \
	%D%/path.c \
	%D%/triggers.c \
	%D%/unknown.c
