# SPDX-License-Identifier: BSD-3-Clause
# perf events have traps of their own: descriptors that the program closes, lists or runs out of, the
# kernel's refusal, a filter that kills for the call, and signals that could be the program's.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/hosts/perf-host
export CPROF_CPU_ENGINE CPUPROFILE_FREQUENCY=1000

# As profiled does it, but the launcher runs without the profiler.
launched() { # name how
	bare "$1" "$host" "$2" env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/$1.pb" "$host"
}

# Refused, it is a timer, and one line says why, as the profile does.
refused() { # name reason
	check_status "$1" 0
	check_valid "$work/$1.pb"
	check_stack "$work/$1.pb" 'burn;work'
	check_comment "$work/$1.pb" "engine timer .*; $2"
	[ "$(grep -c '^libcprof:' "$work/$1.err")" = 1 ] && grep -qE "perf is not possible \($2.*using timer" "$work/$1.err" ||
		fail "$1: not one line with the reason: $(cat "$work/$1.err")"
}
CPROF_CPU_ENGINE=perf
if "$host" filtered true 2>/dev/null; then
	launched filtered filtered
	refused filtered 'a seccomp filter is on'
fi
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] &&
	"$host" unprivileged test -r "$CP_LIBRARY" 2>/dev/null; then
	chmod 777 "$work"
	launched unprivileged unprivileged
	refused unprivileged 'the kernel allows no perf event'
fi

# By itself it is never taken: a signal that comes within a call shows.
bare copies-bare "$host" copies
CPROF_CPU_ENGINE=auto
profiled copies "$host" copies
check_ended copies 0 copies-bare
check_comment "$work/copies.pb" 'engine timer .*; auto'

CPROF_CPU_ENGINE=perf
ends_well profiled plain "$host"
check_valid "$work/plain.pb"
check_stack "$work/plain.pb" 'burn;work'
if ! "$pprof_check" --comments "$work/plain.pb" | grep -q 'engine perf'; then
	[ "$failures" = 0 ] || finish
	skip "no perf events with kernel time here: $(cat "$work/plain.err")"
fi
check_quiet plain

# Kernel frames are above the program's, in their own mapping.
profiled kernel "$host" copies
check_valid "$work/kernel.pb"
if grep -qv '^0000000000000000' /proc/kallsyms 2>/dev/null; then
	check_stack "$work/kernel.pb" '(entry_SYSCALL_64|el0t_64_sync)[^;]*;.*read;copies;main'
else
	check_stack "$work/kernel.pb" '\[kernel\];.*read;copies;main'
fi

# A descriptor of the program sends SIGPROF.
bare own-bare "$host" own-descriptor
profiled own "$host" own-descriptor
check_ended own 0 own-bare
ends_well bare awaited-bare "$host" awaited-descriptor
runs_well profiled awaited "$host" awaited-descriptor
# The program waits for the signal of a hit when one of its handlers runs and ends the wait.
bare handled-bare ./tests/traps/hosts/awaited handled
ends_well profiled handled ./tests/traps/hosts/awaited handled
check_same_output handled handled-bare
# 50 a second: the thread's first comes when its begin is over.
CPUPROFILE_FREQUENCY=50 ends_well profiled dropped "$host" dropped
check_stack "$work/dropped.pb" 'burn;work;works_on'

# None left: those threads have a timer.
bare crowded-bare "$host" no-descriptors
ends_well profiled crowded "$host" no-descriptors
check_same_output crowded crowded-bare
check_valid "$work/crowded.pb"
[ "$("$pprof_check" --total "$work/crowded.pb" | awk '$1 == "cpu" { print int($3 / 1e6) }')" -gt 300 ] ||
	fail "crowded: the threads' time isn't there"
check_comment "$work/crowded.pb" 'threads: .* [4-9] a timer in its place'
[ "$(grep -c '^libcprof:' "$work/crowded.err")" = 1 ] || fail "crowded: $(cat "$work/crowded.err")"

# Walks that take longer than the period: the program goes on.
CPROF_MAX_DEPTH=4096 CPUPROFILE_FREQUENCY=10000 profiles_well profiled deep "$host" deep
check_stack "$work/deep.pb" 'burn;deep'
# The same while modules come and go, so that each read may fail.
. "$srcdir/tests/lib/loader.sh"
for m in a b c d e; do plugin "$m"; done
CPUPROFILE_FREQUENCY=10000 profiles_well profiled storm ./tests/traps/hosts/dlclose-storm 100 "$work"/{a,b,c,d,e}.so
finish
