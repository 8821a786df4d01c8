# SPDX-License-Identifier: BSD-3-Clause
# The handler on a small or an alternate stack.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/small-stacks
export CPUPROFILE_FREQUENCY=1000
for unwind in dwarf fp libunwind; do
	export CPROF_UNWIND=$unwind
	for how in threads 'alternate 0' 'alternate 1024' 'alternate 65536' header handler; do
		label=${how// /-}-$unwind
		if [ "$how" = header ]; then
			bare header-bare $host header
			[ "$status" = 0 ] || { echo "the processor's registers need more than SIGSTKSZ"; continue; }
		fi
		ends_well profiled "$label" $host $how
		[ "$(cat "$work/$label.out")" = done ] || harm "$label: $(cat "$work/$label.out")"
		check_valid "$work/$label.pb"
		# Frame pointers lead nowhere here, nor does libunwind 1.6 on aarch64.
		[ "$unwind" = fp ] || [ "$unwind-$(uname -m)" = libunwind-aarch64 ] ||
			check_stack "$work/$label.pb" 'burn.*;work'
	done
done
# The handler itself uses under 1 KiB above the kernel's frame.
for unwind in dwarf fp libunwind; do
	line=$(grep '^alternate stack' "$work/alternate-65536-$unwind.err")
	echo "$unwind: $line"
	[ "${line##* }" -gt 0 ] || fail "$unwind: the handler did not run on the alternate stack"
	[ "${line##* }" -lt 1024 ] || fail "$unwind: the handler needs ${line##* } bytes of stack"
done
finish
