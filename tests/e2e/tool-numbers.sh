# SPDX-License-Identifier: BSD-3-Clause
# The rows of cprof's tables are the same as go tool pprof's, to the byte, on Go's own profiles and on libcprof's: every verb,
# with every option that changes the counts. Headings differ, and units unless one is asked for, and cprof leaves rows of 0 out.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" go python3
srcdir=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
export GO111MODULE=off GOCACHE=$work/cache GOFLAGS= TZ=UTC
compared=0

go build -o go-profiles "$srcdir/tests/e2e/tool-go-profiles.go" || skip "go can't build"
for run in go1 go2; do
	mkdir $run
	./go-profiles $run 2>$run.err || fail "$run: $(tail -n 3 $run.err)"
done

$CC -O2 -g -o host "$srcdir/tests/e2e/symbolize-host.c" || fail "the host doesn't compile"
CPROF_SYMBOLIZE=names CPUPROFILE_FREQUENCY=250 profiled names ./host
"$cprof" symbolize -o full.pb names.pb || fail "names.pb is not symbolized"

# With -files pprof shows a file once for each first line of a function, cprof once: pprof gets copies without first
# lines.
cat >without-first-lines.py <<'END'
import gzip, sys
def varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, i
def number(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])
def fields(b):
    i = 0
    while i < len(b):
        begin = i
        key, i = varint(b, i)
        if key & 7 == 0:
            _, i = varint(b, i)
            yield key >> 3, b[begin:i], b""
        else:
            n, at = varint(b, i)
            i = at + n
            yield key >> 3, b[begin:i], b[at:i]
out = b""
data = open(sys.argv[1], "rb").read()
for field, whole, inner in fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data):
    if field == 5:
        inner = b"".join(w for f, w, _ in fields(inner) if f != 5)
        whole = number(5 << 3 | 2) + number(len(inner)) + inner
    out += whole
open(sys.argv[2], "wb").write(gzip.compress(out, 1))
END
for_pprof() { # options and files: sets ARGUMENTS
	arguments=("$@")
	[[ " $* " == *" -files "* ]] || return
	for i in "${!arguments[@]}"; do
		[ -f "${arguments[i]}" ] || continue
		[ -f "${arguments[i]}.flat" ] || python3 without-first-lines.py "${arguments[i]}" "${arguments[i]}.flat"
		arguments[i]=${arguments[i]}.flat
	done
}

# Ours has no comments above a table, and says <0.01% for 1.4e-05%. Calls of the same size but other sign have no order in pprof,
# so with SORTED set only the lines count.
compare() { # verb pprof's-option [regex --] options... files...
	verb=$1 option=$2 pattern=()
	shift 2
	[ "${2:-}" = -- ] && { pattern=("$1"); shift 2; }
	# The table of the user's own code, which comes before pprof's, is not in it.
	own=()
	[ "$verb" = top ] && own=(-own=)
	# pprof always leaves out what a file declares uninteresting.
	own+=(-drop_frames)
	[[ " $* " == *" -unit="* ]] || own+=(-unit=minimum)
	"$cprof" "$verb" "${own[@]}" "${pattern[@]}" "$@" >ours 2>ours.err
	# Nor is the line about the sampling of a heap profile.
	sed -i '/^Sampled: total /d' ours
	for_pprof "$@"
	go tool pprof -symbolize=none "$option${pattern:+=$pattern}" "${arguments[@]}" >go.out 2>go.err
	for file; do :; done
	go tool pprof -comments "$file" 2>/dev/null >comments
	[ -s comments ] && { grep -vxFf comments go.out >theirs; } || cp go.out theirs
	sed -i -E 's/(^|[ (])([0-9.]+e-[0-9]+|0\.00[0-9]+)%/\1<0.01%/g' theirs
	# pprof's columns of tags are as wide as the widest of all.
	if [ "$verb" = tags ]; then
		sed -i 's/^ *//; s/: */: /g; s/Total  */Total /; s/( */(/' ours theirs
		[ -s theirs ] || echo "no labels" >theirs
	fi
	case $verb in
	top | tree | peek) sed -i '1,/^ *\(own  *own%\|flat  flat%\)/d' ours theirs ;;
	list) sed -i 's/(flat, cum) \(.*\) of Total$/(own, total) \1 of all/' theirs ;;
	esac
	[[ $verb = top && " $* " != *" -cum "* && " $* " != *" -trim=false "* ]] &&
		for f in ours theirs; do sed -i '2,$ { /^ *0  *0% /d }' $f; done
	[ -z "${SORTED:-}" ] || for f in ours theirs; do sort -o $f $f; done
	compared=$((compared + 1))
	cmp -s ours theirs ||
		fail "$verb ${pattern[*]} $*: $(diff ours theirs | head -n 6) $(head -n 2 ours.err go.err)"
}

granularities="-functions -filefunctions -files -lines -addresses"
for file in go1/cpu.pb go1/heap.pb go1/block.pb full.pb; do
	for verb in top tree; do
		for options in "" -cum $granularities -noinlines "-noinlines -lines" "-focus=sort|burn" \
			"-ignore=sort|burn" "-hide=runtime|libc" "-show=main" "-show_from=main" \
			"-nodecount=7" "-nodefraction=0.05 -edgefraction=0.1" "-trim=false"; do
			# pprof shows the process's addresses; ours are the file's (list-disasm.sh).
			[ "$options $file" = "-addresses full.pb" ] || compare $verb -$verb $options $file
		done
	done
	compare top -top -relative_percentages -focus=main -cum -lines $file
	for pattern in '^main' 'sort|burn' nothing-has-this-name; do
		compare peek -peek "$pattern" -- $file
		compare list -list "$pattern" -- $file
	done
	compare tags -tags $file
	compare tags -tags -sample_index=0 $file
done

for type in 0 1 alloc_objects alloc_space inuse_objects inuse_space; do
	compare top -top -sample_index=$type go1/heap.pb
done
for unit in ms us s kb MB count; do
	compare top -top -unit=$unit go1/cpu.pb
	compare top -top -unit=$unit go1/heap.pb
done
compare top -top -mean go1/heap.pb
compare top -top -mean -sample_index=delay go1/block.pb
for tag in request=r1 r1 kind=read,write 'kind:read,request:r0' bytes=5kb: bytes=:1kb 1kb:8kb 5376b nothing; do
	compare top -top "-tagfocus=$tag" go1/heap.pb
	compare top -top "-tagfocus=$tag" go1/cpu.pb
	compare top -top "-tagignore=$tag" go1/cpu.pb
done

# The other modes' files, of a program with threads, waits and allocations.
cat >busy.py <<'END'
import json, threading, time
lock = threading.Lock()
def work():
    for i in range(10):
        with lock:
            json.dumps([{str(k): [k] * 5} for k in range(2000)])
        time.sleep(0.005)
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
END
if command -v python3 >/dev/null; then
	# By its file's name: cprof calls a place in a stripped program by the name that it was started by.
	LD_PRELOAD=$CP_LIBRARY WALLPROFILE=wall.pb HEAPPROFILE=heap.pb LOCKPROFILE=lock.pb \
		CPROF_HEAP_INTERVAL=16K CPROF_SYMBOLIZE=names "$(readlink -f "$(type -P python3)")" busy.py
	for file in wall.pb heap.pb lock.pb; do
		compare top -top $file
		compare top -top -cum -files -sample_index=0 $file
		compare tree -tree -lines -nodecount=30 $file
		compare tags -tags $file
	done
fi

compare top -top go1/cpu.pb go2/cpu.pb
compare tree -tree go1/heap.pb go2/heap.pb go1/heap.pb
compare tags -tags go1/cpu.pb go2/cpu.pb
SORTED=1
for kind in cpu heap mutex; do
	for base in -base -diff_base; do
		compare top -top $base=go1/$kind.pb go2/$kind.pb
		compare top -top $base=go1/$kind.pb -normalize -cum go2/$kind.pb
		compare tree -tree $base=go1/$kind.pb -focus=main go2/$kind.pb
		compare top -top $base=go1/$kind.pb go1/$kind.pb
	done
done
echo "$compared tables compared"
finish
