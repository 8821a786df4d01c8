# A program forbids itself system calls that we would make: it is not killed for them. What was
# profiled until then is written before. A mere question whether there is seccomp changes nothing, nor
# does a try that the kernel refuses.
. "$srcdir/tests/lib/e2e.sh"
need timeout
limit=$bounded
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY
for way in probe blind refused filter filter-by-number filter-with-right strict filter-threads; do
	bare "$way-bare" ./tests/traps/sandbox "$way"
	[ "$status" = 0 ] || skip "$way: no seccomp here"
	profiled "$way" ./tests/traps/sandbox "$way"
	check_status "$way" 0
	check_same_output "$way" "$way-bare"
	check_valid "$work/$way.pb"
done
for way in probe refused; do
	check_stack "$work/$way.pb" confined_work
	check_quiet $way
done
check_stack "$work/filter.pb" 'work;filter'
grep -q 'seccomp' "$work/filter.err" || fail "the end of profiling is not said"
finish
