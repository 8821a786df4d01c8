# A sample of a thread that has had some makes no system call: between the signal and the return from its handler
# the kernel sees nothing.
. "$srcdir/tests/lib/e2e.sh"

need strace
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"

# Two threads that compute only; the first samples of each map its ring.
bare traced strace -f -o "$work/calls" -E CPUPROFILE_FREQUENCY=500 -E CPUPROFILE="$work/traced.pb" \
	-E LD_PRELOAD="$CP_LIBRARY" ./tests/e2e/accuracy-host 1 2
check_status traced 0
awk -v first=5 '
	# "PID rest": what the thread does between its signal and the return
	/--- SIGPROF/ { inside[$1] = 1; samples[$1]++; all++; next }
	inside[$1] && /rt_sigreturn/ { inside[$1] = 0; next }
	inside[$1] && samples[$1] > first { calls++; if (calls <= 5) print "in a handler: " $0 }
	END {
		print all + 0 " samples, " calls + 0 " system calls in them"
		exit all < 50 || calls > 0
	}' "$work/calls" || fail "samples make system calls, or there were too few"
check_valid "$work/traced.pb"
finish
