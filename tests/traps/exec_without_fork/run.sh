# SPDX-License-Identifier: BSD-3-Clause
# exec without fork: the profile is written before, the next image doesn't overwrite it, and an exec
# that fails changes nothing.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
execs=./tests/traps/hosts/execs

# The program that is last in the process owns the name, whatever its launchers did before.
alone() { # name command...
	which=$1
	shift
	profiled "$which" "$@"
	check_ended_valid "$which" 8
	check_stack "$work/$which.pb" second
}
alone env env A=1 "$execs" work second
alone sh sh -c "exec $execs work second"
alone none "$execs" none env "$execs" none "$execs" work second

# Images that had samples keep a file each.
profiled chain "$execs" first "$execs" second "$execs" work third
check_ended chain 8
check_valid "$work/chain.pb" "$work/chain.pb".*
[ "$(find "$work" -name "chain.pb.*" | wc -l)" = 2 ] || fail "chain: $(ls "$work")"
check_stack "$work/chain.pb" third
check_no_stack "$work/chain.pb" 'first|second'
for name in first second; do
	n=0
	for file in "$work/chain.pb".*; do
		"$pprof_check" --raw "$file" | grep -q "$name" && n=$((n + 1))
	done
	[ "$n" = 1 ] || fail "chain: $name is in $n files"
done

# A last image without a sample leaves what was there. Short as it is, it may have had one, more often under load and
# with perf's clock: then the path is its own, and the other moved away.
ends_well profiled idle "$execs" first /bin/true
check_valid "$work/idle.pb"*
if [ "$(find "$work" -name 'idle.pb*' | wc -l)" = 1 ]; then
	check_stack "$work/idle.pb" first
else
	check_no_stack "$work/idle.pb" first
	check_stack "$(echo "$work"/idle.pb.*)" first
fi

# An image between that CPROF_ONLY leaves out breaks no chain.
cp "$execs" "$work/other"
CPROF_ONLY='execs,lt-execs' profiled only "$execs" first "$work/other" none "$execs" work second
check_status only 8
check_valid "$work/only.pb" "$work/only.pb".*
check_stack "$work/only.pb" second
check_stack "$(echo "$work/only.pb".*)" first

# A mode in which no image had a sample has a file, too, although another mode had some before the exec.
LOCKPROFILE=$work/two.lock profiled two "$execs" first "$execs" work second
check_status two 8
check_stack "$work/two.pb" second
check_valid_as lock "$work/two.lock"

engines=auto
CPROF_CPU_ENGINE=perf profiled probe true
grep -q 'CPROF_CPU_ENGINE=perf is not possible' "$work/probe.err" || engines="auto perf"
for engine in $engines; do
	CPROF_CPU_ENGINE=${CPROF_CPU_ENGINE:-$engine} profiles_well profiled "failing-$engine" "$execs" failing
	check_stack "$work/failing-$engine.pb" first
	check_stack "$work/failing-$engine.pb" second
	[ "$(find "$work" -name "failing-$engine.pb*" | wc -l)" = 1 ] || fail "failing: $(ls "$work")"
done
finish
