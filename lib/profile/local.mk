# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/aggregate.c \
	%D%/aggregate_compact.c \
	%D%/names.c \
	%D%/strata.c \
	%D%/tick_rate.c
