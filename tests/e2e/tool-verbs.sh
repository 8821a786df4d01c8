# SPDX-License-Identifier: BSD-3-Clause
# cprof as its users meet it: help, sources, JSON, files it writes, a terminal, mistakes, bad files.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3 gzip
srcdir=$(cd "$srcdir" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/tests/lib TZ=UTC
cd "$work" || exit 1

python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
exe = p.mapping("/usr/bin/app")
main = p.frame("main", file="/nowhere/app.c", line=10, start=5, mapping=exe)
hot = p.frame("hot", file="/nowhere/app.c", line=20, start=15, mapping=exe)
red = p.frame("\x1b[31mred\u009b\n", file="/nowhere/\x07bell.c", line=1, start=1, mapping=exe)
p.sample([hot, main], [3, 30000000], {"thread": "worker", "tid": 7})
p.sample([hot, main], [1, 10000000], {"thread": "main"})
p.sample([red, main], [1, 1000000])
p.comments = ["# span red: 1, p50 1.000 ms, p99 1.000 ms, max 1.000 ms, sum 1.000 ms", "# spans: \x1b[31mred"]
p.write("app.pb")
END
[ -s app.pb ] || fail "there is no profile to look at"

# The result of a command: its exit status, and an expression for stdout or stderr.
answers() { # status regex command...
	want=$1 pattern=$2
	shift 2
	"$@" >out 2>err </dev/null
	status=$?
	[ $status = "$want" ] || fail "$*: exit status $status, not $want: $(head -n 2 err)"
	grep -qE -- "$pattern" out err || fail "$*: says \"$(head -n 2 out err)\", not $pattern"
}

# A pipe that nobody writes to: given up after some seconds, during which the rest is tested.
mkfifo fifo
timeout -s KILL 60 "$cprof" top fifo >fifo.out 2>&1 &
pipe=$!
wait_for_pipe() {
	local status=0
	wait $pipe || status=$?
	cat fifo.out
	return $status
}

# ---- help and mistakes ----
answers 0 'usage: cprof VERB' "$cprof" --help
page=$("$cprof" --help | sed -n 's/.*"man -l \(.*\)" has everything[.]$/\1/p')
[ -r "$page" ] || [ ! -e "$builddir/../man/cprof.1" ] || fail "--help doesn't name the manual page of a clone: $("$cprof" --help | tail -n 1)"
answers 0 '^cprof .*[0-9]+\.[0-9]+' "$cprof" --version
answers 2 'usage: cprof VERB' "$cprof"
answers 2 'no verb "topp"; did you mean "top"' "$cprof" topp
answers 2 '"cprof run" records a command' "$cprof" record ./app
answers 2 'did you mean "top"' "$cprof" report app.pb
answers 2 'did you mean "symbolize"' "$cprof" symbolise app.pb
for habit in '-top:top FILE' '--text:top FILE' '-list=main:list REGEX FILE' '-http=:8080:flame FILE'; do
	answers 2 "^cprof: verbs have no dash: cprof ${habit##*:}\$" "$cprof" "${habit%:*}" app.pb
done
answers 2 'there is no verb "zzz"; "cprof' "$cprof" zzz
answers 2 'gone.pb: No such file or directory' "$cprof" gone.pb
answers 2 'cprof list: the expression comes first: cprof list hot app.pb' "$cprof" list app.pb hot
answers 2 'cprof peek: the expression comes first: cprof peek hot app.pb' "$cprof" peek app.pb hot
answers 2 'run -heap -- COMMAND' "$cprof" -heap -- ./app
answers 2 '"cprof run -- /bin/sh" profiles' "$cprof" /bin/sh
answers 2 ' is a directory' "$cprof" ./
answers 2 'there is no option -cumm; did you mean -cum\?' "$cprof" top -cumm app.pb
answers 2 'there is no option --nodecuont=3; did you mean -nodecount\?' "$cprof" top --nodecuont=3 app.pb
answers 2 'there is no option --xyzzy; see' "$cprof" top --xyzzy app.pb
answers 2 'takes no value' "$cprof" top -cum=3 app.pb
answers 0 '40 ms.*hot' "$cprof" app.pb
answers 0 '"rows"' "$cprof" app.pb --json
for verb in $("$cprof" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
	answers 0 "usage: cprof $verb" "$cprof" "$verb" --help
	"$cprof" "$verb" --help | sed '1,/^Options/d' | grep '^[^ ]' && fail "$verb --help: a line of an option is not indented"
	answers 0 "usage: cprof $verb" "$cprof" help "$verb"
	answers 2 "cprof $verb: " "$cprof" "$verb" --no-such-option
	sed 's/\\//g' "$srcdir/man/cprof.1" | grep -q "$verb" || fail "cprof(1) doesn't know $verb"
done
for verb in top tree tags info merge strip-labels; do
	answers 2 'needed' "$cprof" $verb
done
answers 2 'expression and a profile' "$cprof" peek app.pb
answers 2 'neither true nor false' "$cprof" top -trim=perhaps app.pb
answers 2 'no number' "$cprof" top -nodecount=many app.pb
answers 2 'none of: samples cpu' "$cprof" top -sample_index=heap app.pb
answers 2 'missing closing parenthesis' "$cprof" top '-focus=(' app.pb
answers 2 'exclude each other' "$cprof" top -base=app.pb -diff_base=app.pb app.pb
answers 2 'no function matches' "$cprof" peek nothing app.pb
answers 2 'no function matches' "$cprof" list nothing app.pb
answers 0 "the source can't be read: No such file or directory .-source_path=DIRS says where" "$cprof" list hot app.pb
answers 0 'focus matched nothing' "$cprof" top -focus=nothing app.pb
# One dash or two, with = or without, before and after the file.
for spelling in "-focus=hot app.pb" "--focus hot app.pb" "app.pb -focus hot" "app.pb --focus=hot"; do
	answers 0 '40 ms.*hot' "$cprof" top $spelling
done

# ---- where profiles come from ----
"$cprof" top app.pb >want
gzip -dc app.pb >plain.pb
for source in plain.pb; do
	"$cprof" top $source | cmp -s - want || fail "a plain file differs"
done
"$cprof" top - <app.pb | cmp -s - want || fail "standard input differs"
cat app.pb | "$cprof" top - | cmp -s - want || fail "a pipe differs"
if ! "$cprof" top http://127.0.0.1:1/ 2>&1 | grep -q 'built without libcurl'; then
	python3 -u -m http.server --bind 127.0.0.1 0 >http.out 2>&1 &
	owns $!
	wait_for 20 grep -q 'port [0-9]' http.out
	port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' http.out)
	"$cprof" top "http://127.0.0.1:$port/app.pb" | cmp -s - want || fail "a URL differs"
	answers 2 '404' "$cprof" top "http://127.0.0.1:$port/nothing"
	answers 2 'not a pprof profile' "$cprof" top "http://127.0.0.1:$port/want"
	answers 2 'connect' "$cprof" top http://127.0.0.1:1/
	# A machine without libcurl: its names lead to what is no library.
	mkdir no-curl
	for name in libcurl.so.4 libcurl-gnutls.so.4; do echo >no-curl/$name; done
	answers 2 'needs libcurl\.so\.4.*install' env LD_LIBRARY_PATH="$PWD/no-curl" "$cprof" top http://127.0.0.1:1/
	answers 0 '40 ms.*hot' env LD_LIBRARY_PATH="$PWD/no-curl" "$cprof" top app.pb
fi
! ${READELF:-readelf} -d "$cprof" | grep -q curl || fail "libcurl is loaded by every call: $(${READELF:-readelf} -d "$cprof" | grep curl)"

# ---- JSON ----
json() { # python-expression command...
	expression=$1
	shift
	"$@" >json.out || fail "$*: failed"
	python3 -c "import json; d = json.load(open('json.out')); assert $expression, d" ||
		fail "$*: not $expression"
}
json "d['total'] == 41000000 and d['rows'][0]['name'] == 'hot' and d['rows'][0]['flat'] == 40000000" \
	"$cprof" top --json app.pb
json "d['rows'][1]['callers'][0]['name'] == 'main' or d['rows'][0]['callers'][0]['name'] == 'main'" \
	"$cprof" tree --json app.pb
json "len(d['rows']) == 1 and d['rows'][0]['cum'] == 40000000" "$cprof" peek hot --json app.pb
json "d['functions'][0]['lines'] == [{'line': 20, 'flat': 40000000, 'cum': 40000000}]" \
	"$cprof" list hot --json app.pb
json "[k['key'] for k in d['keys']] == ['thread', 'tid'] and d['keys'][0]['values'][0] == {'text': 'worker', 'value': 30000000} or d['keys']" \
	"$cprof" tags --json app.pb
json "d['types'][1] == {'type': 'cpu', 'unit': 'nanoseconds', 'total': 41000000, 'default': True}" \
	"$cprof" info --json app.pb

# ---- files that are written ----
"$cprof" merge -o both.pb app.pb app.pb || fail "merge failed"
# The time that passed: processes that ran at the same time don't add up; a gap doesn't count, nor does an order.
python3 - <<'END'
from pprof_build import Profile
for name, start, length in ("tree1", 10, 10), ("tree2", 12, 3), ("tree3", 15, 10), ("tree4", 30, 5), ("tree0", 0, 2):
    p = Profile([("cpu", "nanoseconds")], time=start * 10**9, duration=length * 10**9)
    p.sample([p.frame("main")], [10**9])
    p.write(name + ".pb")
END
lasts() { # seconds file...
	want=$1
	shift
	"$cprof" merge -o passed.pb "$@" && "$cprof" info -json passed.pb | grep -q "\"duration_nanos\": ${want}000000000\b" ||
		fail "$*: not $want s: $("$cprof" info passed.pb | grep -i duration)"
}
lasts 10 tree1.pb tree2.pb
lasts 15 tree3.pb tree2.pb tree1.pb
lasts 20 tree4.pb tree1.pb tree3.pb
lasts 12 tree0.pb tree1.pb # whose beginning isn't known
json "d['total'] == 82000000" "$cprof" top --json both.pb
[ "$(stat -c %a both.pb)" = 600 ] || fail "a new profile has mode $(stat -c %a both.pb)"
chmod 644 both.pb
ln -s both.pb link.pb
"$cprof" merge -o link.pb -focus=hot app.pb || fail "merge over a link failed"
[ -L link.pb ] && [ "$(stat -c %a both.pb)" = 644 ] || fail "merge replaced the link, or changed the mode"
json "d['total'] == 40000000" "$cprof" top --json both.pb
"$cprof" strip-labels app.pb >bare.pb || fail "strip-labels failed"
answers 0 'no labels' "$cprof" tags bare.pb
json "d['samples'] == 2" "$cprof" info --json bare.pb
"$cprof" strip-labels -keep=thread -o kept.pb app.pb
json "[k['key'] for k in d['keys']] == ['thread']" "$cprof" tags --json kept.pb
"$cprof" strip-labels -only=thread -o kept.pb app.pb
json "[k['key'] for k in d['keys']] == ['tid']" "$cprof" tags --json kept.pb
# Of deep stacks the middle goes, and what then is equal is summed; the leaf and the root stay.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
exe = p.mapping("/usr/bin/app")
f = [p.frame("f%d" % i, mapping=exe) for i in range(20)]
p.sample(f, [1, 1000])
p.sample(f[:10] + f[11:], [1, 100])
p.sample(f[:5], [1, 10])
p.sample(f[:6], [1, 1])
p.write("deep.pb")
END
for verb in merge strip-labels; do
	"$cprof" $verb -max-depth=5 -o cut.pb deep.pb || fail "$verb -max-depth failed"
	"$cprof" folded cut.pb | sort >cut.folded
	printf '%s\n' 'f19;f18;[...];f1;f0 1100' 'f4;f3;f2;f1;f0 10' 'f5;f4;[...];f1;f0 1' | sort |
		cmp -s - cut.folded || fail "$verb -max-depth=5: $(cat cut.folded)"
	answers 0 'stacks: 3 cut in the middle to 5 frames' "$cprof" info cut.pb
	"$cprof" $verb -max-depth=20 -o cut.pb deep.pb
	"$cprof" folded cut.pb | grep -qF '[...]' && fail "$verb cut what is not too deep"
	answers 2 'at least 3 frames' "$cprof" $verb -max-depth=2 -o cut.pb deep.pb
done
if command -v go >/dev/null; then
	"$cprof" merge -max-depth=5 -o cut.pb deep.pb
	go tool pprof -symbolize=none -traces cut.pb >go.out 2>&1 && grep -qF '[...]' go.out ||
		fail "pprof can't read what merge cut: $(head -n 3 go.out)"
	go tool pprof -symbolize=none -top both.pb >go.out 2>&1 || fail "pprof can't read what merge wrote"
fi
cp both.pb before.pb
answers 2 "can't be written" "$cprof" merge -o /dev/full app.pb
answers 2 "can't be written" "$cprof" merge -o nowhere/out.pb app.pb
"$cprof" top app.pb >/dev/full 2>err && fail "a full disk is not noticed"
ls ./*.pb.* 2>/dev/null && fail "temporary files are left"
python3 - <<'END' || fail "profiles of different kinds are put together"
from pprof_build import Profile
p = Profile([("objects", "count"), ("space", "bytes")])
p.sample([p.frame("main")], [1, 1])
p.write("heap.pb")
END
answers 2 "can't be put together" "$cprof" merge -o no.pb app.pb heap.pb

# ---- a terminal ----
"$cprof" spans app.pb >spans || fail "cprof spans: $(cat spans)"
grep -q '^spans: .\[31mred' spans && ! grep -q "$(printf '\033')" spans || fail "control characters of a comment: $(cat -v spans)"
"$cprof" top app.pb | grep -q "$(printf '\033\|\302\233')" && fail "control characters of a name come out"
# In every place of a profile, by every verb, on both outputs; a line break begins no line of its own.
python3 - <<'END'
from pprof_build import Profile
bad = "\x1b[31mRED\x1b]0;T\x07\u009b\x7f\u202e\r\nFORGED"
p = Profile([("samples", "count"), ("cpu" + bad, "nano" + bad)], default="cpu" + bad)
frame = p.frame(bad, file="/" + bad, line=1, start=1, mapping=p.mapping("/" + bad))
p.sample([frame, frame], [3, 30000000], {"thread": bad, bad: "v", "span": bad, "bytes": 7})
p.comments = [bad, "# " + bad, "# note: " + bad]
p.write("hostile.pb")
END
[ -s hostile.pb ] || fail "no hostile profile"
cp hostile.pb "$(printf 'hostile\033[31m.pb')"
hostile() { # verb...
	"$cprof" "$@" >out 2>err </dev/null
	[ -s out ] || [ -s err ] || fail "$1 of a hostile profile says nothing"
	! LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae|^FORGED' out err ||
		fail "$*: a terminal gets $(cat -v out err | head -n 5)"
}
for file in hostile.pb hostile?*31m.pb; do
	for verb in top tree 'peek .' 'list .' tags info folded spans 'diff hostile.pb' 'top -json' 'info -json' \
		'tags -json' 'diff -json hostile.pb' 'convert -to=folded' 'convert -to=speedscope' \
		'convert -to=callgrind'; do
		hostile $verb "$file"
	done
done
hostile top -focus="$(printf '(\033[31m')" hostile.pb
hostile "$(printf '\033[31m.pb')"
# The library's lines name paths.
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$(printf 'no\033[31m\302\233/x.pb')" true 2>err
grep -q '^libcprof: .*no?\[31m??/x.pb' err || fail "the library says: $(cat -v err)"
# Modules and source files that a profile names are opened only if they are plain files: opening may do something.
mkfifo pipe
(echo x >pipe; : >opened) &
owns $!
python3 - <<'END'
import os
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
exe = p.mapping(os.getcwd() + "/pipe")
p.sample([p.frame("hot", file=os.getcwd() + "/pipe", line=1, start=1, mapping=exe)], [1, 1])
p.sample([p.frame("", mapping=exe)], [1, 1])
p.write("device.pb")
END
"$cprof" list hot device.pb >/dev/null 2>&1
"$cprof" symbolize -o symbolized.pb device.pb >/dev/null 2>&1
"$cprof" top pipe.pb >/dev/null 2>&1
[ ! -e opened ] || fail "a pipe that a profile names is opened"
cat >terminal.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
try:
    while data := os.read(fd, 65536):
        sys.stdout.buffer.write(data)
except OSError:  # EIO: nobody has the terminal any more
    pass
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
terminal() {
	python3 terminal.py "$@" </dev/null
}
TERM=xterm PAGER='sed s/^/paged/' CPROF_PAGER= NO_COLOR= terminal "$cprof" top app.pb >tty.out ||
	fail "top on a terminal failed"
grep -q "$(printf '\033')\[1m.*hot" tty.out || fail "no colours on a terminal"
unset CPROF_PAGER
TERM=xterm PAGER='sed s/^/paged/' NO_COLOR=1 terminal "$cprof" top app.pb >tty.out
grep -q 'paged.*hot' tty.out || fail "PAGER is not used"
grep -q "$(printf '\033')" tty.out && fail "NO_COLOR is not heard"
terminal "$cprof" merge app.pb >tty.out && fail "a profile is written to a terminal"

# What "cprof run" kept of the run before isn't added to a picture in silence.
cp app.pb app.before.pb
answers 0 'app.before.pb is of the run before, and added up' "$cprof" flame app.pb app.before.pb -o both.html
"$cprof" flame app.before.pb -o one.html 2>&1 | grep 'run before' && fail "a file alone is added up"

# ---- bad files ----
mkfifo written
(sleep 0.3; cat app.pb >written) &
answers 0 hot timeout -s KILL 60 "$cprof" top written
answers 2 'No such file' "$cprof" top nowhere.pb
# Of several files, which are read at once, the first that can't be read is told.
head -c 100 app.pb >half.pb
answers 2 'nowhere.pb: No such file' "$cprof" top app.pb nowhere.pb half.pb app.pb
[ "$(wc -l <err)" = 1 ] || fail "several files: $(cat err)"
answers 0 'cpu' "$cprof" top app.pb <(cat app.pb) app.pb
answers 2 'is a directory' "$cprof" top .
: >empty.pb
answers 2 'is empty' "$cprof" top empty.pb
printf 'just a text\n' >text.pb
answers 2 'text.pb: not a pprof profile' "$cprof" top text.pb
foreign() { # name regex (the file is read)
	cat >foreign.$1
	answers 2 "foreign.$1: not a pprof profile, but $2" "$cprof" top "foreign.$1"
}
printf 'PERFILE2\150\0\0\0' | foreign perf "perf's"
printf 'v 10300 3\nX /usr/bin/app\nI 1000 20\n' | foreign heaptrack "heaptrack's"
printf '(\265/\375\044\0\1\0\0' | foreign zst 'compressed with zstd, as heaptrack'
printf 'main;work;deep 12\nmain 3\n' | foreign folded 'folded stacks'
printf 'FLR\0\0\2\0\1' | foreign jfr 'a recording of Java'
printf '# callgrind format\nversion: 1\n' | foreign callgrind "callgrind's"
printf 'PK\3\4\024\0\0\0\10\0' | foreign zip 'a zip archive: "unzip"'
printf '\3757zXZ\0\0\4' | foreign xz 'compressed with xz'
printf '\4"M\030\144\100' | foreign lz4 'compressed with lz4'
tar -c plain.pb | foreign tar 'a tar archive'
tar -c plain.pb | gzip | foreign tar.gz 'a tar archive'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n' | foreign lfs 'a Git LFS pointer'
printf '\n<!DOCTYPE html>\n<html><title>Log in</title>' | foreign html 'a page of HTML'
printf '{"error": "not found"}' | foreign json 'JSON'
printf 'main;work;deep 12\n' | gzip | foreign folded.gz 'folded stacks'
printf 'BZh91AY' | foreign bz2 'compressed with bzip2'
printf '\037\213\010' | gzip | foreign gz.gz 'compressed twice: "gzip -d"'
printf '\211PNG\r\n\032\n' | foreign png 'a picture or a document'
printf '<?xml version="1.0"?>\n<svg>' | foreign svg 'a picture or a document'
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0' | foreign elf 'a program or library'
printf 'goroutine profile: total 5\n' | foreign go 'text of Go'
printf '\37\302\213\10\0' | foreign latin1.gz 'binary data that was converted'
printf '\37\357\277\275\10\0' | foreign utf8.gz 'binary data that was converted'
printf '\357\273\277[\n {"a": 1}]' | foreign bom.json 'JSON'
printf '[section]\nkey=value\n' | foreign ini 'text that begins "\[section\]"'
printf '\n 404 page not found\n' | foreign 404 'text that begins "404 page not found": cprof reads'
printf '\317\372\355\376\7\0\0\1' | foreign macho 'binary data of an unknown kind: cprof reads'
truncate -s 1T zeros.pb
answers 2 'zeros.pb: not a pprof profile, but zeros' "$cprof" top zeros.pb
answers 2 'fifo: is a pipe that nobody writes to' wait_for_pipe
# Names only: list says what adds the lines.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count")])
p.sample([p.frame("hot", mapping=p.mapping("/usr/bin/app"))], [1])
p.write("names.pb")
END
answers 2 'names.pb has names only.*cprof symbolize --in-place names.pb' "$cprof" list hot names.pb
head -c 150 app.pb >cut.pb
answers 2 'damaged gzip data: the file is cut short' "$cprof" top cut.pb
{ head -c 60 app.pb; head -c 40 /dev/zero; tail -c +101 app.pb; } >hole.pb
answers 2 'hole.pb: ' "$cprof" top hole.pb
{ cat plain.pb; printf '\022\005\010\143\020\001'; } >late.pb
answers 2 'at byte [0-9]+ of the uncompressed data' "$cprof" top late.pb
# A hundred megabytes of an unknown field in a hundred kilobytes: refused in little memory.
python3 - <<'END'
import gzip
with gzip.open("bomb.pb", "wb", 9) as f:
    for _ in range(1700):
        f.write(b"\xa2\x06\x80\x80\x04" + bytes(65536))
END
answers 2 'times the compressed size' bash -c 'ulimit -v 300000; exec "$@"' - "$cprof" top bomb.pb
finish
