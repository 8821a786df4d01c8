# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/aggregate.c \
	%D%/names.c \
	%D%/shared_times.c \
	%D%/strata.c \
	%D%/tick_rate.c \
	%D%/times.c
