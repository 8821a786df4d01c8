# SPDX-License-Identifier: BSD-3-Clause
# 10,000 short threads: buffers are taken at a first sample, go back to a pool, and records are used
# again, so that memory is bounded by the threads that live at once.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
count=10000
[ "${CP_QUICK:-}" ] && count=3000
more() { # resident|mapped
	echo $(($(sed -n "s/^$1 //p" "$work/many.err") - $(sed -n "s/^$1 //p" "$work/bare.err")))
}
ends_well bare bare ./tests/traps/hosts/many-threads "$count"
CPUPROFILE_FREQUENCY=4000 same_as_bare cpu many ./tests/traps/hosts/many-threads "$count"
check_valid "$work/many.pb"
check_stack "$work/many.pb" short_thread
# A buffer is some 80 KiB, a few of them resident: one for each sampled thread would be 40 MB.
[ "$(more resident)" -lt 6144 ] || fail "$(more resident) KiB more are resident than without the profiler"
# (16 MiB of address space are the reserve for the last write: 8, which double with the first stacks.)
[ "$(more mapped)" -lt 40960 ] || fail "$(more mapped) KiB more are mapped than without the profiler"
echo "# resident: $(more resident) KiB more than without the profiler, mapped: $(more mapped)"
finish
