# The examples, built and run as their comments say, against an installed library.
. "$srcdir/tests/lib/e2e.sh"
need pkg-config

prefix=$work/prefix
make -s install prefix="$prefix" >"$work/install.log" 2>&1 || fail "make install: $(tail -n 3 "$work/install.log")"
library=$(find "$prefix" -name libcprof.so | head -n 1)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name libcprof.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
examples=$(cd "$srcdir/examples" && pwd)
cd "$work" || exit 1

# shellcheck disable=SC2046  # flags are words
$CC -O2 -g "$examples/01-linked.c" -o 01-linked $(pkg-config --define-variable=prefix="$prefix" --cflags --libs libcprof) || fail "01 does not build"
./01-linked >01.out || fail "01-linked: exit status $?"
grep -q 'samples taken: yes, lost: 0' 01.out || fail "01-linked says: $(cat 01.out)"
check_valid 01-linked.pb
check_top 01-linked.pb 1 sum_of_squares
"$pprof_check" --raw 01-linked.pb | grep -q 'phase=squares' || fail "01-linked.pb has no label"
"$pprof_check" --raw 01-linked.pb | grep -q prepare && fail "01-linked.pb holds what was not to be profiled"

$CC -O2 -g -pthread "$examples/02-preloaded.c" -o 02-preloaded || fail "02 does not build"
LD_PRELOAD=libcprof.so CPUPROFILE=02-preloaded.pb ./02-preloaded >02.out || fail "02-preloaded: exit status $?"
grep -q '148933 primes' 02.out || fail "02-preloaded says: $(cat 02.out)"
check_valid 02-preloaded.pb
check_top 02-preloaded.pb 1 count_primes
check_top 02-preloaded.pb 2 count_bits
"$pprof_check" --raw 02-preloaded.pb | grep -q 'thread=primes' || fail "02: the thread's name is missing"
finish
