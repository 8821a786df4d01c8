# SPDX-License-Identifier: BSD-3-Clause
# Every call of the library fails once: make faults.
PROFILED += \
	%D%/host \
	%D%/inject
%C%_inject_SOURCES = %D%/inject.c %D%/inject_names.c %D%/inject_place.c
