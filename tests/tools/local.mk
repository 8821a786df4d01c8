# SPDX-License-Identifier: BSD-3-Clause
# The validator of profiles. It links zlib; the library never does.
PPROF_CHECK = \
	%D%/pprof-check-print.c \
	%D%/pprof-check-read.c \
	%D%/pprof-check-rules.c \
	%D%/pprof-check-samples.c \
	%D%/pprof-check-tables.c \
	%D%/pprof-check-times.c
CHECK_TOOLS += \
	%D%/pprof-check
%C%_pprof_check_SOURCES = %D%/pprof-check.c $(PPROF_CHECK)
%C%_pprof_check_LDADD = -lz
# What the library's table of modes has.
CHECK_TOOLS += \
	%D%/list-modes
%C%_list_modes_SOURCES = %D%/list-modes.c
%C%_list_modes_LDADD = $(INTERNAL)
# Makes profiles with a time index.
if TOOL
CHECK_TOOLS += \
	%D%/make-times
endif
%C%_make_times_SOURCES = %D%/make-times.c
%C%_make_times_CPPFLAGS = $(TOOL_CPPFLAGS)
%C%_make_times_CFLAGS = $(TOOL_CFLAGS)
%C%_make_times_LDADD = $(TOOL_LIBRARY)
# Takes windows by the tool's own code.
if TOOL
CHECK_TOOLS += \
	%D%/take-windows
endif
%C%_take_windows_SOURCES = %D%/take-windows.c
%C%_take_windows_CPPFLAGS = $(TOOL_CPPFLAGS)
%C%_take_windows_CFLAGS = $(TOOL_CFLAGS)
%C%_take_windows_LDADD = $(TOOL_LIBRARY)
