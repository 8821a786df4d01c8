# SPDX-License-Identifier: BSD-3-Clause
# Unit tests: one file a module; INTERNAL has the hidden symbols.
# Unwinders other than "fp" must do without frame pointers.
UNWIND_TEST_CFLAGS = $(AM_CFLAGS) -fomit-frame-pointer
UNIT_TESTS += \
	%D%/test-aggregate \
	%D%/test-census \
	%D%/test-cfi \
	%D%/test-cfi-expr \
	%D%/test-cfi-insn \
	%D%/test-dlclose-gate \
	%D%/test-config \
	%D%/test-config-values \
	%D%/test-control-message \
	%D%/test-cpu-edges \
	%D%/test-debugfile \
	%D%/test-demangle \
	%D%/test-diary \
	%D%/test-stack-depot \
	%D%/test-drain \
	%D%/test-elf \
	%D%/test-event-names \
	%D%/test-filestat \
	%D%/test-fuzz-cfi \
	%D%/test-fuzz-elf \
	%D%/test-fuzz-environment \
	%D%/test-fuzz-labels \
	%D%/test-fuzz-maps \
	%D%/test-fuzz-requests \
	%D%/test-gate \
	%D%/test-gzip \
	%D%/test-heap-budget \
	%D%/test-heap-hot \
	%D%/test-heap-rows \
	%D%/test-deadlocks \
	%D%/test-deferred \
	%D%/test-index \
	%D%/test-io-event \
	%D%/test-io-sample \
	%D%/test-kallsyms \
	%D%/test-labels \
	%D%/test-process-context \
	%D%/test-live \
	%D%/test-loaded \
	%D%/test-lock \
	%D%/test-lock-event \
	%D%/test-lock-holder \
	%D%/test-lock-sample \
	%D%/test-lock-stepped \
	%D%/test-memory-table \
	%D%/test-memory-use \
	%D%/test-tail-cache \
	%D%/test-module-list \
	%D%/test-modules \
	%D%/test-own-time \
	%D%/test-pages \
	%D%/test-path \
	%D%/test-perf-event \
	%D%/test-perfmap \
	%D%/test-poisson \
	%D%/test-pprof \
	%D%/test-pprof-check \
	%D%/test-ring \
	%D%/test-rules \
	%D%/test-rules-learn \
	%D%/test-sink \
	%D%/test-sink-odd \
	%D%/test-spans \
	%D%/test-strata \
	%D%/test-stackmem \
	%D%/test-sweep \
	%D%/test-symbols \
	%D%/test-symbols-broken \
	%D%/test-task-sleep \
	%D%/test-text \
	%D%/test-thread \
	%D%/test-thread-file \
	%D%/test-tick-rate \
	%D%/test-times \
	%D%/test-tids \
	%D%/test-unwind-code \
	%D%/test-unwind-dwarf \
	%D%/test-unwind-fp \
	%D%/test-unwind-undescribed \
	%D%/test-utf8 \
	%D%/test-waiters \
	%D%/test-wakes \
	%D%/test-wall \
	%D%/test-wall-answer \
	%D%/test-wall-stack \
	%D%/test-wall-visits
TOOL_UNIT_TESTS += \
	%D%/test-fuzz-profile \
	%D%/test-tool-filter \
	%D%/test-tool-flame \
	%D%/test-tool-output \
	%D%/test-tool-periods \
	%D%/test-tool-read \
	%D%/test-tool-serve \
	%D%/test-tool-timeline
%C%_test_fuzz_cfi_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-cfi.c
%C%_test_fuzz_cfi_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-cfi"'
%C%_test_fuzz_elf_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-elf.c
%C%_test_fuzz_elf_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-elf"'
%C%_test_fuzz_environment_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-environment.c
%C%_test_fuzz_environment_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-environment"'
%C%_test_fuzz_labels_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-labels.c
%C%_test_fuzz_labels_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-labels"'
%C%_test_fuzz_maps_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-maps.c
%C%_test_fuzz_maps_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-maps"'
%C%_test_fuzz_profile_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-profile.c
%C%_test_fuzz_profile_CPPFLAGS = $(TOOL_TEST_CPPFLAGS) -DFUZZER='"fuzz-profile"'
%C%_test_fuzz_profile_CFLAGS = $(TOOL_CFLAGS)
%C%_test_fuzz_profile_LDADD = $(TOOL_LIBRARY)
%C%_test_fuzz_requests_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz-requests.c
%C%_test_fuzz_requests_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZER='"fuzz-requests"'
%C%_test_gzip_LDFLAGS = $(AM_LDFLAGS) -rdynamic
%C%_test_io_event_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cp_io_sample_take,--wrap=cp_capture_hook
%C%_test_io_sample_LDADD = $(INTERNAL) -lm
%C%_test_tail_cache_CFLAGS = $(UNWIND_TEST_CFLAGS)
%C%_test_poisson_LDADD = $(INTERNAL) -lm
%C%_test_pprof_SOURCES = %D%/test-pprof.c $(PPROF_CHECK)
%C%_test_pprof_LDADD = $(INTERNAL) -lz
%C%_test_pprof_check_SOURCES = %D%/test-pprof-check.c $(PPROF_CHECK)
%C%_test_pprof_check_LDADD = $(INTERNAL) -lz
%C%_test_strata_LDADD = $(INTERNAL) -lm
%C%_test_times_LDADD = $(INTERNAL) -lm
%C%_test_sweep_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cp_thread_claim,--wrap=cp_mode_ops_thread_begin  -Wl,--wrap=cp_vec_add,--wrap=cp_index_add
%C%_test_tool_filter_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_filter_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_filter_LDADD = $(TOOL_LIBRARY)
%C%_test_tool_flame_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_flame_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_flame_LDADD = $(TOOL_LIBRARY)
%C%_test_tool_output_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_output_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_output_LDADD = $(TOOL_LIBRARY)
%C%_test_tool_periods_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_periods_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_periods_LDADD = $(TOOL_LIBRARY) $(INTERNAL)
%C%_test_tool_read_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_read_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_read_LDADD = $(TOOL_LIBRARY) $(ZLIB_LIBS)
if !AARCH64
TOOL_UNIT_TESTS += %D%/test-tool-seccomp
endif
%C%_test_tool_seccomp_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_seccomp_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_seccomp_LDADD = $(TOOL_LIBRARY)
%C%_test_tool_serve_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_serve_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_serve_LDADD = $(TOOL_LIBRARY) $(INTERNAL)
%C%_test_tool_timeline_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_test_tool_timeline_CFLAGS = $(TOOL_CFLAGS)
%C%_test_tool_timeline_LDADD = $(TOOL_LIBRARY) $(INTERNAL)
%C%_test_unwind_code_CFLAGS = $(UNWIND_TEST_CFLAGS)
%C%_test_unwind_dwarf_CFLAGS = $(UNWIND_TEST_CFLAGS)
%C%_test_unwind_fp_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
%C%_test_unwind_undescribed_CFLAGS = $(UNWIND_TEST_CFLAGS)
