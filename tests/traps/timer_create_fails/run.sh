# SPDX-License-Identifier: BSD-3-Clause
# timer_create fails (RLIMIT_SIGPENDING): no abort, and no thread silently lost: they are not sampled, which comments say,
# with the CPU time that is in no sample.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host
(ulimit -i 0) 2>/dev/null || skip "ulimit -i does not work here"

(
	ulimit -i 0
	profiled limited "$host" threads 4 0.3
	exit "$status"
)
status=$?
check_ended limited 0
[ "$(cat "$work/limited.out")" = done ] || harm "output $(cat "$work/limited.out")"
check_comment "$work/limited.pb" 'note: no CPU timer for a thread.*ulimit -i.*: threads without one are not sampled'
check_comment "$work/limited.pb" 'cpu time: 1\.[0-9]* s used by the program, 0\.000 s in samples, 1\.[0-9]* s unsampled'
"$pprof_check" --comments "$work/limited.pb" | grep -q 'threads: .* [1-9][0-9]* without one' ||
	fail "the threads without a timer are not counted"
if [ -x "$builddir/cprof" ]; then
	"$builddir/cprof" top "$work/limited.pb" >"$work/top" 2>&1
	grep -q 'threads without one are not sampled' "$work/top" || fail "cprof top doesn't say it: $(cat "$work/top")"
fi
finish
