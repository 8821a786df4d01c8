# 10,000 short threads: buffers are taken at a first sample, go back to a pool, and records are used
# again, so that memory is bounded by the threads that live at once.
. "$srcdir/tests/lib/e2e.sh"
need timeout
limit=$bounded
count=10000
[ "${CP_QUICK:-}" ] && count=3000
peak() { # name
	sed -n 's/^VmHWM //p' "$work/$1.err"
}
bare bare ./tests/traps/many-threads "$count"
check_status bare 0
CPUPROFILE_FREQUENCY=4000 profiled many ./tests/traps/many-threads "$count"
check_status many 0
check_same_output many bare
check_quiet many
check_valid "$work/many.pb"
check_stack "$work/many.pb" short_thread
# A buffer is 32 KiB or more: one for each sampled thread would be over 30 MB.
more=$(($(peak many) - $(peak bare)))
[ "$more" -lt 8192 ] || fail "$more KiB more than without the profiler"
echo "# $more KiB more than without the profiler"
finish
