# SPDX-License-Identifier: BSD-3-Clause
# Profiles for compilers and linkers (cprof convert -to=llvm, gcc, bolt, order): each reader takes them, and they say what is true.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" gcc python3 readelf
cd "$work" || exit 1

# Nearly every instruction of hot's loop is mix's: on which of two neighbours a sample falls is the processor's choice.
cat >app.c <<'END'
#include <stdio.h>
unsigned rounds = 4;

static unsigned mix(unsigned x, unsigned times)
{
	for (unsigned i = 0; i < times; i++) x = (x ^ x >> 15) * 1103515245u + 12345u;
	return x;
}

__attribute__((noinline)) unsigned hot(unsigned n, unsigned h)
{
	for (unsigned i = 0; i < n; i++) {
		if (i % 1024)
			h ^= mix(h, rounds);
		else
			h += 7;
	}
	return h;
}

int main(void)
{
	unsigned h = 0;
	for (int i = 0; i < 60; i++)
		h = hot(1000000, h);
	printf("%u\n", h);
	return 0;
}
END
record() { # compiler options...
	"$@" -O2 -g app.c -o app && CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000 CPUPROFILE=app.pb LD_PRELOAD=$CP_LIBRARY CPROF_SYMBOLIZE=names ./app >/dev/null ||
		fail "$*: no profile"
}
convert() { # format, options
	"$cprof" convert -to="$1" -o "app.$1" app.pb "${@:2}" 2>err || fail "-to=$1: $(cat err)"
}

# ---- GCC: it reads its own counts back into the blocks of hot, whose rare branch has fewer than the other ----
record gcc
convert gcc
gcc -O2 -g -fauto-profile=app.gcc app.c -o app-pgo -fdump-ipa-afdo 2>err || fail "gcc: $(cat err)"
[ ! -s err ] || fail "gcc warns: $(cat err)"
awk '/^unsigned int hot/ { on = 1 } /^}/ { on = 0 } on && match($0, /\[count: [0-9]+/) { n = substr($0, RSTART + 8, RLENGTH - 8) + 0; if (n > most) most = n }
	END { exit most < 100000 }' ./*.afdo || fail "gcc did not take the counts of hot"
[ "$(./app)" = "$(./app-pgo)" ] || fail "the new program does something else"

# ---- LLVM's text: hot has mix inlined, nearly all of the time, main none; line numbers count from the function's ----
convert llvm
python3 - <<'END' || fail "app.llvm: $(cat app.llvm)"
import re, sys
top, name, inlined = {}, None, {}
for line in open("app.llvm"):
    if line[0] != " ":
        name, total, head = line.rsplit(":", 2)
        top[name] = int(total)
        assert int(head) >= 1
    elif re.match(r" \d+(\.\d+)?: mix:", line):
        inlined[name] = inlined.get(name, 0) + int(line.rsplit(":", 1)[1])
        offset = int(re.match(r" (\d+)", line).group(1))
        assert offset == 4, line
assert top["hot"] > 20 * top.get("main", 0) and inlined["hot"] > 0, top
END
if command -v llvm-profdata >/dev/null; then
	llvm-profdata show --sample app.llvm >shown 2>err || fail "llvm-profdata: $(cat err)"
	grep -q '^Function: hot: ' shown && [ ! -s err ] || fail "llvm-profdata does not show hot: $(cat err)"
fi
if command -v clang >/dev/null; then
	record clang -fdebug-info-for-profiling
	convert llvm
	! grep -v '% of the time has no line' err || fail "with discriminators there is a message"
	grep -q '^ *[0-9]*\.[0-9]' app.llvm || fail "there are no discriminators: $(cat app.llvm)"
	clang -O2 -g -fdebug-info-for-profiling -fprofile-sample-use=app.llvm app.c -o app-pgo 2>err || fail "clang: $(cat err)"
	[ ! -s err ] || fail "clang warns: $(cat err)"
	[ "$(./app)" = "$(./app-pgo)" ] || fail "the new program does something else"
fi

# ---- the linker's order, and BOLT's samples: offsets within functions, local ones by number ----
convert order
grep -qE '^main hot [0-9]+$' app.order || fail "app.order: $(cat app.order)"
convert bolt
head -n 1 app.bolt | grep -q '^no_lbr cprof:$' || fail "app.bolt: $(head -n 3 app.bolt)"
size=$(readelf -sW app | awk '$8 == "hot" { print $3 }')
awk -v size="$size" '
	function number(text,    n, i) { for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1; return n }
	NR > 1 { all += $4; if ($1 == 1 && $2 == "hot" && number($3) < size) inside += $4 }
	END { exit !(all > 0 && inside > 0.9 * all) }' app.bolt || fail "app.bolt: hot has $size bytes: $(cat app.bolt)"

cat >same.c <<'END'
__attribute__((noinline)) static int same(int n)
{
	volatile int sum = N;
	while (n--) sum += n;
	return sum;
}
int NAME(int n) { return same(n); }
END
echo 'int one(int), two(int); int main(void) { return (one(100000000) + two(100000000)) & 0; }' >both.c
gcc -O1 -c -DN=1 -DNAME=one same.c -o one.o && gcc -O1 -c -DN=2 -DNAME=two same.c -o two.o && gcc -Wl,-q both.c one.o two.o -o same &&
	CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000 CPUPROFILE=same.pb LD_PRELOAD=$CP_LIBRARY CPROF_SYMBOLIZE=names ./same || fail "no profile of same"
"$cprof" convert -to=bolt -o same.bolt same.pb || fail "no file for BOLT"
[ "$(awk 'NR > 1 && $4 > 10000 { print $2 }' same.bolt | sort -u | xargs)" = "same/1 same/2" ] || fail "two functions of one name: $(cat same.bolt)"
if command -v llvm-bolt >/dev/null; then
	llvm-bolt same -o bolted -data=same.bolt -reorder-blocks=ext-tsp >shown 2>&1 || fail "llvm-bolt: $(cat shown)"
	grep -q '^BOLT-INFO: 2 out of .* have non-empty execution profile' shown || fail "llvm-bolt does not know the functions: $(cat shown)"
fi

# ---- refused: another build, no lines, no such module ----
refused() { # regex, options
	local status=0
	"$cprof" convert -to="$2" -o no app.pb "${@:3}" 2>err || status=$?
	[ $status = 2 ] && [ ! -e no ] && grep -qE "$1" err || fail "-to=$2: status $status: $(cat err)"
}
refused 'no module of the profile is called libno.so' llvm -binary=libno.so
cp app app.profiled
gcc -O1 -g app.c -o app
refused 'another build' llvm
refused 'another build' order
rm app
refused 'no such file' gcc
objcopy --strip-debug app.profiled app
refused 'no debug information.*-g' llvm
refused 'no debug information' gcc
convert order
grep -q '^main hot ' app.order || fail "symbols alone are not enough: $(cat app.order)"
finish
