#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof attach and detach: a process that was started without the library gets it, notices nothing, and is rid of it.
. "$srcdir/tests/lib/attach.sh"

# No thread of these is at a safe place: that takes ten seconds to be said.
never='handler callback locked mntent epoll limited'
for what in $never; do
	unaware $what $what
	eval "$what=$pid ${what}_told=$told"
	[ $what != epoll ] || wait_for 60 grep -q '^232 ' "/proc/$pid/syscall"
	# bash forgets how a process ended when another one of its own gets that number.
	{
		status=0
		timeout 60 "$cprof" attach "$work_pid" >"$work/$what-attach.out" 2>"$work/$what-attach.err" || status=$?
		echo $status >"$work/$what-attach.status"
	} &
	owns $!
done

# The library takes longer to begin than the loader has time: as it may beside load.
cat >"$work/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <time.h>
typedef int each(struct dl_phdr_info *, size_t, void *);
int dl_iterate_phdr(each *f, void *arg)
{
	int (*next)(each *, void *) = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	static struct timespec wait = { .tv_sec = 11 };
	sigset_t mask;
	if (!sigprocmask(SIG_SETMASK, 0, &mask) && sigismember(&mask, SIGPROF)) {
		nanosleep(&wait, 0);
		wait.tv_sec = 0;
	}
	return next(f, arg);
}
END
$CC -O1 -shared -fPIC -o "$work/slow.so" "$work/slow.c" -ldl || fail "slow.c doesn't compile"
unaware_program=env unaware slow LD_PRELOAD="$work/slow.so" "$builddir/tests/e2e/attach-host" wait
slow=$pid slow_told=$told
timeout 60 "$cprof" attach "$work_pid" >"$work/slow-attach.out" 2>"$work/slow-attach.err" &
attaches=$!
owns $attaches

# Attach, all verbs, detach, and again.
host user LD_PRELOAD=
tell sleeper 1
cprof threads-before threads "$pid"
refused threads-before "\"cprof attach $pid\" loads it"
cprof record-before record -cpu -heap "$pid"
refused record-before "\"cprof attach $pid\" loads it"
[ "$(wc -l <"$work/record-before.err")" = 1 ] || fail "said for each mode: $(cat "$work/record-before.err")"
cprof attach attach "$pid"
check_status attach 0
says attach "\"cprof detach $pid\" undoes it"
says attach "attached to process $pid"
lists "$pid" - || fail "it is not listed: $("$cprof" ps)"
cprof again attach "$pid"
says again 'has libcprof already'
cprof threads threads "$pid"
says threads sleep_well
cprof start start -heap=1 -o "$work/heap.pb" "$pid"
check_status start 0
tell allocate 1000
cprof detach detach "$pid"
check_status detach 0
check_valid_as heap "$work/heap.pb"
"$cprof" top -sample_index=alloc_objects "$work/heap.pb" | grep -qE '^ *1000 .*allocate' || fail "blocks: $("$cprof" top -sample_index=alloc_objects "$work/heap.pb")"
lists "$pid" && fail "it is still listed after the detach"
cprof twice detach "$pid"
refused twice "is detached already, or was never attached"
cprof record-detached record "$pid"
refused record-detached "If it was detached, \"cprof attach $pid\" opens one"
tell allocate 10
(cd "$work" && timeout 60 "$cprof" attach "$pid" -heap=1 -for=300ms >record.out 2>record.err) || fail "attach -heap: $(cat "$work/record.err")"
[ -s "$work/$pid.heap.pb" ] || fail "attach -heap: no profile: $(cat "$work/record.err")"
# What fails is told to those who asked, and not on the program's stderr.
mkdir "$work/gone"
cprof start-gone start -heap=1 -o "$work/gone/heap.pb" "$pid"
check_status start-gone 0
rm -r "$work/gone"
cprof stop-gone stop "$pid"
refused stop-gone 'No such file'
cprof idle attach -cpu -for=100ms -o "$work/idle.pb" "$pid"
says idle 'cpu: no samples: the process used too little CPU time'
cprof detach-again detach "$pid"
check_status detach-again 0
# Several at once: one does it, and the others say so.
for i in 1 2 3 4 5 6 7 8 9 10; do
	cprof at-once attach "$pid"
	detaches=
	for n in 1 2 3; do
		"$cprof" detach "$pid" 2>"$work/at-once.$n" &
		detaches+=" $!"
	done
	for n in $detaches; do
		wait "$n" || true
	done
	[ "$(grep -l 'detached from' "$work"/at-once.? | wc -l)" = 1 ] && [ "$(grep -l 'is detached already' "$work"/at-once.? | wc -l)" = 2 ] ||
		fail "detached at once: $(cat "$work"/at-once.?)"
done
end_host
check_status user 0
[ ! -s "$work/user.err" ] || harm "the process says: $(cat "$work/user.err")"

# Waits end at their time, and by themselves.
unaware waits wait
for i in 1 2 3 4 5; do
	cprof waits-attach attach "$work_pid"
	check_status waits-attach 0
	cprof waits-detach detach "$work_pid"
	check_status waits-detach 0
done
ended_well waits
grep -q '^undisturbed' "$work/waits.out" || harm "waits: $(cat "$work/waits.out")"
unaware epolls epolls
for i in 1 2 3 4 5; do
	cprof epolls-attach attach "$work_pid"
	check_status epolls-attach 0
	cprof epolls-detach detach "$work_pid"
	check_status epolls-detach 0
done
ended_well epolls

# Threads that block all signals are sampled, too, and don't see it. A detach gives them their masks.
masks() {
	cat "/proc/$work_pid/task/"*/status 2>/dev/null | grep '^SigBlk'
}
masks_are_back() {
	[ "$before" = "$(masks)" ]
}
samples_are_pending() {
	cat "/proc/$work_pid/task/"*/status | grep '^SigPnd' | grep -qv '[[:space:]]0*$'
}
unaware masked masked
before=$(masks)
for i in 1 2; do
	# Samples that came while a thread was not yet attended to must not end its waits.
	cprof masked-early attach "$work_pid"
	cprof masked-start start -cpu -o "$work/early.pb" "$work_pid"
	check_status masked-start 0
	wait_for 60 samples_are_pending || fail "no samples are pending"
	cprof masked-attach attach -cpu -wall -for=1s -o "$work/masked.pb" "$work_pid"
	check_status masked-attach 0
	check_stack "$work/masked.wall.pb" 'work_masked;work_often'
	cprof masked-detach detach "$work_pid"
	check_status masked-detach 0
	wait_for 60 masks_are_back || harm "masks: $before, then $(masks)"
done
ended_well masked
grep -q '^undisturbed' "$work/masked.out" || harm "masked: $(cat "$work/masked.out")"

# A thread that waits for a line has that file's lock, which nobody else takes. pthread_join and sem_wait jump to a function
# without a name, which waits.
for what in stdio getchar join sem large counter namespace; do
	unaware $what $what
	cprof $what-attach attach "$work_pid"
	check_status $what-attach 0
	ended_well $what
done

# The loader was started by hand, as bundles of applications do.
loader=$(ldd "$builddir/tests/e2e/attach-host" | grep -o '/[^ ]*/ld-linux[^ ]*')
unaware_program=$loader unaware loader "$builddir/tests/e2e/attach-host" stdio
cprof loader-attach attach "$work_pid"
check_status loader-attach 0
ended_well loader

# An auditor has a libc of its own.
echo 'unsigned la_version(unsigned v) { return v; }' >"$work/audit.c"
$CC -shared -fPIC -Wl,--no-as-needed -o "$work/audit.so" "$work/audit.c" || fail "audit.c doesn't compile"
unaware_program=env unaware audited LD_AUDIT="$work/audit.so" "$builddir/tests/e2e/attach-host" stdio
[ "$(grep -c 'r-xp.*/libc\.so' "/proc/$pid/maps")" = 2 ] || fail "there is one libc"
cprof audited-attach attach "$work_pid"
check_status audited-attach 0
ended_well audited

# The environment has settings for gperftools, which reads them, too.
unaware_program=env unaware settings CPUPROFILE="$work/settings.pb" HEAPPROFILE="$work/settings.heap" CPROF_CPU=1 "$builddir/tests/e2e/attach-host" stdio
cprof settings-attach attach "$work_pid"
check_status settings-attach 0
lists "$work_pid" - || fail "a mode is on: $("$cprof" ps)"
ended_well settings
[ -z "$(ls "$work" | grep '^settings\.\(pb\|heap\)')" ] || harm "another profiler's file is written"

# The library is at a path that the process doesn't see.
without() { # name directory...
	local name=$1 mounts=
	shift
	for directory; do
		mounts+="mount -t tmpfs none '$directory' && "
	done
	unaware_program=unshare unaware "$name" -rm sh -c "${mounts}exec '$builddir/tests/e2e/attach-host' wait"
	cprof "$name-attach" attach "$pid"
}
if unshare -rm true 2>/dev/null; then
	without hidden "$(dirname "$CP_LIBRARY")"
	check_status hidden-attach 0
	ended_well hidden
	without no-proc "$(dirname "$CP_LIBRARY")" /proc
	refused no-proc-attach 'its loader says: .*; the process sees neither .* nor.* /proc'
	ended_well no-proc
fi

# The library is where the process may not execute, or may open nothing.
libraries=$(dirname "$(realpath "$CP_LIBRARY")")
if unshare -rm sh -c "mount --bind '$libraries' '$libraries' && mount -o remount,bind,noexec '$libraries'" 2>/dev/null; then
	unaware_program=unshare unaware noexec -rm sh -c "mount --bind '$libraries' '$libraries' && mount -o remount,bind,noexec '$libraries' &&
		exec '$builddir/tests/e2e/attach-host' wait"
	cprof noexec-attach attach "$pid"
	check_status noexec-attach 0
	ended_well noexec
fi
if "$builddir/tests/e2e/attach-host" landlock </dev/null >/dev/null; then
	unaware landlock landlock
	cprof landlock-attach attach -heap=1 -wall -for=100ms -o "$work/landlock.pb" "$work_pid"
	check_status landlock-attach 0
	ended_well landlock
fi

# The library is where the process's user may not read.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -p "$work/private/bin" "$work/private/lib"
	chmod 700 "$work"
	cp "$cprof" "$work/private/bin/cprof"
	cp -L "$CP_LIBRARY" "$work/private/lib/libcprof.so"
	unaware_program=setpriv unaware unreadable --reuid 65534 --regid 65534 --clear-groups "$builddir/tests/e2e/attach-host" stdio
	status=0
	"$work/private/bin/cprof" attach "$work_pid" >"$work/unreadable-attach.out" 2>"$work/unreadable-attach.err" || status=$?
	check_status unreadable-attach 0
	ended_well unreadable
fi

# The thread that loads the library, which blocks all signals, is none of the program's threads that a profile tells of. Here it
# takes its time to end.
cat >"$work/lingers.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
void *__libc_calloc(size_t, size_t);
static pthread_key_t key;
static int made;
static void linger(void *value)
{
	nanosleep(value, NULL);
}
__attribute__((constructor)) static void make(void)
{
	made = !pthread_key_create(&key, linger);
}
void *calloc(size_t n, size_t size)
{
	static struct timespec second = { .tv_sec = 1 };
	sigset_t mask;
	if (made && !pthread_sigmask(SIG_SETMASK, NULL, &mask) && sigismember(&mask, SIGPROF))
		pthread_setspecific(key, &second);
	return __libc_calloc(n, size);
}
END
$CC -O1 -shared -fPIC -pthread -o "$work/lingers.so" "$work/lingers.c" || fail "lingers.c doesn't compile"
unaware_program=env unaware lingers LD_PRELOAD="$work/lingers.so" "$builddir/tests/e2e/attach-host" wait
cprof lingers-attach attach -cpu -for=100ms -o "$work/lingers.pb" "$work_pid"
check_status lingers-attach 0
! grep 'block SIGPROF' "$work/lingers-attach.err" || fail "our own thread is told of"
ended_well lingers

# A process that calls exec is attached to, or said to be gone: it goes on in both cases.
unaware exec exec 60
while ! grep -q '^done' "$work/exec.out"; do
	cprof exec-attach attach "$work_pid"
done
ended_well exec
status=0
wait $attaches || status=$?
check_status slow-attach 0
exec {slow_told}>&-
pid=$slow told=
ended_well slow
for what in $never; do
	wait_for 60 test -s "$work/$what-attach.status"
	status=$(cat "$work/$what-attach.status")
	# Between two waits it may be at one.
	[ $what = limited ] || refused $what-attach 'no thread was at a place'
	[ $what != epoll ] || says epoll-attach 'try again while it is at work .*epoll_wait'
done
# Each has the descriptors of those that were started before it.
for what in $never; do
	told=${what}_told
	eval "exec {$told}>&-"
done
for what in $never; do
	pid=${!what} told=
	ended_well $what
done
finish
