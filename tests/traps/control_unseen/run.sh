# SPDX-License-Identifier: BSD-3-Clause
# The control socket is out of the program's sight: no descriptor of its own, nothing that it or its children can
# close or inherit; it comes back after an exec and a change of credentials, and nothing is left when the process is
# killed.
. "$srcdir/tests/lib/control.sh"
host unseen CPROF_CONTROL=on CPUPROFILE="$work/unseen.pb"
wait_for 60 has_socket $pid || fail "no socket"
for who in alone threaded; do
	[ $who = alone ] || tell thread
	tell close-all
	has_socket $pid || { harm "$who: the socket was closed with the program's descriptors"; finish; }
	tell descriptors
	[ "$answer" = 'lowest 3, open 3' ] || harm "$who: the program's descriptors: $answer"
	wait_for 60 answers $pid || harm "$who: no answer after all descriptors were closed"
	tell fork
	child=${answer#child }
	[ "$(ls /proc/$child/fd | wc -l)" = 3 ] || harm "$who: the child has descriptors: $(ls -l /proc/$child/fd)"
	kill -KILL $child
done
tell_exec
wait_for 60 answers $pid || harm "no answer after an exec"
kill -KILL $pid
wait $pid 2>/dev/null
has_socket $pid && harm "the socket is left after SIGKILL"
finish
