# SPDX-License-Identifier: BSD-3-Clause
# Files of jemalloc and gperftools are read: those made here byte by byte, and real ones where the libraries are
# installed, compared with Go's pprof.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3

python3 - "$work" <<'END'
import struct, sys
maps = "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 7 /gone/app\n00500000-00600000 rw-p 00000000 08:01 7 /gone/app\n"
def put(name, data):
    open(sys.argv[1] + "/" + name, "wb").write(data if isinstance(data, bytes) else data.encode())
def cpu(form, *samples, maps="00400000-00500000 r-xp 00000000 08:01 7 /gone/app\n"):
    words = [0, 3, 0, 10000, 0]
    for count, *stack in samples:
        words += [count, len(stack), *stack]
    return struct.pack(f"<{len(words) + 3}{form}", *words, 0, 1, 0) + maps.encode()
samples = (3, 0x401000, 0x402001), (2, 0x401000), (4, 0x401000, 0x402001)
put("cpu64", cpu("Q", *samples))
put("cpu32", cpu("I", *samples))
put("v1", "heap profile:  5: 500 [ 9: 900] @ heapprofile\n 5: 500 [ 9: 900] @ 0x401001 0x402001\n\n" + maps)
# One of 1024 bytes, sampled every 1024: 1/(1 - 1/e) = 1.5820 of them.
put("v2", "heap profile: 100: 102400 [100: 102400] @ heap_v2/1024\n100: 102400 [100: 102400] @ 0x401001 0x402001\n" + maps)
put("je", "heap_v2/1024\n  t*: 100: 102400 [200: 204800]\n  t0: 100: 102400 [200: 204800]\n@ 0x401001 0x402001\n"
    "  t*: 100: 102400 [200: 204800]\n  t0: 1: 1 [0: 0]\n\n" + maps)
put("growth", "heap profile: 1: 4096 [1: 4096] @ growthz\n1: 4096 [1: 4096] @ 0x401001\n" + maps)
# What must be refused.
put("bad-cut", cpu("Q", *samples)[:100])
put("bad-maps-cut", cpu("Q", *samples)[:-5])
put("bad-maps", cpu("Q", *samples, maps=""))
put("bad-depth", struct.pack("<7Q", 0, 3, 0, 10000, 0, 1, 10**9) + maps.encode())
put("bad-count", cpu("Q", (1 << 60, 0x401000)))
put("bad-product", cpu("Q", (1 << 50, 0x401000)))
put("bad-width", cpu("Q")[:40] + cpu("I", *samples)[20:])
put("bad-text-maps", "heap_v2/1024\n t*: 1: 2 [0: 0]\n@ 0x401001\n t*: 1: 2 [0: 0]\n")
put("bad-text-count", "heap_v2/1024\n t*: 1: 2 [0: 0]\n@ 0x401001\n t*: 99999999999999999999: 2 [0: 0]\n" + maps)
put("bad-scaled", "heap_v2/9007199254740992\n t*: 1: 2 [0: 0]\n@ 0x401001\n t*: 9007199254740992: 2 [0: 0]\n" + maps)
put("bad-address", "heap_v2/1024\n t*: 1: 2 [0: 0]\n@ 0xyz\n t*: 1: 2 [0: 0]\n" + maps)
put("bad-totals", "heap_v2/1024\n@ 0x401001\n t*: 1: 2 [0: 0]\n" + maps)
put("bad-line", "heap profile: 1: 2 [0: 0] @ heapprofile\n1: 2 @ 0x401001\n" + maps)
put("bad-kind", "heap profile: 1: 2 [0: 0] @ heap/1024\n1: 2 [0: 0] @ 0x401001\n" + maps)
END
cd "$work" || exit 1

# FILE's stacks have the values that Go's pprof reads, where there is Go. It doesn't read jemalloc's files.
same_as_go() { # file
	command -v go >/dev/null || return 0
	for reader in theirs ours; do
		[ $reader = ours ] && from=$1.pb || from=$1
		go tool pprof -symbolize=none -raw "$from" 2>/dev/null | python3 -c '
import re, sys
where, rows, places = "", {}, {}
for line in sys.stdin.read().split("\n"):
    if line in ("Locations", "Mappings") or line.startswith("Samples"): where = line
    elif where[:3] == "Sam" and re.match(r"[ \d]+: [\d ]+$", line):
        values, stack = line.split(":")
        rows.setdefault(stack.strip(), []).append([int(v) for v in values.split()])
    elif where == "Locations" and (m := re.match(r" +(\d+): (0x\w+)", line)): places[m[1]] = m[2]
for text in sorted(" ".join(places[i] for i in stack.split()) + " %s" % [sum(v) for v in zip(*values)] for stack, values in rows.items() if any(map(any, values))):
    print(text)' >$reader
	done
	[ -s theirs ] && cmp theirs ours >/dev/null || fail "$1: Go's pprof reads it otherwise: $(diff theirs ours | head -n 8)"
}
# The values of all sample types, and the addresses from the leaf on.
are() { # file "types: total..." "addresses"
	"$cprof" merge -o "$1.pb" "$1" 2>"$1.err" || fail "$1: $(cat "$1.err")"
	grep -q 'no names from /gone/app' "$1.err" || fail "$1: the missing program isn't named: $(cat "$1.err")"
	"$cprof" info "$1" 2>/dev/null | sed -n 's,^ *\([a-z_]*\)/[a-z]* total \([0-9]*\).*,\1 \2,p' | tr '\n' ' ' >"$1.totals"
	[ "$(cat "$1.totals")" = "$2 " ] || fail "$1: $(cat "$1.totals"), not $2"
	# The field "address" of each location.
	python3 -c '
import gzip, sys
def number(d, i):
    n = shift = 0
    while True:
        n, shift, i = n | (d[i] & 127) << shift, shift + 7, i + 1
        if d[i - 1] < 128: return n, i
def fields(d):
    i = 0
    while i < len(d):
        tag, i = number(d, i)
        v, i = number(d, i)
        if tag & 7 == 2: v, i = d[i:i + v], i + v
        yield tag >> 3, v
print(*sorted(hex(v) for f, l in fields(gzip.open(sys.argv[1]).read()) if f == 4 for g, v in fields(l) if g == 3))' "$1.pb" >"$1.addresses"
	[ "$(cat "$1.addresses")" = "$3" ] || fail "$1: addresses $(cat "$1.addresses"), not $3"
	[ "$1" = je ] || same_as_go "$1"
}
are cpu64 'samples 9 cpu 90000000' '0x401000 0x402000'
are cpu32 'samples 9 cpu 90000000' '0x401000 0x402000'
are v1 'alloc_objects 9 alloc_space 900 inuse_objects 5 inuse_space 500' '0x401000 0x402000'
are v2 'inuse_objects 158 inuse_space 161994' '0x401000 0x402000'
are je 'alloc_objects 316 alloc_space 323989 inuse_objects 158 inuse_space 161994' '0x401000 0x402000'
are growth 'objects 1 space 4096' '0x401000'
gzip -k cpu64 && "$cprof" top cpu64.gz >out 2>&1 || fail "packed: $(cat out)"
"$cprof" leaks je 2>/dev/null | grep -q '158 blocks' || fail "leaks: $("$cprof" leaks je 2>&1)"
# The time of a dump is its file's, whatever the names' order.
for i in 5 4 3 2 1; do
	printf 'heap_v2/1024\n t*: %d: %d [0: 0]\n@ 0x401001\n t*: %d: %d [0: 0]\n' ${i}000 ${i}024000 ${i}000 ${i}024000 >dump.$((6 - i))
	sed -n '/^MAPPED/,$p' je >>dump.$((6 - i))
	touch -d "@$((1700000000 + 60 * i))" dump.$((6 - i))
done
"$cprof" leaks dump.* >out 2>err
grep -q 'more in 240 s, 5 dumps' out && grep -q '  app' out || fail "leaks of dumps: $(cat out err)"
"$cprof" diff je je >out 2>&1 || fail "diff: $(cat out)"
for bad in bad-*; do
	"$cprof" top "$bad" >out 2>&1
	status=$?
	[ $status = 2 ] && grep -q "^cprof: $bad: .*\(cut\|middle\|missing\|range\|malformed\|debug=1\)" out || fail "$bad: $status, $(cat out)"
done

# ---- real files ----
cat >host.c <<'END'
#include <stdio.h>
#include <stdlib.h>
void *volatile kept[20000];
__attribute__((noinline)) void *keep(int i) { return kept[i] = malloc(1000); }
__attribute__((noinline)) void fill(void) { for (int i = 0; i < 20000; i++) keep(i); }
__attribute__((noinline)) unsigned long burn(void)
{
	unsigned long x = 1;
	for (volatile unsigned long i = 0; i < 300000000; i++)
		x = x * 3 + i;
	return x;
}
int main(int argc, char **argv) { (void)argv; fill(); return argc > 1 ? !burn() : 0; }
END
$CC -g -O1 -fno-builtin -fno-optimize-sibling-calls -o host host.c || fail "can't compile"
library() { ldconfig -p 2>/dev/null | sed -n "s/.*$1.* => //p" | head -n 1; }

named() { # file type function
	"$cprof" top -sample_index="$2" "$1" >"$1.top" 2>&1
	grep -q "Your code (host): .* $2" "$1.top" && grep -q " $3\$" "$1.top" || fail "$1: no $3: $(cat "$1.top")"
	"$cprof" merge -o "$1.pb" "$1" || fail "$1: not merged"
}

so=$(library libprofiler.so.0)
if [ "$so" ]; then
	CPUPROFILE=$work/real.cpu CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$so ./host burn 2>/dev/null
	named real.cpu cpu burn
fi
so=$(library libtcmalloc.so.4)
if [ "$so" ]; then
	HEAPPROFILE=$work/real LD_PRELOAD=$so ./host 2>/dev/null
	named real.0001.heap inuse_space keep
	same_as_go real.0001.heap
	"$cprof" leaks real.0001.heap 2>&1 | grep -q ' 20000 .* keep < fill < main' || fail "leaks: $("$cprof" leaks real.0001.heap 2>&1)"
fi
so=$(library libjemalloc.so.2)
MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:10,prof_prefix:$work/real.je LD_PRELOAD=$so ./host 2>/dev/null
for file in real.je*; do
	[ -e "$file" ] || continue
	named "$file" inuse_space keep
	# 20,000 blocks of jemalloc's class of 1,024 bytes.
	bytes=$("$cprof" info "$file" | sed -n 's,.*inuse_space/bytes total \([0-9]*\).*,\1,p')
	[ "$bytes" -gt 19500000 ] && [ "$bytes" -lt 21500000 ] || fail "$file: $bytes bytes"
done

# Another program at the path doesn't lend its names, unless they are asked for.
file=$(ls real.0001.heap real.cpu real.je* 2>/dev/null | head -n 1)
if [ "$file" ]; then
	cp host other && mv other host
	"$cprof" folded "$file" >out 2>err
	grep -q 'no names from .*/host' err || fail "another program: $(cat err)"
	grep -q ';main;' out && fail "another program lends its names: $(grep main out)"
	"$cprof" symbolize -o asked.pb "$file" || fail "symbolize"
	"$cprof" folded asked.pb | grep -q ';main;' || fail "symbolize adds no names"
fi
finish
