# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/event_control.c \
	%D%/event_mode.c \
	%D%/event_names.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/event_hit.c
