# SPDX-License-Identifier: BSD-3-Clause
# The helper that adds lines at exit: the program gets no signal and no child from it, and keeps its exit status and
# output; the helper inherits nothing from the program. The processes of a tree share helpers.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPROF_SYMBOLIZE=full
host=$builddir/tests/traps/helper_at_exit/helper-host
reaper=$builddir/tests/traps/helper_at_exit/reaper

fake() { # name body
	printf '#!/bin/bash\n%s\n' "$2" >"$work/$1"
	chmod +x "$work/$1"
}

# Profile the host: only it, not the reaper that it runs under.
run() { # name arguments...
	name=$1
	shift
	rm -f "$work/$name.pb"* "$work/ran"
	bare "$name" "$reaper" env LD_PRELOAD="$CP_LIBRARY" CPROF_ONLY='*helper-host' CPUPROFILE="$work/$name.pb" "$host" "$@"
}

check_unnoticed() { # name status
	check_status "$1" "$2"
	[ "$(cat "$work/$1.out")" = "the end" ] || fail "$1: $(head -n 3 "$work/$1.out")"
	check_valid "$work/$1.pb"
}

check_alone() { # name
	grep -qx 'left: 0' "$work/$1.err" || fail "$1: processes: $(cat "$work/$1.err")"
}

# The helper's environment and descriptors, for each way out. (In a pipeline ls could see the shell hold the pipe's
# ends.)
fake look "{ tr '\\0' '\\n' <\"/proc/\$\$/environ\"; } >'$work/environ'
ls -l /proc/\$\$/fd >'$work/listed'
readlink /proc/\$\$/cwd >'$work/cwd'
cat /proc/\$\$/oom_score_adj >'$work/oom'
ps -o sid= -p \$\$ >'$work/sid'; echo \$\$ >'$work/pid'
grep -E '^Sig(Blk|Ign)' /proc/\$\$/status >'$work/signals'
echo \"\$@\" >>'$work/ran'
echo noise; echo noise >&2"
export _CPROF_HELPER=$work/look
for way in return exit _exit quick; do
	run "$way" $way 5<"$host"
	check_unnoticed "$way" 7
	check_alone "$way"
	[ "$(cat "$work/ran" 2>/dev/null)" = "symbolize --in-place $work/$way.pb" ] ||
		fail "$way: the helper was run as: $(cat "$work/ran" 2>&1)"
done
grep -qx 'CPROF_CACHE=' "$work/environ" || fail "environment: CPROF_CACHE is missing"
sed -i '/^CPROF_CACHE=/d' "$work/environ"
grep -qE '^(LD_|CPU|CPROF|_CPROF)' "$work/environ" && fail "environment: $(grep -E '^(LD_|CPU|_?CPROF)' "$work/environ")"
sed 's/.* \([0-9]*\) ->/\1 ->/' "$work/listed" >"$work/fds"
grep -q '^[012] -> /dev/null' "$work/fds" || fail "descriptors: $(cat "$work/fds")"
grep -E '^([3-9]|[1-9][0-9]) ->' "$work/fds" | grep -v "$work/look\|/proc/" && fail "descriptors: $(cat "$work/fds")"
# A container may have no devices.
if unshare --user --map-root-user --mount mount -t tmpfs none /dev 2>/dev/null; then
	rm -f "$work/ran" "$work/bare.pb"
	status=0
	$limit unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /dev && exec "$@"' - \
		env LD_PRELOAD="$CP_LIBRARY" CPROF_ONLY='*helper-host' CPUPROFILE="$work/bare.pb" "$host" return \
		>"$work/bare.out" 2>"$work/bare.err" || status=$?
	check_unnoticed bare 7
	[ -s "$work/ran" ] || fail "without /dev/null the helper was not started"
	grep -q '^l.* [012] -> .*/dev/null' "$work/listed" && fail "there is a /dev/null: $(cat "$work/listed")"
	[ "$(grep -c '[012] -> /memfd:null' "$work/listed")" = 3 ] || fail "without /dev/null: descriptors: $(cat "$work/listed")"
else
	echo "not tried without /dev/null: no user namespaces here"
fi
[ "$(cat "$work/oom")" = 1000 ] || fail "where memory is short the program would go before the helper"
[ "$(cat "$work/cwd")" = / ] || fail "it runs in $(cat "$work/cwd")"
[ "$(($(cat "$work/sid")))" = "$(cat "$work/pid")" ] || fail "it has no session of its own"
# (bash itself blocks SIGCHLD and ignores SIGQUIT.)
grep -vE '(00000|10000|00004)$' "$work/signals" && fail "it has signals blocked or ignored"

# A program that adopts orphans, and one that waits for whatever is below it.
run adopts return subreaper
check_unnoticed adopts 7
check_alone adopts

# What a forked child leaves: no process in its group, none of its user.
mkdir "$work/open"
chmod 755 "$work"
chmod 777 "$work/open"
fake slow "sleep 3"
bare group env CPROF_ONLY='*helper-host' CPUPROFILE="$work/open/group.pb" _CPROF_HELPER=$work/slow _CPROF_HELPER_SECONDS=0,9 \
	LD_PRELOAD="$CP_LIBRARY" "$host" group
mv "$work/open/group.pb" "$work"
check_unnoticed group 7

# A helper that a descendant leaves behind would become the child of such a program, or of a container's first
# process.
run below family subreaper
check_unnoticed below 7
check_valid "$work/below.pb".*
[ "$(wc -l <"$work/ran")" = 1 ] || fail "below one that adopts, helpers were started: $(cat "$work/ran")"
if unshare -pf true 2>/dev/null; then
	rm -f "$work/ran"
	bare first unshare -pf env LD_PRELOAD="$CP_LIBRARY" CPROF_ONLY='*helper-host' CPUPROFILE="$work/first.pb" "$host" family
	check_unnoticed first 7
fi

# The helper's memory and time are not counted as the program's for the process that waits for the program.
fake heavy "x=\$(printf '%50000000s'); for ((i = 0; i < 100000; i++)); do :; done; echo \${#x} >'$work/ran'"
export _CPROF_HELPER=$work/heavy
run resources return
check_unnoticed resources 7
[ -s "$work/ran" ] || fail "the heavy helper did not run"
used=$(sed -n 's/^memory: //p' "$work/resources.err")
[ "${used:-99999}" -lt 45000 ] || fail "the program and its helper took $used KiB"
export _CPROF_HELPER=$work/look

# A debugger that follows what the program makes isn't shown it, either: it would have to let it run.
bare traced "$builddir/tests/traps/helper_at_exit/tracer" env LD_PRELOAD="$CP_LIBRARY" CPROF_ONLY='*helper-host' CPUPROFILE="$work/traced.pb" \
	"$host" return
check_unnoticed traced 7
grep -qx 'processes: 0' "$work/traced.err" || fail "a debugger sees: $(cat "$work/traced.err")"

# Asked to end: with lines. A crash, and the child of a vfork: without.
run term term
check_unnoticed term 143
[ -s "$work/ran" ] || fail "after SIGTERM the helper was not started"
run segv segv
check_unnoticed segv 139
[ -e "$work/ran" ] && fail "in a crash the helper was started"
run vforks vfork
check_status vforks 7
[ "$(wc -l <"$work/ran")" = 1 ] || fail "vfork: $(wc -l <"$work/ran") helpers"

# One that hangs: the program goes after its time, the helper after its own. SIGALRM is what ends it,
# although the program ignores that.
fake hang "exec sleep 100"
export _CPROF_HELPER=$work/hang _CPROF_HELPER_SECONDS=1,3
before=$(date +%s%N)
run hangs return
took=$((($(date +%s%N) - before) / 1000000))
check_unnoticed hangs 7
[ "$took" -lt 30000 ] || fail "a helper that hangs was waited for $took ms"
unset _CPROF_HELPER_SECONDS

# One that fails, one that isn't there: the names stay; a line on request only.
fake fails "exit 3"
export _CPROF_HELPER=$work/fails
run fails return
check_unnoticed fails 7
export _CPROF_HELPER=$work/none
run missing return
check_unnoticed missing 7
check_quiet missing
check_comment "$work/missing.pb" 'lines and inlined calls: none, because cprof is not beside'
"$pprof_check" --comments "$work/fails.pb" | grep -q 'is not beside' && fail "a helper that is there isn't seen"
CPROF_VERBOSE=1 run missing return
[ "$(grep -c 'lines and inlined calls are left out' "$work/missing.err")" = 1 ] || fail "a missing helper: $(cat "$work/missing.err")"

# A tree of short processes: nearly all give their files to a helper that works already.
fake starts "echo \$* >>'$work/ran'; exec '$builddir/cprof' \"\$@\""
export _CPROF_HELPER=$work/starts
tree='for ((i = 0; i < 20; i++)); do (echo $i >/dev/null); done; echo the end; exit 7'
run_tree() { # name
	rm -f "$work/ran"
	bare "$1" env IOPROFILE="$work/$1.pb" LD_PRELOAD="$CP_LIBRARY" bash -c "$tree"
	check_status "$1" 7
	[ "$(cat "$work/$1.out")" = "the end" ] || fail "$1: $(cat "$work/$1.out" "$work/$1.err")"
	for ((left = 300; left > 0; left--)); do
		ready=0
		for file in "$work/$1.pb"*; do
			check_has_lines "$file" && ready=$((ready + 1))
		done
		[ "$ready" -lt 21 ] || break
		sleep 0.1
	done
	[ "$ready" = 21 ] || fail "$1: $ready of 21 files have lines: $(ls "$work")"
}
check_has_lines() { "$pprof_check" --comments "$1" | grep -q '^symbolized: '; } # file
run_tree tree
[ "$(grep -c . "$work/ran")" -lt 10 ] || fail "tree: helpers were started: $(cat "$work/ran")"
# Another user who has taken the name gets nothing, and is not relied on.
name=$(sed -n 's/.* @\(libcprof-lines.*\)/\1/p' /proc/net/unix | head -n 1)
if [ "$(id -u)" = 0 ] && [ "$name" ]; then
	python3 - "$name" >"$work/taken" 2>&1 <<'END' &
import os, socket, sys, time
os.setuid(54321)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
for _ in range(600):
    try:
        s.bind("\0" + sys.argv[1])
        break
    except OSError:
        time.sleep(0.1)
s.listen(100)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    print("got", c.recv(4096), flush=True)
END
	owns $!
	for ((left = 300; left > 0; left--)); do
		grep -q ready "$work/taken" && break
		sleep 0.1
	done
	run_tree taken
	[ "$(grep -c . "$work/ran")" = 21 ] || fail "where another user has the name: $(cat "$work/ran")"
	grep "got b'[^']" "$work/taken" && fail "another user was told the names of files"
fi

# Names are what was asked for; or there is nothing to look up.
export _CPROF_HELPER=$work/look
CPROF_SYMBOLIZE=names run names return
check_unnoticed names 7
[ -e "$work/ran" ] && fail "the helper was started for names"

# Another root: a file with the helper's name there must not be run. (A static program, which could be run there.)
if [ "$(id -u)" = 0 ]; then
	mkdir -p "$work/root$work" "$work/root/dev"
	: >"$work/root/dev/null"
	cat >"$work/ran.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	return close(creat(RAN, 0600));
}
END
	# shellcheck disable=SC2086  # CC may hold flags
	$CC -static -DRAN="\"$work/ran\"" -o "$work/root$work/look" "$work/ran.c" 2>/dev/null ||
		cp "$work/look" "$work/root$work/look"
	run chroots chroot "$work/root"
	[ -e "$work/ran" ] || [ -e "$work/root$work/ran" ] && fail "a helper was run in another root directory"
	[ "$status" = 7 ] || fail "chroot: status $status"
fi
finish
