# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/wall.c \
	%D%/wall_answer.c \
	%D%/wall_cause.c \
	%D%/wall_mode.c \
	%D%/wall_stack.c \
	%D%/wall_strata.c \
	%D%/wall_exact.c \
	%D%/wall_time.c \
	%D%/wall_timer.c \
	%D%/wall_visit.c
SIGSAFE_SOURCES += \
	%D%/signal/wall_event.c
