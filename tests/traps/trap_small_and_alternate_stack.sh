# The handler on a small or an alternate stack.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/small-stacks
export CPUPROFILE_FREQUENCY=1000
for unwind in dwarf fp libunwind; do
	export CPROF_UNWIND=$unwind
	for how in threads 'alternate 0' 'alternate 1024' 'alternate 65536' header handler; do
		label=${how// /-}-$unwind
		# shellcheck disable=SC2086
		profiled "$label" $host $how
		check_status "$label" 0
		[ "$(cat "$work/$label.out")" = done ] || fail "$label: $(cat "$work/$label.out")"
		check_valid "$work/$label.pb"
		# Frame pointers lead nowhere here; and in a handler on an alternate stack no samples are taken.
		[ "$unwind" = fp ] || [ "$how" = handler ] ||
			check_stack "$work/$label.pb" 'burn.*;work'
	done
done
# What is in use above the kernel's frame is the handler's own: under 1 KiB.
for unwind in dwarf fp libunwind; do
	line=$(grep '^alternate stack' "$work/alternate-65536-$unwind.err")
	echo "$unwind: $line"
	[ "${line##* }" -gt 0 ] || fail "$unwind: the handler did not run on the alternate stack"
	[ "${line##* }" -lt 1024 ] || fail "$unwind: the handler needs ${line##* } bytes of stack"
done
finish
