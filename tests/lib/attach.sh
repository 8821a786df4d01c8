# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of cprof attach: processes that were started without the library.
. "$srcdir/tests/lib/control.sh"
[ "$(uname -m)" = x86_64 ] || skip "attach is for x86_64"

# Starts attach-host WHAT as NAME, without the library. The process to attach to is $work_pid.
unaware() { # name what...
	hosted=$1
	shift
	mkfifo "$work/$hosted.in"
	"${unaware_program:-$builddir/tests/e2e/attach-host}" "$@" <"$work/$hosted.in" >"$work/$hosted.out" 2>"$work/$hosted.err" &
	pid=$!
	owns $pid
	exec {told}>"$work/$hosted.in"
	wait_for 60 grep -q '^up' "$work/$hosted.out" || fail "$hosted doesn't come up"
	work_pid=$((10#$(sed -n 's/^up //p' "$work/$hosted.out" | tail -n 1)))
}

ended_well() { # name
	[ -z "$told" ] || exec {told}>&-
	status=0
	wait "$pid" || status=$?
	check_status "$1" 0
	[ ! -s "$work/$1.err" ] || harm "$1 says: $(cat "$work/$1.err")"
}
