# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/cpu.c \
	%D%/cpu_mode.c \
	%D%/cpu_timer.c
SIGSAFE_SOURCES += \
	%D%/signal/cpu_edges.c \
	%D%/signal/cpu_event.c
