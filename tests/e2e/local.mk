# SPDX-License-Identifier: BSD-3-Clause
# End to end: real programs, whole files, the tool. Each script here is a test; these are the programs that they profile.
PROFILED += \
	%D%/accuracy-host \
	%D%/api-host \
	%D%/attach-host \
	%D%/event-host \
	%D%/flight-host \
	%D%/gperftools-host \
	%D%/heap-api \
	%D%/heap-budget-host \
	%D%/heap-census-host \
	%D%/heap-mappings-host \
	%D%/heap-matrix \
	%D%/heap-jemalloc-samples-host \
	%D%/jemalloc-backtrace-host \
	%D%/heap-sites \
	%D%/heap-usdt-host \
	%D%/heap-views-host \
	%D%/io-host \
	%D%/labels-host \
	%D%/lock-host \
	%D%/lock-longest-host \
	%D%/lock-phases-host \
	%D%/lock-tail-host \
	%D%/lock-wakers-host \
	%D%/serve-host \
	%D%/windows-host \
	%D%/short-threads-host \
	%D%/spans-host \
	%D%/deadlock-host \
	%D%/wall-causes-host \
	%D%/times-host \
	%D%/trace-context-host \
	%D%/wall-host \
	%D%/wall-ready-host
%C%_api_host_LDADD = libcprof.la
%C%_gperftools_host_SOURCES = %D%/gperftools-host.cc
%C%_gperftools_host_LDADD = libcprof.la
%C%_heap_api_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-optimize-sibling-calls
%C%_heap_api_LDADD = libcprof.la
%C%_heap_budget_host_CFLAGS = $(AM_CFLAGS) -fno-builtin
%C%_heap_census_host_SOURCES = %D%/heap-census-host.cc
%C%_heap_census_host_CXXFLAGS = $(AM_CXXFLAGS) -fno-builtin
%C%_heap_jemalloc_samples_host_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-optimize-sibling-calls
%C%_heap_jemalloc_samples_host_LDADD = -lm
%C%_heap_matrix_SOURCES = %D%/heap-matrix.cc
%C%_heap_matrix_CXXFLAGS = $(AM_CXXFLAGS) -fno-builtin -fsized-deallocation
%C%_labels_host_LDADD = libcprof.la
%C%_lock_tail_host_SOURCES = %D%/lock-tail-host.cc
%C%_lock_tail_host_CXXFLAGS = $(AM_CXXFLAGS) -O2 -foptimize-sibling-calls
%C%_spans_host_LDADD = libcprof.la
%C%_times_host_CFLAGS = $(AM_CFLAGS) -fno-builtin
%C%_times_host_LDADD = libcprof.la
%C%_trace_context_host_LDFLAGS = $(AM_LDFLAGS) -rdynamic
