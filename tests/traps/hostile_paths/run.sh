# SPDX-License-Identifier: BSD-3-Clause
# Other users put things in the place of a profile: links, pipes, files of theirs, another directory. Nothing is
# written through them, nobody else can read the written file, and the program goes on.
. "$srcdir/tests/lib/loader.sh"
need perl
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
program="./tests/traps/hosts/moves"
bare bare $program

start_with() { # name shell-commands-before-the-exec; PID is $$ there, the profile $p
	p=$work/d/$1.pb
	status=0
	p=$p timeout -s KILL 60 sh -c "cd '$work/d' && $2
cd '$builddir' && exec env LD_PRELOAD='$CP_LIBRARY' CPUPROFILE='$p' ${3:-$program}" >"$work/$1.out" 2>"$work/$1.err" || status=$?
	check_status "$1" 0
	check_same_output "$1" bare
}

untouched() { # name
	[ "$(cat "$work/victim")" = precious ] || fail "$1: the victim was written to"
	[ "$(stat -c %a:%h "$work/victim")" = "${2:-644:1}" ] || fail "$1: the victim is $(stat -c %a:%h "$work/victim") now"
}

nothing_left() { # name
	find "$work/d" -name '.*.tmp' ! -name '*kept*' | grep -q . && fail "$1: left $(ls -A "$work/d")"
	return 0
}

private() { # name
	find "$work/d" -name "$1.*" -type f ! -perm 600 | grep -q . && fail "$1: $(ls -l "$work/d" | grep "$1")"
	return 0
}

mkdir "$work/d"
echo precious >"$work/victim"
chmod 644 "$work/victim"

# Links at the final name and at the name that the temporary file would have.
start_with link "ln -s '$work/victim' link.pb"
untouched link
check_valid "$work/d/link.pb"
[ -L "$work/d/link.pb" ] && fail "link: still one"
start_with dangling "ln -s '$work/made' dangling.pb"
[ -e "$work/made" ] && fail "dangling: written through"
start_with guessed "ln -s '$work/victim' .guessed.pb.\$\$.tmp"
untouched guessed
check_valid "$work/d/guessed.pb"
rm -f "$work/d"/.guessed*
start_with hard "ln '$work/victim' hard.pb"
untouched hard
check_valid "$work/d/hard.pb"
start_with hardguess "ln '$work/victim' .hardguess.pb.\$\$.tmp; exec 9<.hardguess.pb.\$\$.tmp; flock -n 9"
untouched hardguess "644:$(stat -c %h "$work/victim")"
check_valid "$work/d/hardguess.pb"
rm -f "$work/d"/.hardguess*
# A pipe that nobody reads: said, not waited for.
start_with pipe "mkfifo pipe.pb"
grep -q '^libcprof: .*pipe.pb' "$work/pipe.err" || fail "pipe: $(cat "$work/pipe.err")"
start_with pipeguess "mkfifo .pipeguess.pb.\$\$.tmp"
check_valid "$work/d/pipeguess.pb"
rm -f "$work/d"/.pipeguess*
nothing_left links

# Modes, whatever the umask says: the profile, dumps, checkpoints, children's, what the helper swaps in.
export CPROF_SYMBOLIZE=full CPROF_CHECKPOINT=50ms
start_with modes "umask 0" "perl -e 'kill USR2, \$\$; for (1..2) { my \$n = 0; \$n++ while \$n < 2e6; fork or (sleep 0, exit) if \$_ == 1 } wait; exec \"./tests/traps/hosts/moves\"'"
export CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=60s
private modes
[ "$(ls "$work/d"/modes.*pb* | wc -l)" -ge 3 ] || fail "modes: too few files: $(ls "$work/d")"

# The directory is exchanged for another while the program runs.
mkdir "$work/d/in" "$work/else"
status=0
timeout -s KILL 60 env LD_PRELOAD="$CP_LIBRARY" CPROF_CHECKPOINT=20ms CPUPROFILE="$work/d/in/x.pb" \
	perl -e 'for (1..40) { my $n = 0; $n++ while $n < 1e5; rename "'"$work/d/in"'", "'"$work/d/out"'"; symlink "'"$work/else"'", "'"$work/d/in"'"; $n = 0; $n++ while $n < 1e5; unlink "'"$work/d/in"'"; rename "'"$work/d/out"'", "'"$work/d/in"'" } print "ok\n"' \
	>"$work/swap.out" 2>"$work/swap.err" || status=$?
check_status swap 0
[ "$(cat "$work/swap.out")" = ok ] || fail "swap: $(cat "$work/swap.out")"
find "$work/d/in" "$work/else" -name 'x.pb' >"$work/found"
while read -r f; do check_valid "$f"; done <"$work/found"
[ -s "$work/found" ] || fail "swap: no profile at all: $(cat "$work/swap.err")"

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	finish
fi

# Other users: of nobody's program, in a directory like /tmp.
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
chmod 755 "$work"
$as_nobody test -r "$CP_LIBRARY" || { echo "# nobody can't read this build directory"; finish; }
mkdir -m 1777 "$work/sticky"
echo precious >"$work/sticky/x.pb"
status=0
timeout -s KILL 60 $as_nobody env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/sticky/x.pb" perl -e 'my $n = 0; $n++ while $n < 3e6; print "ok\n"' \
	>"$work/sticky.out" 2>"$work/sticky.err" || status=$?
check_status sticky 0
[ "$(cat "$work/sticky/x.pb")" = precious ] || fail "sticky: another user's file was replaced"
[ "$(grep -c '^libcprof: .*EPERM' "$work/sticky.err")" = 1 ] || fail "sticky: $(cat "$work/sticky.err")"
[ "$(ls -A "$work/sticky")" = x.pb ] || fail "sticky: left $(ls -A "$work/sticky")"

# A map of JIT code in /tmp that somebody else wrote names nothing; one's own does.
mapped() { # name owner
	start=$(sh -c 'printf "0 ffffffffffffff planted_name\n" >"/tmp/perf-$$.map"; chown '"$2"' "/tmp/perf-$$.map"; echo $$ >"'"$work/$1.pid"'"
		exec env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="'"$work/$1.pb"'" ./tests/traps/hosts/jit-host anon "'"$work/code.bin"'"' 2>&1)
	rm -f "/tmp/perf-$(cat "$work/$1.pid").map"
	check_valid "$work/$1.pb"
}
mapped own 0
check_stack "$work/own.pb" planted_name
mapped others 65534
check_no_stack "$work/others.pb" planted_name

[ -x "$cprof" ] || finish

# Results of the tool are as private, and a file of somebody else's is not written through.
umask 022
(
	cd "$work/d" || exit 1
	"$cprof" flame -o f.html link.pb && "$cprof" folded -o f.txt link.pb && "$cprof" convert -to=speedscope -o f.json link.pb
) >"$work/tool.out" 2>&1 || fail "tool: $(cat "$work/tool.out")"
for f in f.html f.txt f.json; do
	[ "$(stat -c %a "$work/d/$f")" = 600 ] || fail "tool: $f has mode $(stat -c %a "$work/d/$f")"
done
before=$(readlink /dev/stdout)
"$cprof" folded -o /dev/stdout "$work/d/link.pb" >"$work/folded" || fail "folded to /dev/stdout: status $?"
cmp -s "$work/folded" "$work/d/f.txt" || fail "folded to /dev/stdout is something else"
if [ "$(readlink /dev/stdout)" != "$before" ]; then
	fail "/dev/stdout was replaced"
	[ -z "$before" ] || ln -sf "$before" /dev/stdout
fi
mkfifo "$work/sticky/pipe"
ln -s "$work/victim" "$work/sticky/link"
chown -h 65534 "$work/sticky/pipe" "$work/sticky/link"
for f in pipe link; do
	timeout -s KILL 20 "$cprof" folded -o "$work/sticky/$f" "$work/d/link.pb" 2>"$work/tool.err" && fail "tool: wrote through another user's $f"
	grep -q 'not permitted' "$work/tool.err" || fail "tool, $f: $(cat "$work/tool.err")"
done
[ "$(cat "$work/victim")" = precious ] || fail "tool: the victim was written to"

# Root dumps another user's process: the file is root's and here, whatever is in the process's directory.
mkdir -m 777 "$work/honest"
mkdir "$work/roots"
$as_nobody env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/honest/x.pb" CPROF_CONTROL=on perl -e 'my $n = 0; $n++ while 1' &
dumped=$!
owns $dumped
answers() {
	"$cprof" ps $dumped >/dev/null 2>&1
}
wait_for 20 answers || fail "honest: no control socket"
ln -s "$work/victim" "$work/honest/x.0001.pb"
(cd "$work/roots" && "$cprof" dump $dumped) >"$work/honest.out" 2>&1 || fail "honest: $(cat "$work/honest.out")"
# In a directory like /tmp, where another user has taken the next names by a link to nowhere, a pipe and a folder.
(
	cd "$work/sticky" || exit 1
	$as_nobody sh -c "ln -s '$work/sticky/made' $dumped.cpu.0001.pb && mkfifo $dumped.cpu.0002.pb && mkdir $dumped.cpu.0003.pb"
	timeout -s KILL 20 "$cprof" dump $dumped
) >"$work/shared.out" 2>&1 || fail "shared: $(cat "$work/shared.out")"
[ "$(stat -c %a:%u "$work/sticky/$dumped.cpu.0004.pb")" = 600:0 ] || fail "shared: $(ls -l "$work/sticky")"
[ ! -e "$work/sticky/made" ] || fail "shared: written through another user's link"
kill -KILL $dumped
wait $dumped 2>/dev/null
[ "$(stat -c %a:%u "$work/roots/$dumped.cpu.0001.pb")" = 600:0 ] || fail "honest: $(ls -l "$work/roots")"
check_valid "$work/roots/$dumped.cpu.0001.pb"
[ "$(cat "$work/victim")" = precious ] && [ "$(ls -A "$work/honest")" = x.0001.pb ] || fail "honest: left $(ls -lA "$work/honest")"
finish
