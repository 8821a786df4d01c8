# SPDX-License-Identifier: BSD-3-Clause
# cprof attach refuses what it can't do, with the reason and what helps, and the process goes on: each reason, by a process
# that has it. Not made here: a shadow stack, which few processors have; an older glibc; a library without a free place.
. "$srcdir/tests/lib/attach.sh"

# Attaches to $work_pid, which is to be refused.
refuses() { # name regex
	cprof "$1-attach" attach "$work_pid"
	refused "$1-attach" "$2"
}

cprof none attach 999999999
refused none 'there is no process'
cprof self attach 0
refused self 'is no process id'
status=0
bash -c 'exec "$1" attach $$' - "$cprof" >"$work/itself.out" 2>"$work/itself.err" || status=$?
refused itself 'is this cprof'
for what in traced:'is traced by process' vfork:'between vfork and exec' ; do
	unaware "${what%%:*}" "${what%%:*}"
	cprof "${what%%:*}-attach" attach "$work_pid"
	refused "${what%%:*}-attach" "${what#*:}"
	ended_well "${what%%:*}"
done
unaware stopped stdio
kill -STOP "$pid"
wait_for 60 grep -q '^State:.*T' "/proc/$pid/status"
cprof stopped-attach attach "$pid"
refused stopped-attach "kill -CONT $pid"
kill -CONT "$pid"
ended_well stopped
# A frozen control group, where we may make one.
groups=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
if [ -n "$groups" ] && mkdir "$groups/cprof-test.$$" 2>/dev/null; then
	group=$groups/cprof-test.$$
	unaware frozen stdio
	if (echo "$pid" >"$group/cgroup.procs" && echo 1 >"$group/cgroup.freeze") 2>/dev/null; then
		wait_for 60 grep -q '^frozen 1' "$group/cgroup.events"
		refuses frozen 'is frozen .*docker pause'
		echo 0 >"$group/cgroup.freeze"
	fi
	ended_well frozen
	rmdir "$group"
fi
if $CC -static -pthread -I"$srcdir/tests/lib" -D_GNU_SOURCE -o "$work/static" "$srcdir/tests/e2e/attach-host.c" 2>/dev/null; then
	unaware_program=$work/static unaware static wait
	cprof static-attach attach "$work_pid"
	refused static-attach 'is a static program'
	ended_well static
fi
if [ "$(id -u)" = 0 ] && as_nobody=$(command -v setpriv); then
	unaware others wait
	status=0
	"$as_nobody" --reuid 65534 --clear-groups "$cprof" attach "$work_pid" >"$work/others-attach.out" 2>"$work/others-attach.err" || status=$?
	grep -q "another user's" "$work/others-attach.err" || fail "others: $(cat "$work/others-attach.err")"
	ended_well others
fi
# Who has ended, and whose parent hasn't noticed; a thread; two tools at once.
sh -c 'true & exec sleep 60' &
pid=$!
owns $pid
has_zombie() {
	work_pid=$(pgrep -P $pid) && grep -q '^State:.*Z' "/proc/$work_pid/status"
}
wait_for 60 has_zombie || fail "no zombie"
refuses zombie 'has ended'
cprof zombie-detach detach "$work_pid"
refused zombie-detach 'has ended'
kill -KILL $pid
unaware ended ended
wait_for 60 grep -q '^State:.*Z' "/proc/$pid/status"
refuses ended 'its main thread has ended'
ended_well ended
unaware_program=env unaware off LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=off CPUPROFILE="$work/off.pb" "$builddir/tests/e2e/attach-host" stdio
refuses off 'profiled by libcprof already, which takes no requests'
ended_well off
unaware thread wait
for work_pid in $(cd "/proc/$pid/task" && echo *); do
	[ "$work_pid" = "$pid" ] || refuses thread "is a thread: \"cprof attach $pid\" means its process"
done
work_pid=$pid
exec {lock}<"/proc/$pid"
flock $lock
refuses locked 'another cprof attaches to it now'
exec {lock}>&-
ended_well thread
[ "$(cat /proc/2/comm)" != kthreadd ] || work_pid=2 refuses kernel 'is a thread of the kernel'

for what in coroutine bare-coroutine; do
	unaware $what $what
	refuses $what 'stacks that the program itself has made, for coroutines'
	ended_well $what
done

# Programs of other kinds.
cat >"$work/waits.c" <<'END'
#include <stdio.h>
int main(void)
{
	puts("up 0");
	fflush(stdout);
	return getchar() != EOF;
}
END
other_kind() { # name regex compiler...
	local name=$1 says=$2
	shift 2
	"$@" -o "$work/$name" "$work/waits.c" 2>/dev/null || { echo "SKIP $name: no compiler for it"; return; }
	unaware_program=$work/$name unaware "$name-program"
	work_pid=$pid
	refuses "$name" "$says"
	ended_well "$name-program"
}
other_kind musl 'runs on musl.*the library for musl' musl-gcc
for sanitizer in address:asan thread:tsan; do
	other_kind "${sanitizer%:*}" 'built with a sanitizer' $CC "-fsanitize=${sanitizer%:*}"
	other_kind "static-${sanitizer%:*}" 'built with a sanitizer' $CC "-fsanitize=${sanitizer%:*}" "-static-lib${sanitizer#*:}"
done
if command -v valgrind >/dev/null; then
	unaware_program=valgrind unaware emulated -q "$builddir/tests/e2e/attach-host" stdio
	refuses emulated 'is run by valgrind'
	ended_well emulated
fi
cat >"$work/narrow.S" <<'END'
.globl _start
_start:	mov $29, %eax
	int $0x80
	jmp _start
END
if $CC -m32 -nostdlib -static -o "$work/narrow" "$work/narrow.S" 2>/dev/null && { "$work/narrow" & } 2>/dev/null; then
	work_pid=$!
	owns $work_pid
	is_narrow() { [ "$(readlink "/proc/$work_pid/exe")" = "$work/narrow" ]; }
	wait_for 60 is_narrow
	refuses narrow 'is a 32-bit program'
	kill -KILL $work_pid
fi

# Rights: as a user that isn't root.
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || finish
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
denied() { # name regex command...
	local name=$1 says=$2
	shift 2
	status=0
	"$@" "$cprof" attach "$work_pid" >"$work/$name-attach.out" 2>"$work/$name-attach.err" || status=$?
	refused "$name-attach" "$says"
}
unaware_program=bash unaware full -c 'ulimit -d 4096 && exec "$0" stdio' "$builddir/tests/e2e/attach-host"
refuses full 'no memory left for libcprof; raise its limit .*-d'
ended_well full
chmod 755 "$work"
unaware_program=setpriv unaware private "${nobody[@]:1}" "$builddir/tests/e2e/attach-host" private
denied private 'protects its memory' "${nobody[@]}"
ended_well private
unaware_program=setpriv unaware crowded "${nobody[@]:1}" bash -c 'ulimit -u 1 && exec "$0" stdio' "$builddir/tests/e2e/attach-host"
denied crowded "it can't make a thread: .*ulimit -u" "${nobody[@]}"
ended_well crowded
unaware_program=setpriv unaware able "${nobody[@]:1}" --inh-caps +net_bind_service --ambient-caps +net_bind_service \
	"$builddir/tests/e2e/attach-host" wait
denied able 'has more rights than you' "${nobody[@]}"
# The kernel here may have no Yama: what it would say.
with_scope() { # scope command...
	unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
		echo "$1" >/proc/sys/kernel/yama/ptrace_scope && shift && exec "$@"' - "$@"
}
if with_scope 1 true 2>/dev/null; then
	denied scope1 'only a parent process and root attach .*ptrace_scope is 1.*sudo cprof attach' with_scope 1 "${nobody[@]}"
	denied scope2 'only root attach .*ptrace_scope is 2' with_scope 2 "${nobody[@]}"
	denied scope3 'allows no attach at all .*ptrace_scope is 3' with_scope 3 "${nobody[@]}"
fi
cprof able-attach attach "$work_pid"
check_status able-attach 0
status=0
"${nobody[@]}" "$cprof" detach "$work_pid" >"$work/able-detach.out" 2>"$work/able-detach.err" || status=$?
refused able-detach 'does not answer this user'
ended_well able
finish
