# SPDX-License-Identifier: BSD-3-Clause
# cprof run: the command keeps its input, output, exit status and signals; its profiles have lines, and
# where there can't be any the reason is said.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof"
host=$work/burner
$CC -O2 -g -o "$host" "$srcdir/tests/e2e/symbolize-host.c" || fail "the host doesn't compile"
cd "$work"
unset CPROF_SYMBOLIZE

run() { # name options and command...
	name=$1
	shift
	bare "$name" timeout -s KILL 60 "$cprof" run "$@"
}

said() { # name regex
	grep -qE -- "$2" "$work/$1.err" || fail "$1 doesn't say $2: $(head -n 5 "$work/$1.err")"
}

"$host" >bare.out
run plain -- "$host"
check_status plain 0
cmp -s plain.out bare.out || fail "the command's output changed: $(cat plain.out)"
check_valid burner.cpu.pb
said plain '^cprof: cpu profile: .*/burner\.cpu\.pb$'
said plain ' mix$'
"$pprof_check" --raw burner.cpu.pb | grep -q 'mix;twice;burn;main' || fail "no inlined calls in the file"

# What the command leaves behind has no file yet. It is a fork that never calls exec: a program that still
# loads its libraries isn't known as profiled.
mkfifo held
run behind -- sh -c 'read -r line <held >/dev/null 2>&1 & echo $!'
left=$(cat behind.out)
said behind "^cprof: process $left, which the command started, still runs: its files come at its end\$"
echo >held
grep -q 'still run' plain.err && fail "plain: something still runs: $(cat plain.err)"

# A program that is a link has the name by which it was started.
ln -s "$host" linked
run linked -o linked.pb -- ./linked 40
said linked '^Your code \(linked\): '

# Arguments go to the command, even if they look like options of cprof.
run input --top=3 -o in.pb cat - --top <<<data
[ "$status" = 1 ] || fail "cat --top: status $status"
run input -o in.pb cat <<<data
[ "$(cat input.out)" = data ] || fail "stdin does not reach the command"
run arguments -o a.pb -- sh -c 'echo "$0 $1"; exit 42' 'one two' -o
check_status arguments 42
[ "$(cat arguments.out)" = "one two -o" ] || fail "arguments: $(cat arguments.out)"

# Several modes, each in its own file; libraries that are already preloaded stay.
run modes --cpu=250 --wall=20 --heap=1 --lock -o out.pb --top=2 -- "$host" 10
for mode in cpu wall heap lock; do
	[ -s out.$mode.pb ] || fail "no $mode profile: $(cat modes.err)"
	said modes "^cprof: $mode profile: "
done
said modes '^cprof:   and .*/out\.heap\.peak\.pb$'
# A program that waits for no lock isn't sent to look for it.
grep -q 'cprof locks' modes.err && fail "locks of no waits: $(cat modes.err)"
said modes '^cprof:   what the threads wait for: cprof waits .*/out\.wall\.pb$'
check_valid out.cpu.pb
check_comment out.cpu.pb 'frequency 250 Hz'
LD_PRELOAD=libm.so.6 run preloaded -o p.pb --top=0 -- sh -c 'echo "$LD_PRELOAD"'
grep -q 'libcprof.so.*:libm.so.6$' preloaded.out || fail "LD_PRELOAD: $(cat preloaded.out)"
grep -q flat preloaded.err && fail "--top=0 shows rows"

run tree -o tree.pb -- sh -c "$host; $host; :"
said tree "^cprof:   and 2 of its children, $work/tree.pb.PID; one file of all: cprof merge -children -o ALL.pb $work/tree.pb\$"
# A file of an earlier run has such a name, too.
"$cprof" merge -o three.pb tree.pb tree.pb.[0-9]* || fail "merge: status $?"
cp burner.cpu.pb tree.pb.1
"$cprof" merge -children -o all.pb tree.pb || fail "merge -children: status $?"
cmp -s three.pb all.pb || fail "merge -children: $("$cprof" info all.pb), not $("$cprof" info three.pb)"
rm tree.pb.1
# Files that are named besides are not added again, and only files have children.
"$cprof" merge -children -o all.pb tree.pb ./tree.pb.[0-9]* || fail "merge -children: status $?"
cmp -s three.pb all.pb || fail "files named twice: $("$cprof" info all.pb)"
"$cprof" merge -children -o all.pb - <burner.cpu.pb 2>merge.err || fail "merge -children of stdin: $(cat merge.err)"
"$cprof" merge -children -o all.pb <(cat burner.cpu.pb) 2>merge.err || fail "merge -children of a pipe: $(cat merge.err)"
# A child's file that can't be read is left out, but not silently; the others are merged.
head -c 100 burner.cpu.pb >tree.pb.2
: >tree.pb.3
rm all.pb
status=0
"$cprof" merge -children -o all.pb tree.pb tree.pb 2>merge.err || status=$?
check_status merge 2
cmp -s three.pb all.pb || fail "merge -children of damaged files: $("$cprof" info all.pb)"
for file in tree.pb.2 tree.pb.3; do
	[ "$(grep -cF "$file: " merge.err)" = 1 ] || fail "merge -children of damaged files says: $(cat merge.err)"
done
grep -qx 'cprof merge: left out: 2 files of children' merge.err || fail "merge -children of damaged files says: $(cat merge.err)"
rm tree.pb.2 tree.pb.3
# A heap file's time is that of its dump, and children's dumps are before their parent's.
cat >keeps.c <<'END'
#include <stdlib.h>
int main(void) { return !malloc(50000000); }
END
$CC -O0 -o keeps keeps.c || fail "the host doesn't compile"
run earlier --heap -o earlier.pb -- ./keeps
run spaced --heap -o 'a heap.pb' -- sh -c "./keeps; ./keeps; :"
said spaced "merge -children -o ALL\.pb '$work/a heap\.pb'\$"
run spaced-one --heap -o 'one heap.pb' -- ./keeps
said spaced-one "cprof leaks '$work/one heap\.pb'\$"
run heaps --heap -o heaps.pb -- sh -c "./keeps; ./keeps; :"
"$cprof" merge -o three.pb heaps.pb heaps.pb.[0-9]* || fail "merge: status $?"
cp earlier.pb heaps.pb.1
"$cprof" merge -children -o all.pb heaps.pb || fail "merge -children: status $?"
cmp -s three.pb all.pb || fail "merge -children of heaps: $("$cprof" info all.pb), not $("$cprof" info three.pb)"
# The shell, and its forks before they exec, may have samples of their own.
"$pprof_check" --raw all.pb | awk -F, '/bytes=50000000\[/ { kept += $3 } END { exit kept != 2 }' ||
	fail "heaps: $("$pprof_check" --raw all.pb)"
"$cprof" top heaps.pb 2>heaps.err >heaps.out
grep -q 'processes that the profiled one started wrote .* and [1-9][0-9]* more' heaps.err || fail "top of a heap says: $(cat heaps.err)"
# A process that had samples before it called exec has two files, and is one child.
cat >becomes.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc < 3 || !fork())
		return !malloc(50000000) || execl(argv[1], argv[1], NULL);
	wait(NULL);
	return 0;
}
END
$CC -O0 -o becomes becomes.c || fail "the host doesn't compile"
run twofold --heap -o twofold.pb -- ./becomes ./keeps fork
said twofold "^cprof:   and of its child, $work/twofold\.pb\.PID; one file of all: cprof merge -children -o ALL\.pb $work/twofold\.pb\$"
said twofold '^cprof: heap of the command and 1 child together, by program:$'
"$cprof" top twofold.pb 2>twofold.err >twofold.out
grep -q ' a process that the profiled one started wrote .* and 1 more' twofold.err || fail "top of a heap says: $(cat twofold.err)"
run becomes --heap -o becomes.pb -- ./becomes ./keeps
said becomes "^cprof:   and of the program before its exec $work/becomes\.pb\.[0-9]+\$"
# A process that execs, as bash does for the last command, has started the children before.
run execs -cpu -heap -o execs.pb -- sh -c "$host 20; ./keeps; exec $host 20"
for mode in cpu heap; do
	set -- execs.$mode.pb.[0-9]*
	[ -s "$1" ] || fail "execs.$mode.pb: no file of a child"
	"$cprof" merge -o three.pb execs.$mode.pb "$@" || fail "merge: status $?"
	cp earlier.pb execs.heap.pb.1
	"$cprof" merge -children -o all.pb execs.$mode.pb || fail "merge -children: status $?"
	rm execs.heap.pb.1
	cmp -s three.pb all.pb || fail "children before an exec, $mode: $("$cprof" info all.pb), not $("$cprof" info three.pb)"
done
# The children's work is shown if the command itself did less than they did.
said tree '^cprof: cpu of the command and 2 children together, by program:$'
# The shell may have a sample of its own.
used() { for file; do "$cprof" info "$file"; done | awk '$1 == "cpu/nanoseconds" { sum += $3 } END { printf "%.0f", sum }'; }
children=$(used tree.pb.[0-9]*)
share=$(awk -v all="$(used tree.pb tree.pb.[0-9]*)" -v children="$children" 'BEGIN { printf "%.4g", 100 * children / all }')
said tree "^ .* m?s +$share%  burner, 2 processes, the largest [0-9.]* m?s: tree\.pb\.[0-9]+(\.2)?\$"
said tree ' mix$'
run child --top=1 --flame=child.html -o child.pb -- sh -c "$host; :"
said child '^cprof: cpu of the command and 1 child together, by program:$'
said child '^ .*%  burner: child\.pb\.[0-9]+(\.2)?$'
said child "^cprof:   and of its child(, $work/child\.pb\.PID; .*| $work/child\.pb\.[0-9]+)\$"
grep -q twice child.html || fail "the flame graph has not what the child did"

# Companions of children are no more children; an empty table says nothing, so it is said why.
cat >freed.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void use(void)
{
	char *p = malloc(50000000);
	memset(p, 1, 50000000);
	free(p);
}
int main(int argc, char **argv)
{
	if (argc > 1 && !fork()) {
		use();
		return *argv[1] == 'x' && !malloc(50000000);
	}
	use();
	wait(0);
}
END
$CC -O0 -o freed freed.c || fail "the host doesn't compile"
run freed --heap --lock -o freed.pb -- ./freed
said freed '^cprof: nothing sampled was in use at the end; at the high water:$'
said freed '% +use$'
said freed '^cprof: lock: nothing waited for a lock$'
grep -q 'accounting for 0,' freed.err && fail "an empty table is shown"
cat >shrinks.c <<'END'
#include <stdlib.h>
int main(void)
{
	void *volatile kept = malloc(10000), *volatile freed = malloc(90000);

	free(freed);
	return !kept;
}
END
$CC -O0 -o shrinks shrinks.c || fail "the host doesn't compile"
run shrinks --heap=1 -o shrinks.pb -- ./shrinks
said shrinks "^cprof:   9[0-9.]* kB at the high water: cprof leaks $work/shrinks\\.peak\\.pb\$"
run leaving --heap -o leaving.pb -- ./freed x
said leaving "^cprof:   and of its child $work/leaving\.pb\.[0-9]+\$"
# An empty profile, and what the program does that bears upon it.
cat >maps.c <<'END'
#include <signal.h>
#include <sys/mman.h>
int main(void)
{
	signal(SIGUSR2, SIG_IGN);
	return mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
END
$CC -O0 -o maps maps.c || fail "the host doesn't compile"
run maps --heap -o maps.pb -- ./maps
said maps '^cprof: heap: no allocation was sampled$'
said maps '^cprof: note: no allocation was sampled; CPROF_HEAP_INTERVAL=1 .*CPROF_HEAP_VIEWS=mmap$'
said maps '^cprof: note: the program uses signal 12 \(SIGUSR2\) itself'
grep -q '^libcprof:' maps.err && fail "maps: $(grep '^libcprof:' maps.err)"
"$cprof" top maps.pb >top.out 2>top.err || fail "top: $(cat top.err)"
grep -q '^cprof: note: no allocation was sampled' top.err || fail "top says: $(cat top.err)"
run seen --heap --heap-views=mmap -o seen.pb -- ./maps
said seen '^cprof: note: no allocation was sampled; CPROF_HEAP_INTERVAL=1 samples every one$'
said seen '^cprof:   and .*/seen\.mmap\.pb$'
run nowhere -o "$work/no/such.pb" -- true
check_status nowhere 0
said nowhere "^cprof: no cpu profile was written: $work/no/: No such file or directory; -o PATH"
cat >past.c <<'END'
int main(void) { __asm__ volatile("syscall" : : "a"(231), "D"(0)); }
END
if $CC -o past past.c 2>/dev/null; then
	run past -o past.pb -- ./past
	check_status past 0
	said past 'no cpu profile was written: .*CPROF_CHECKPOINT=1s'
fi
# What Go links ends that way: it gets checkpoints by itself.
cat >go.c <<'END'
#include <time.h>
__attribute__((section(".go.buildinfo"), used)) static const char build[16] = "\377 Go buildinf:";
int main(void)
{
	struct timespec t = { 0 };
	while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), t.tv_sec < 3)
		;
	__asm__ volatile("syscall" : : "a"(231), "D"(0));
}
END
if $CC -O1 -o go-like go.c 2>/dev/null; then
	run go -o go.pb -- ./go-like
	[ -s go.pb ] || fail "no checkpoint of a Go program: $(cat go.err)"
	check_comment go.pb 'checkpoint|libcprof'
fi
run idle --cpu=1 -o idle.pb -- true
said idle '^cprof: cpu: no samples'
check_status idle 0

# A place written for want of a symbol is no name. A stub that happens to be hit has one (clock_gettime@plt).
strip -o nameless "$host"
run nameless -o nameless.pb -- ./nameless 15
"$cprof" info nameless.pb >nameless.info
stubs=$(go tool pprof -symbolize=none -raw nameless.pb 2>/dev/null | sed -n '/^Locations/,/^Mappings/p' |
	grep ' M=1 ' | grep -vc 'nameless+0x')
grep -qE "/nameless .* [1-9][0-9]* locations, $stubs named" nameless.info || fail "$stubs stubs, names: $(grep named nameless.info)"
[ "$stubs" -lt 3 ] || fail "$stubs places of a program without symbols have names"

# The run before is kept, and what changed against it is said.
run first -o kept.pb -- "$host" 10
ls kept.before* 2>/dev/null && fail "a run before the first"
cp kept.pb first.copy
run second -o kept.pb -- "$host" 40
said second "^cprof: against the run before, $work/kept\.before\.pb: cpu [0-9.]+ m?s, then [0-9.]+ m?s, "
said second '^ *[0-9.]+ m?s +[0-9.]+ m?s +\+.*  mix$'
cp kept.pb second.copy
run third --keep 3 -o kept.pb -- "$host" 3
cmp -s kept.before.pb second.copy && cmp -s kept.before2.pb first.copy || fail "runs before: $(ls kept*)"
run fourth --keep=0 -o kept.pb -- "$host" 3
cmp -s kept.before.pb second.copy || fail "-keep=0 kept one"
grep -q 'run before' fourth.err && fail "-keep=0 says: $(grep 'run before' fourth.err)"
run other -o kept.pb -- sh -c ':'
grep -q 'against the run before' other.err && fail "compared with another program"
check_valid kept.before.pb

# A mistaken setting is refused before the command runs for nothing.
for wrong in --cpu=abc --cpu=0 --wall=2000 --heap=much --lock=long; do
	run wrong "$wrong" -- echo ran
	check_status wrong 2
	said wrong "cprof run: $wrong is no|cprof run: ${wrong#-} is no"
	[ -s wrong.out ] && fail "$wrong: it ran"
done
for wrong in '--flame=a.pdf' '--own=('; do
	run wrong "$wrong" -- echo ran
	check_status wrong 2
	[ -s wrong.out ] && fail "$wrong: it ran"
done
said wrong 'own=\(: '

# Ends as the command does.
for signal in TERM INT KILL; do
	run "by-$signal" -o s.pb sh -c "kill -$signal \$\$"
	[ "$status" = $((128 + $(kill -l $signal))) ] || fail "by SIG$signal: status $status"
done
said by-KILL 'no cpu profile was written: the command was killed'
# Also where another run wrote that file a moment before.
for ((i = 0; i < 10; i++)); do
	run before -o s.pb sh -c 'kill -INT $$'
	[ -s s.pb ] || fail "a command that is interrupted leaves no profile"
	run at-once -o s.pb sh -c 'kill -KILL $$'
	said at-once 'no cpu profile was written: the command was killed'
done
"$cprof" run -o forwarded.pb -- sh -c 'trap "echo got; exit 9" USR1; echo $$; while :; do sleep 0.05; done' \
	>forward.out 2>forward.err &
pid=$!
owns $pid
wait_for 20 grep -q . forward.out || fail "nothing runs"
kill -USR1 $pid
reap $pid
[ "$status" = 9 ] || fail "forwarded SIGUSR1: status $status"
grep -q got forward.out || fail "the command did not get SIGUSR1"
check_valid forwarded.pb

run limited --for 300ms -o limited.pb -- sleep 100
check_status limited 0
check_valid limited.pb
run wrong-time --for soon -- true
check_status wrong-time 2

# No profile, and why.
echo 'int main(void) { return 3; }' >three.c
if $CC -static -o static three.c 2>/dev/null; then
	run static ./static
	check_status static 3
	said static 'static is statically linked'
	run modeless --heap --lock ./static
	[ "$(wc -l <modeless.err)" = 2 ] || fail "it is said too often: $(cat modeless.err)"
	printf '#!%s\n' "$work/static" >script
	chmod +x script
	run script ./script
	said script 'static is statically linked'
fi
# A program of musl's would not start with glibc's library; musl.sh has the one for musl. The first program names a
# loader with musl's name, which is glibc's.
mkdir -p alone/.libs
cp "$cprof" alone/
cp "$CP_LIBRARY" alone/.libs/libcprof.so
cat >settings.c <<'END'
#include <stdlib.h>
int main(void) { return getenv("LD_PRELOAD") || getenv("CPUPROFILE") ? 1 : 3; }
END
$CC -o settings settings.c || fail "the host doesn't compile"
loader=$(${READELF:-readelf} -lW settings | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
ln -s "$loader" ld-musl-test.so.1
$CC -o musl settings.c -Wl,--dynamic-linker="$work/ld-musl-test.so.1" || fail "the host doesn't compile"
with_musl() { # name program
	name=$1
	bare "$name" timeout -s KILL 60 alone/cprof run "$2"
	check_status "$name" 3
	said "$name" 'is built for musl, and there is no libcprof.so for musl beside this cprof: it runs without libcprof$'
}
with_musl musl ./musl
if command -v musl-gcc >/dev/null; then
	musl-gcc -o real-musl settings.c || fail "the host doesn't compile"
	with_musl real-musl ./real-musl
fi
$CC -o foreign three.c
printf '\xf3\x00' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
run foreign ./foreign
check_status foreign 126
said foreign 'another architecture'
said foreign "can't be run"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	$CC -o suid three.c
	chown 1 suid && chmod 4755 suid && chmod 755 . && chmod 777 "$work"
	run suid ./suid
	said suid 'raised privileges'
fi
run absent ./absent
check_status absent 127
said absent "can't be run"
run setting --cpu 99 -- "$host" 3
check_status setting 127
said setting '99 can.t be run'
said setting '-cpu=99$'
run directory "$work"
check_status directory 126
run empty
check_status empty 2
run flame --flame=flame.html -o f.pb -- "$host" 3
grep -q '</html>' flame.html || fail "no flame graph: $(cat flame.err)"
# A tab for each mode; -open hands the page to the desktop.
mkdir bin
mkfifo opened
printf '#!/bin/sh\necho "$1" >%s\n' "$work/opened" >bin/xdg-open
chmod +x bin/xdg-open
PATH=$work/bin:$PATH run open --open --cpu --heap --lock -o open.pb -- "$host" 3
page=$work/$(basename "$host").html
[ "$(timeout 20 head -n 1 opened)" = "$page" ] || fail "$page was not opened: $(cat open.err)"
grep -q '{"name":"CPU"' "$page" && grep -q '{"name":"Heap"' "$page" ||
	fail "no tabs in the flame graph"
[ "$(wc -l <flame.out)" = 1 ] || fail "something of ours is on stdout: $(cat flame.out)"
finish
