# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/spans.c

SIGSAFE_SOURCES += \
	%D%/signal/histogram.c
