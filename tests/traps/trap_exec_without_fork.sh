# exec without fork: the profile is written before, the next image doesn't overwrite it, and an exec
# that fails changes nothing.
. "$srcdir/tests/lib/e2e.sh"
need timeout
limit=$bounded
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY
execs=./tests/traps/execs

# Images without a sample leave the name to the program that has some. That they have none is a
# matter of luck, though of much luck at this rate: a few tries.
alone() { # name command...
	which=$1
	shift
	for _ in 1 2 3 4 5 6 7 8; do
		CPUPROFILE_FREQUENCY=99 profiled "$which" "$@"
		check_status "$which" 8
		check_quiet "$which"
		check_valid "$work/$which.pb"
		[ "$(find "$work" -name "$which.pb*" | wc -l)" = 1 ] && break
	done
	[ "$(find "$work" -name "$which.pb*" | wc -l)" = 1 ] || fail "$which: $(ls "$work")"
	check_stack "$work/$which.pb" second
}
alone env env A=1 "$execs" work second
alone sh sh -c "exec $execs work second"
alone none "$execs" none env "$execs" none "$execs" work second

# Images that did each have a file.
profiled chain "$execs" first "$execs" second "$execs" work third
check_status chain 8
check_quiet chain
check_valid "$work/chain.pb" "$work/chain.pb".*
[ "$(find "$work" -name "chain.pb.*" | wc -l)" = 2 ] || fail "chain: $(ls "$work")"
check_stack "$work/chain.pb" first
check_no_stack "$work/chain.pb" 'second|third'
for name in second third; do
	n=0
	for file in "$work/chain.pb".*; do
		"$pprof_check" --raw "$file" | grep -q "$name" && n=$((n + 1))
	done
	[ "$n" = 1 ] || fail "chain: $name is in $n files"
done

# An image between that CPROF_ONLY leaves out breaks no chain.
cp "$execs" "$work/other"
CPROF_ONLY='execs,lt-execs' profiled only "$execs" first "$work/other" none "$execs" work second
check_status only 8
check_valid "$work/only.pb" "$work/only.pb".*
check_stack "$work/only.pb" first
check_stack "$(echo "$work/only.pb".*)" second

profiled failing "$execs" failing
check_status failing 0
check_quiet failing
check_valid "$work/failing.pb"
check_stack "$work/failing.pb" first
check_stack "$work/failing.pb" second
[ "$(find "$work" -name "failing.pb*" | wc -l)" = 1 ] || fail "failing: $(ls "$work")"
finish
