# SPDX-License-Identifier: BSD-3-Clause
# Who is answered by the control socket: root, and the process's user with its group. Not while the process can do more
# than that user: with another effective or saved user, or with capabilities. cprof, as root, finds one in a user
# namespace, too, which knows its own user only; where it knows nobody, that is said.
. "$srcdir/tests/lib/control.sh"
need setpriv
setpriv --reuid=1234 --regid=1234 --clear-groups true 2>/dev/null || skip "needs root"
user() { # uid gid
	echo setpriv --reuid=$1 --regid=$2 --clear-groups
}
refused() { # user...
	! answers $pid "$@"
}
chmod 755 "$work"
cp "$srcdir/tests/lib/control-client.py" "$work/client.py"
answers() { # pid [as-user...]
	local who=$1
	shift
	timeout 20 "$@" $python "$work/client.py" ask "libcprof/$who" >"$work/asked" 2>&1
}
host asked CPROF_CONTROL=on CPUPROFILE="$work/asked.pb"
wait_for 60 answers $pid || fail "root has no answer: $(cat "$work/asked")"
refused $(user 1234 1234) || harm "a user may ask root's process"
tell effective-user 1234
wait_for 60 answers $pid || harm "root has no answer after seteuid"
refused $(user 1234 1234) || harm "a user may ask a process that can become root again"
tell effective-user 0
tell group 1234
tell user 1234
wait_for 60 answers $pid $(user 1234 1234) || harm "its user has no answer: $(cat "$work/asked")"
answers $pid || harm "root has no answer after setuid: $(cat "$work/asked")"
refused $(user 4321 4321) || harm "another user may ask"
refused $(user 1234 4321) || harm "its user may ask with another group"
end_host
check_status asked 0
# A capability that is kept over setuid. The user must be able to load the library.
if ! $(user 1234 1234) test -r "$CP_LIBRARY"; then
	echo "not run: user 1234 can't read $CP_LIBRARY"
	finish
fi
host capable CPROF_CONTROL=on setpriv --reuid=1234 --regid=1234 --clear-groups --inh-caps=+net_raw --ambient-caps=+net_raw
wait_for 60 answers $pid || fail "capable: root has no answer: $(cat "$work/asked")"
refused $(user 1234 1234) || harm "a user may ask a process that has a capability"
end_host
check_status capable 0
if ! $(user 1234 1234) unshare -r true 2>/dev/null; then
	echo "not run: user 1234 can't make a user namespace"
	finish
fi
listed_host mapped - CPROF_CONTROL=on $(user 1234 1234) unshare -r
"$cprof" ps $pid >"$work/asked" 2>&1 || fail "mapped: root has no answer: $(cat "$work/asked")"
! answers $pid $(user 4321 4321) || harm "mapped: another user may ask"
# The process may close a connection of root's before root has asked.
for ((i = 0; i < 20; i++)); do
	lists $pid || { fail "mapped: root's cprof has left it out, time $i"; break; }
done
end_host
check_status mapped 0
host unmapped CPROF_CONTROL=on $(user 1234 1234) unshare -U
wait_for 60 has_socket $pid || fail "unmapped: no socket"
! "$cprof" ps $pid >"$work/asked" 2>&1 || fail "unmapped: root has an answer"
grep -q 'user namespace without a map' "$work/asked" || fail "unmapped: root is told: $(cat "$work/asked")"
"$cprof" ps >"$work/asked" 2>&1 || fail "unmapped: ps has status $?"
grep -q "not shown:.* $pid.* user namespace without a map" "$work/asked" || fail "unmapped: ps leaves it out: $(cat "$work/asked")"
end_host
check_status unmapped 0
finish
