# SPDX-License-Identifier: BSD-3-Clause
# Traps: a folder each, with its script and its host; hosts/ has those that several share.
# Linked with the library that was built; no wrapper script, which would start other programs.
LINKED = libcprof.la
LINKED_FLAGS = $(AM_LDFLAGS) -no-install
PROFILED += \
	%D%/alternate_stack_gone/host \
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
	%D%/threads_before_start/raw-threads
TRAP_TESTS += \
	%D%/alternate_stack_gone/run.sh \
	%D%/awaited_signals/run.sh \
	%D%/bad_pointers/run.sh \
	%D%/blocked_before_start/run.sh \
	%D%/blocked_signals/run.sh \
	%D%/caught_system_calls/run.sh \
	%D%/cloned_process/run.sh \
	%D%/closings/run.sh \
	%D%/collector_sleeps/run.sh \
	%D%/control_hostile_client/run.sh \
	%D%/control_names_taken/run.sh \
	%D%/control_path/run.sh \
	%D%/control_unseen/run.sh \
	%D%/control_who_may_ask/run.sh \
	%D%/counter_forbidden/run.sh \
	%D%/crash_reporter/run.sh \
	%D%/crash_with_locks_held/run.sh \
	%D%/credentials/run.sh \
	%D%/cut_stack_keeps_root/run.sh \
	%D%/daemons/run.sh \
	%D%/deleted_files/run.sh \
	%D%/descriptors_closed/run.sh \
	%D%/dlclose_address_reused/run.sh \
	%D%/dlclose_before_dump/run.sh \
	%D%/dlclose_destructor/run.sh \
	%D%/dlclose_own_tables/run.sh \
	%D%/dlclose_while_walking/run.sh \
	%D%/dlopen_caller_runpath/run.sh \
	%D%/dlsym_calls_calloc/run.sh \
	%D%/dump_asked_before_the_end/run.sh \
	%D%/dump_asked_while_busy/run.sh \
	%D%/dump_in_handler/run.sh \
	%D%/dynamic_tls/run.sh \
	%D%/eintr/run.sh \
	%D%/eintr_wall/run.sh \
	%D%/end_at_a_checkpoint/run.sh \
	%D%/environment_unchanged/run.sh \
	%D%/errno_preserved/run.sh \
	%D%/exception_storm/run.sh \
	%D%/exec_without_fork/run.sh \
	%D%/exit_by_number/run.sh \
	%D%/exit_paths/run.sh \
	%D%/exit_while_threads_run/run.sh \
	%D%/fatal_signals/run.sh \
	%D%/faults/run.sh \
	%D%/fibers/run.sh \
	%D%/file_names/run.sh \
	%D%/files_moved_away/run.sh \
	%D%/first_process/run.sh \
	%D%/fork_cheap/run.sh \
	%D%/fork_child_costs/run.sh \
	%D%/fork_while_others_work/run.sh \
	%D%/fork_while_starting/run.sh \
	%D%/fork_without_exec/run.sh \
	%D%/gperftools_contract/run.sh \
	%D%/gperftools_dumps/run.sh \
	%D%/gperftools_mark/run.sh \
	%D%/ground_moves/run.sh \
	%D%/handler_left/run.sh \
	%D%/handler_taken_by_system_call/run.sh \
	%D%/handler_takes_no_lock/run.sh \
	%D%/handlers_as_bare/run.sh \
	%D%/heap_address_reused/run.sh \
	%D%/heap_dlclose_often/run.sh \
	%D%/heap_every_way/run.sh \
	%D%/heap_fork_child_frees/run.sh \
	%D%/heap_census/run.sh \
	%D%/heap_forks/run.sh \
	%D%/heap_handler_jumps_away/run.sh \
	%D%/heap_odd_sizes/run.sh \
	%D%/heap_odd_times/run.sh \
	%D%/heap_own_allocator/run.sh \
	%D%/heap_plugin_brings_cxx/run.sh \
	%D%/heap_plugin_waits_for_thread/run.sh \
	%D%/heap_realloc_fails/run.sh \
	%D%/heap_replaced_operators/run.sh \
	%D%/heap_same_blocks/run.sh \
	%D%/heap_same_stack/run.sh \
	%D%/heap_shared_counter/run.sh \
	%D%/heap_signal_handler/run.sh \
	%D%/heap_sizes_unweighted/run.sh \
	%D%/heap_stepped/run.sh \
	%D%/heap_stopped/run.sh \
	%D%/helper_at_exit/run.sh \
	%D%/holes/run.sh \
	%D%/hostile_paths/run.sh \
	%D%/idle_library/run.sh \
	%D%/interrupted_calls/run.sh \
	%D%/io_cancelled_call/run.sh \
	%D%/io_errno_kept/run.sh \
	%D%/io_fork_child/run.sh \
	%D%/io_in_handlers/run.sh \
	%D%/io_numbers_reused/run.sh \
	%D%/io_own_calls/run.sh \
	%D%/io_vfork_child/run.sh \
	%D%/jit_and_memfd_code/run.sh \
	%D%/kill_and_stack_overflow/run.sh \
	%D%/last_thread_exits/run.sh \
	%D%/last_words/run.sh \
	%D%/library_constructors/run.sh \
	%D%/libunwind_backtrace_not_replaced/run.sh \
	%D%/loader_namespaces/run.sh \
	%D%/lock_at_the_edges/run.sh \
	%D%/lock_cancelled_wait/run.sh \
	%D%/lock_cond_versions/run.sh \
	%D%/lock_every_kind/run.sh \
	%D%/lock_foreign_threads/run.sh \
	%D%/lock_hidden_threads/run.sh \
	%D%/lock_in_closed_module/run.sh \
	%D%/lock_overtaken/run.sh \
	%D%/lock_own_clock/run.sh \
	%D%/lock_readers_at_once/run.sh \
	%D%/lock_return_codes/run.sh \
	%D%/lock_stack_while_held/run.sh \
	%D%/lock_storm/run.sh \
	%D%/lock_totals/run.sh \
	%D%/lock_wakers_at_the_edges/run.sh \
	%D%/lost_samples_counted/run.sh \
	%D%/many_short_threads/run.sh \
	%D%/mask_comes_back/run.sh \
	%D%/mask_of_handler/run.sh \
	%D%/memory_used_up/run.sh \
	%D%/modes.sh \
	%D%/namespaces/run.sh \
	%D%/own_cost_told/run.sh \
	%D%/own_sigprof_handler/run.sh \
	%D%/perf_as_timers/run.sh \
	%D%/perf_events/run.sh \
	%D%/process_limit/run.sh \
	%D%/process_trees/run.sh \
	%D%/profile_unwritable/run.sh \
	%D%/program_exports_our_names/run.sh \
	%D%/program_malloc_uncalled/run.sh \
	%D%/program_run_by_loader/run.sh \
	%D%/push_helper/run.sh \
	%D%/serve_helper/run.sh \
	%D%/raw_reset/run.sh \
	%D%/realtime/run.sh \
	%D%/seccomp/run.sh \
	%D%/sends_to_itself/run.sh \
	%D%/set_user_id/run.sh \
	%D%/setitimer_prof/run.sh \
	%D%/shared_alternate_stack/run.sh \
	%D%/short_bursts_told/run.sh \
	%D%/short_children/run.sh \
	%D%/short_threads/run.sh \
	%D%/signal_after_exec/run.sh \
	%D%/signal_after_stop/run.sh \
	%D%/sigusr2_used_by_host/run.sh \
	%D%/single_thread/run.sh \
	%D%/small_and_alternate_stack/run.sh \
	%D%/start_and_stop/run.sh \
	%D%/start_in_odd_directory/run.sh \
	%D%/static_binary/run.sh \
	%D%/static_tls_exhausted/run.sh \
	%D%/stdout_untouched/run.sh \
	%D%/storm/run.sh \
	%D%/text_remapped/run.sh \
	%D%/thread_count/run.sh \
	%D%/threads_before_start/run.sh \
	%D%/tick_coarser_than_period/run.sh \
	%D%/timer_create_fails/run.sh \
	%D%/timers_in_step/run.sh \
	%D%/traced_child/run.sh \
	%D%/trials/run.sh \
	%D%/valgrind/run.sh \
	%D%/vdso_leaf/run.sh \
	%D%/vfork_and_spawn/run.sh \
	%D%/ways_of_linking/run.sh
JEMALLOC_TRAP_TESTS += \
	%D%/heap_jemalloc_inside/run.sh
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
