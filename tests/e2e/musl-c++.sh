# SPDX-License-Identifier: BSD-3-Clause
# A C++ program that is built for musl, in each mode: exceptions pass through frames that are sampled, their handlers
# find them, and what new and the standard library do is in the profiles. MUSL_CXX is a compiler that has a C++ library
# for musl, for dynamically linked programs. Debian has none; there it is g++ with its library for glibc.
. "$srcdir/tests/lib/lock.sh"
. "$srcdir/tests/lib/heap.sh"
. "$srcdir/tests/lib/io.sh"
cxx=(${MUSL_CXX:-bash "$srcdir/tests/lib/musl-g++.sh"})
need musl-gcc g++ "${cxx[0]}"
"${MAKE:-make}" -s musl >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; fail "the library for musl is not built"; finish; }
"${cxx[@]}" -std=c++17 -O2 -g -fomit-frame-pointer -o "$work/host" "$srcdir/tests/e2e/musl-c++-host.cc" || fail "the host doesn't compile"
cd "$work"
bare short ./host
bare long ./host long

# Run the host in a mode: its output and status are as without the profiler, and nothing is said.
run() { # mode option [long]
	status=0
	timeout -s KILL 100 "$cprof" run --top=0 "$2" -o "$1.pb" -- ./host ${3:-} >"$1.out" 2>"$1.err" || status=$?
	check_ended "$1" 7 "${3:-short}"
	! grep 'no .*profile' "$1.err" || harm "$1: no profile"
	check_valid_as "$1" "$1.pb"
	check_comment "$1.pb" '^stacks: 0 truncated at the depth limit, [0-9] incomplete'
}

# perf_events: the kernel looks seldom at the timers of threads that are always preempted.
export CPROF_CPU_ENGINE=perf
for mode in cpu wall; do
	run $mode --$mode long
	check_stack $mode.pb 'burn;catcher;main;'
	check_stack $mode.pb 'burn;catcher;main::.*operator'
	check_stack $mode.pb 'thrower[^;]*;thrower[^;]*;.*;catcher;main;'
done
run heap --heap=1
values_are heap.pb '(^|;)by_new;' "100 10000 50 5000"
values_are heap.pb '(^|;)by_aligned_new;' "30 5760 30 5760"
values=$(heap_values heap.pb '__cxa_allocate_exception;')
[[ $values == "8001 "*" 0 0" ]] || fail "exceptions are $values"
run lock --lock
for what in lock.pb\ wants_mutex lock.holders.pb\ holds_mutex; do
	got=$(lock_ns "${what% *}" ";${what#* };")
	[ "$got" -ge 50000000 ] || fail "$what has $got ns of delay"
done
run io --io
values=$(io_values io.pb '(^|;)writes;' 'op=write')
[[ $values == "40 "*" 40000 0" ]] || fail "writes are $values"
run event --event
check_stack event.pb 'touches;main;'
finish
