# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/verb_dump.c \
	%D%/verb_info.c \
	%D%/verb_leaks.c \
	%D%/leak_rows.c \
	%D%/verb_list.c \
	%D%/verb_locks.c \
	%D%/verb_merge.c \
	%D%/mode_options.c \
	%D%/verb_ps.c \
	%D%/verb_record.c \
	%D%/verb_set.c \
	%D%/verb_start.c \
	%D%/own_stack.c \
	%D%/own_table.c \
	%D%/preload.c \
	%D%/verb_run.c \
	%D%/run_command.c \
	%D%/run_keep.c \
	%D%/run_show.c \
	%D%/verb_strip_labels.c \
	%D%/verb_symbolize.c \
	%D%/symbolize_functions.c \
	%D%/symbolize_more.c \
	%D%/verb_tags.c \
	%D%/verb_threads.c \
	%D%/threads_text.c \
	%D%/verb_top.c \
	%D%/verb_tree.c \
	%D%/verb_spans.c \
	%D%/verb_waits.c \
	%D%/waits_wakers.c
