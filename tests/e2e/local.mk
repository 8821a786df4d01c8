# SPDX-License-Identifier: BSD-3-Clause
# End to end: real programs, whole files, the tool.
PROFILED += \
	%D%/accuracy-host \
	%D%/api-host \
	%D%/event-host \
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
	%D%/lock-cxx \
	%D%/lock-host \
	%D%/lock-longest-host \
	%D%/lock-phases-host \
	%D%/lock-tail-host \
	%D%/lock-wakers-host \
	%D%/serve-host \
	%D%/windows-host \
	%D%/short-threads-host \
	%D%/spans-host \
	%D%/threads-exceptions \
	%D%/deadlock-host \
	%D%/wall-causes-host \
	%D%/trace-context-host \
	%D%/wall-host \
	%D%/wall-ready-host
E2E_TESTS += \
	%D%/accuracy.sh \
	%D%/api.sh \
	%D%/commands.sh \
	%D%/control.sh \
	%D%/control-record.sh \
	%D%/control-set.sh \
	%D%/control-start.sh \
	%D%/control-threads.sh \
	%D%/thread-waits.sh \
	%D%/control-windows.sh \
	%D%/control-sums.sh \
	%D%/diff.sh \
	%D%/documents.sh \
	%D%/dump.sh \
	%D%/event.sh \
	%D%/examples.sh \
	%D%/flame-formats.sh \
	%D%/flame-page.sh \
	%D%/gperftools.sh \
	%D%/heap-age.sh \
	%D%/heap-api.sh \
	%D%/heap-budget.sh \
	%D%/heap-census.sh \
	%D%/heap-dumps.sh \
	%D%/heap-exact.sh \
	%D%/heap-lifetimes.sh \
	%D%/heap-mappings.sh \
	%D%/heap-resident.sh \
	%D%/heap-sampled.sh \
	%D%/heap-sizes.sh \
	%D%/heap-story.sh \
	%D%/heap-usdt.sh \
	%D%/io.sh \
	%D%/io-wakers.sh \
	%D%/incomplete.sh \
	%D%/heap-watch.sh \
	%D%/installed.sh \
	%D%/labels.sh \
	%D%/lock-cxx.sh \
	%D%/lock-longest.sh \
	%D%/lock-phases.sh \
	%D%/lock-python.sh \
	%D%/lock-rust.sh \
	%D%/lock-tail.sh \
	%D%/lock-truth.sh \
	%D%/lock-wakers.sh \
	%D%/no-eh-frame-hdr.sh \
	%D%/no-proc.sh \
	%D%/oracle.sh \
	%D%/otlp.sh \
	%D%/pprof-first-rows.sh \
	%D%/programs.sh \
	%D%/last-window.sh \
	%D%/push-follow.sh \
	%D%/push-receivers.sh \
	%D%/run.sh \
	%D%/live.sh \
	%D%/serve.sh \
	%D%/settings.sh \
	%D%/short-threads.sh \
	%D%/spans.sh \
	%D%/symbolize-cache.sh \
	%D%/symbolize-minidebug.sh \
	%D%/symbolize.sh \
	%D%/system-calls.sh \
	%D%/threads-exceptions.sh \
	%D%/tool-answers.sh \
	%D%/tool-completion.sh \
	%D%/tool-names.sh \
	%D%/tool-numbers.sh \
	%D%/tool-own.sh \
	%D%/tool-verbs.sh \
	%D%/trace-context.sh \
	%D%/wall.sh \
	%D%/wall-ready.sh \
	%D%/wall-causes.sh \
	%D%/xz.sh
JEMALLOC_E2E_TESTS += \
	%D%/heap-jemalloc-samples.sh \
	%D%/jemalloc-backtrace.sh \
	%D%/heap-jemalloc-static.sh
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
%C%_lock_cxx_SOURCES = %D%/lock-cxx.cc
%C%_lock_tail_host_SOURCES = %D%/lock-tail-host.cc
%C%_lock_tail_host_CXXFLAGS = $(AM_CXXFLAGS) -O2 -foptimize-sibling-calls
%C%_spans_host_LDADD = libcprof.la
%C%_trace_context_host_LDFLAGS = $(AM_LDFLAGS) -rdynamic
%C%_threads_exceptions_SOURCES = %D%/threads-exceptions.cc
