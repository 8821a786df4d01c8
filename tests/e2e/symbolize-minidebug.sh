#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fedora's MiniDebugInfo: a stripped program whose local functions' names are in .gnu_debugdata, packed by xz. What
# can't be unpacked gives no names and no failure.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3 gcc objcopy strip nm
python3 -c 'import ctypes, lzma; ctypes.CDLL("liblzma.so.5")' 2>/dev/null || skip "no liblzma"
cd "$work" || exit 1

cat >host.c <<'END'
static volatile unsigned long seed = 1;
static __attribute__((noinline)) unsigned long churn(long n)
{
	unsigned long x = seed;

	for (long i = 0; i < n; i++)
		x = x * 6364136223846793005u + (unsigned long)i;
	return x;
}
int main(void)
{
	unsigned long x = 0;

	for (int i = 0; i < 300; i++)
		x += churn(1000000);
	seed = x;
	return 0;
}
END
gcc -O1 -g -o whole host.c || skip "gcc can't link"
# As GDB's manual says, with the whole table instead of what the dynamic table lacks.
objcopy --only-keep-debug whole debug && strip -S -o mini debug && strip -s -o stripped whole || fail "binutils failed"
grep -q churn mini || fail "the small file lacks the names"
cp stripped host
ends_well profiled host ./host
packed() { # what Python makes of the bytes M of the small file
	python3 -c "import lzma; m = open('mini', 'rb').read(); open('packed', 'wb').write($1)"
	rm -f host
	objcopy --add-section .gnu_debugdata=packed stripped host || fail "$1: objcopy can't add the section"
	"$cprof" symbolize -o full.pb host.pb 2>err || fail "$1: cprof symbolize: $(cat err)"
	"$cprof" top -own= full.pb >out 2>err || fail "$1: cprof top: $(cat err)"
}
packed 'lzma.compress(m)'
grep -q ' churn$' out || fail "no name from .gnu_debugdata: $(cat out)"
for broken in 'lzma.compress(m)[:-40]' 'b"\xfd7zXZ" + bytes(200)' 'lzma.compress(bytes(10 ** 6))' 'lzma.compress(b"\x7fELF\x02\x01\x01" + bytes(50))' \
	'lzma.compress(m[:len(m) // 2])' 'lzma.compress(bytes(80 << 20), preset=0)' 'b""'; do
	packed "$broken"
	grep -q ' host+0x' out || fail "$broken: $(cat out)"
done
finish
