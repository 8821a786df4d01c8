# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/event_mode.c \
	%D%/event_names.c \
	%D%/event_settings.c
LIB_WALKED_SOURCES += \
	%D%/event_control.c
SIGSAFE_SOURCES += \
	%D%/signal/event_hit.c
