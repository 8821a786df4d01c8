# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/diff.c \
	%D%/diff_print.c \
	%D%/diff_rows.c \
	%D%/diff_test.c \
	%D%/diff_verdict.c
