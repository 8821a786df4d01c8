# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/event.c \
	%D%/event_names.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/event_hit.c
