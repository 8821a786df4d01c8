# SPDX-License-Identifier: BSD-3-Clause
# Traps: a folder each, with its script, run.sh, and its host; hosts/ has those that several share.
# Linked with the library that was built; no wrapper script, which would start other programs.
LINKED = libcprof.la
LINKED_FLAGS = $(AM_LDFLAGS) -no-install
PROFILED += \
	%D%/alternate_stack_gone/host \
	%D%/attached/host \
	%D%/attached_storm/host \
	%D%/bad_pointers/host \
	%D%/blocked_before_start/host \
	%D%/blocked_signals/host \
	%D%/caught_system_calls/host \
	%D%/cloned_process/host \
	%D%/closings/host \
	%D%/counter_forbidden/host \
	%D%/crash_reporter/host \
	%D%/credentials/host \
	%D%/daemons/host \
	%D%/descriptors_closed/host \
	%D%/dlclose_while_walking/host \
	%D%/dlopen_fails/host \
	%D%/eintr_wall/host \
	%D%/errno_preserved/host \
	%D%/exception_storm/broken-stack \
	%D%/exception_storm/exception-storm \
	%D%/exit_by_number/host \
	%D%/fibers/host \
	%D%/fork_while_others_work/host \
	%D%/gperftools_mark/host \
	%D%/handler_left/host \
	%D%/handler_taken_by_system_call/host \
	%D%/handler_takes_no_lock/host \
	%D%/handlers_as_bare/host \
	%D%/heap_census/host \
	%D%/heap_forks/host \
	%D%/heap_handler_jumps_away/host \
	%D%/heap_same_stack/host \
	%D%/heap_stepped/host \
	%D%/heap_stopped/host \
	%D%/helper_at_exit/helper-host \
	%D%/helper_at_exit/reaper \
	%D%/helper_at_exit/tracer \
	%D%/holes/host \
	%D%/hosts/awaited \
	%D%/hosts/control-host \
	%D%/hosts/cpu-host \
	%D%/hosts/cut-stacks \
	%D%/hosts/dlclose-storm \
	%D%/hosts/dump-host \
	%D%/hosts/execs \
	%D%/hosts/exits \
	%D%/hosts/forks \
	%D%/hosts/gperftools-contract \
	%D%/hosts/heap-odd \
	%D%/hosts/idle \
	%D%/hosts/jit-host \
	%D%/hosts/loader-host \
	%D%/hosts/many-threads \
	%D%/hosts/moves \
	%D%/hosts/own-malloc \
	%D%/hosts/perf-host \
	%D%/hosts/sandbox \
	%D%/hosts/sigprof-host \
	%D%/hosts/small-stacks \
	%D%/hosts/spawns \
	%D%/hosts/start-stop \
	%D%/interrupted_calls/host \
	%D%/io_cancelled_call/host \
	%D%/io_errno_kept/host \
	%D%/io_fork_child/host \
	%D%/io_in_handlers/host \
	%D%/io_numbers_reused/host \
	%D%/io_own_calls/host \
	%D%/io_vfork_child/host \
	%D%/last_words/host \
	%D%/libunwind_backtrace_not_replaced/host \
	%D%/lock_at_the_edges/host \
	%D%/lock_cancelled_wait/host \
	%D%/lock_foreign_threads/host \
	%D%/lock_hidden_threads/host \
	%D%/lock_in_closed_module/lock-plugin-host \
	%D%/lock_overtaken/host \
	%D%/lock_own_clock/host \
	%D%/lock_readers_at_once/host \
	%D%/lock_return_codes/host \
	%D%/lock_stack_while_held/host \
	%D%/lock_storm/host \
	%D%/lock_wakers_at_the_edges/host \
	%D%/mask_comes_back/host \
	%D%/mask_of_handler/host \
	%D%/memory_used_up/host \
	%D%/program_malloc_uncalled/host \
	%D%/namespaces/host \
	%D%/process_limit/host \
	%D%/push_helper/push-host \
	%D%/raw_reset/host \
	%D%/sends_to_itself/host \
	%D%/set_user_id/host \
	%D%/shared_alternate_stack/host \
	%D%/signal_after_exec/host \
	%D%/signal_after_stop/host \
	%D%/single_thread/host \
	%D%/thread_count/host \
	%D%/traced_child/host \
	%D%/threads_before_start/early-threads \
	%D%/threads_before_start/found-threads \
	%D%/threads_before_start/raw-threads \
	%D%/wide_registers/host
%C%_blocked_before_start_host_LDFLAGS = $(LINKED_FLAGS)
%C%_blocked_before_start_host_LDADD = $(LINKED)
%C%_closings_host_LDADD = -lrt
%C%_daemons_host_LDADD = -lutil
%C%_exception_storm_exception_storm_SOURCES = %D%/exception_storm/exception-storm.cc
%C%_fork_while_others_work_host_SOURCES = %D%/fork_while_others_work/host.cc
%C%_handler_left_host_SOURCES = %D%/handler_left/host.cc
%C%_handler_left_host_CXXFLAGS = $(AM_CXXFLAGS) -fnon-call-exceptions
%C%_heap_census_host_CFLAGS = $(AM_CFLAGS) -fno-builtin
%C%_heap_forks_host_CFLAGS = $(AM_CFLAGS) -fno-builtin
%C%_heap_handler_jumps_away_host_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-optimize-sibling-calls
%C%_heap_same_stack_host_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-optimize-sibling-calls
%C%_heap_same_stack_host_LDADD = libcprof.la
%C%_program_malloc_uncalled_host_CFLAGS = $(AM_CFLAGS) -fno-builtin
%C%_heap_stepped_host_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-optimize-sibling-calls
%C%_heap_stepped_host_LDADD = libcprof.la
%C%_heap_stopped_host_SOURCES = %D%/heap_stopped/host.cc
%C%_heap_stopped_host_CXXFLAGS = $(AM_CXXFLAGS) -fno-builtin -fsized-deallocation
%C%_hosts_gperftools_contract_LDADD = libcprof.la
%C%_hosts_own_malloc_LDFLAGS = $(AM_LDFLAGS) -rdynamic
%C%_hosts_sigprof_host_LDADD = -lrt
%C%_hosts_start_stop_LDADD = libcprof.la
%C%_lock_at_the_edges_host_LDFLAGS = $(AM_LDFLAGS) -rdynamic
%C%_lock_own_clock_host_LDFLAGS = $(AM_LDFLAGS) -rdynamic
%C%_lock_return_codes_host_SOURCES = %D%/lock_return_codes/host.c %D%/lock_return_codes/lock-codes-others.c
%C%_set_user_id_host_LDFLAGS = $(LINKED_FLAGS)
%C%_set_user_id_host_LDADD = $(LINKED)
%C%_single_thread_host_LDADD = -lrt
%C%_threads_before_start_early_threads_LDFLAGS = $(LINKED_FLAGS)
%C%_threads_before_start_early_threads_LDADD = $(LINKED)
%C%_threads_before_start_found_threads_LDFLAGS = $(LINKED_FLAGS)
%C%_threads_before_start_found_threads_LDADD = $(LINKED)
