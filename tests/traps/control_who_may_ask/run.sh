# SPDX-License-Identifier: BSD-3-Clause
# Who is answered by the control socket: root, and the process's user with its group. Not while the process can do more
# than that user: with another effective or saved user, or with capabilities.
. "$srcdir/tests/lib/e2e.sh"
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
finish
