# SPDX-License-Identifier: BSD-3-Clause
# Another user listens at names like those of profiled processes, and answers nobody: with full queues of connections,
# or silently. Neither the user of a process nor root waits for each of them. (The limit is far above what is needed,
# and far below five seconds for each name.)
. "$srcdir/tests/lib/control.sh"
need setpriv
setpriv --reuid=1234 --regid=1234 --clear-groups true 2>/dev/null || skip "needs root"
chmod 755 "$work"
as() { # uid command...
	local uid=$1
	shift
	setpriv --reuid=$uid --regid=$uid --clear-groups "$@"
}
host asked CPROF_CONTROL=on
setpriv --reuid=4321 --regid=4321 --clear-groups $python - $pid <<'EOF' >"$work/squat.out" 2>&1 &
import os, socket, sys, time
keep = []
def listen(name, full):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind("\0libcprof/" + name)
    s.listen(0 if full else 50)
    keep.append(s)
    while full:
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.setblocking(False)
        keep.append(c)
        try:
            c.connect("\0libcprof/" + name)
        except BlockingIOError:
            break
for i in range(16):
    listen("%s.%x" % (sys.argv[1], i), True)
    listen("%d.%x" % (os.getpid(), i), False)
    listen("1%d%02d" % (os.getpid(), i), True)
    listen("2%d%02d" % (os.getpid(), i), False)
print("listens", flush=True)
time.sleep(60)
EOF
squatter=$!
owns $squatter
wait_for 60 grep -q listens "$work/squat.out" || fail "nobody squats: $(cat "$work/squat.out")"
timeout 20 "$cprof" ps >"$work/all.out" 2>&1 || harm "root waits, or sees nobody: $(cat "$work/all.out")"
grep -q "^ *$pid " "$work/all.out" || fail "root doesn't see the process: $(cat "$work/all.out")"
timeout 20 "$cprof" ps $pid >"$work/one.out" 2>&1 || harm "root has no answer: $(cat "$work/one.out")"
if as 1234 test -x "$cprof"; then
	# It has no process, and is told so.
	as 1234 timeout 20 "$cprof" ps >"$work/user.out" 2>&1 || true
	grep -q 'no process is being profiled' "$work/user.out" || harm "a user waits: $(cat "$work/user.out")"
else
	echo "not run: user 1234 can't run $cprof"
fi
# A process of that user answers with a gigabyte of zeros, and its file in memory grows while it is read.
setpriv --reuid=4321 --regid=4321 --clear-groups $python - <<'EOF' >"$work/huge.out" 2>&1 &
import array, os, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0libcprof/%d" % os.getpid())
s.listen(16)
print("listens", flush=True)
while True:
    c = s.accept()[0]
    m, passed, _, _ = c.recvmsg(9000, socket.CMSG_SPACE(4))
    for _, _, data in passed:
        os.ftruncate(array.array("i", data)[0], 1 << 30)
    c.send(m[:8] + struct.pack("<iI", 0, 0))
EOF
huge=$!
owns $huge
wait_for 60 grep -q listens "$work/huge.out" || fail "nobody answers: $(cat "$work/huge.out")"
status=0
(ulimit -v 300000; timeout 20 "$cprof" threads $huge) >"$work/threads.out" 2>&1 || status=$?
[ $status = 2 ] && grep -q 'profile, but zeros' "$work/threads.out" || fail "a gigabyte: status $status, $(cat "$work/threads.out")"
kill $huge
kill $squatter
end_host
check_status asked 0
finish
