# SPDX-License-Identifier: BSD-3-Clause
# In the library these would be added to LIB_SOURCES, SIGSAFE_SOURCES and PRELOAD_SOURCES.
TOY_SOURCES += \
	%D%/toy.c \
	%D%/toy_settings.c \
	%D%/signal/toy_event.c \
	%D%/hooks/getpid.c
