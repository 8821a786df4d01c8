# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/aggregate.c \
	%D%/names.c \
	%D%/tick_rate.c
