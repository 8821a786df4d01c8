# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/push.c \
	%D%/push_command.c \
	%D%/push_follow.c \
	%D%/push_item.c \
	%D%/push_labels.c \
	%D%/push_modes.c \
	%D%/push_queue.c \
	%D%/push_request.c \
	%D%/push_send.c \
	%D%/push_series.c \
	%D%/push_spool.c \
	%D%/push_symbols.c \
	%D%/verb_push.c
