# SPDX-License-Identifier: BSD-3-Clause
# make backends OTELCOL=... PROFCHECK=... PYROSCOPE=... PARCA=...: profiles of all modes go to real receivers, which are started on
# loopback with what they store in a temporary folder, and are asked back. A receiver whose binary is not named is
# skipped with a line. docs/backends.md says how to get them.
. "$srcdir/tests/lib/e2e.sh"
need python3 "$cprof"
srcdir=$(cd "$srcdir" && pwd)

${CC:-cc} -O1 -g -pthread "$srcdir/tests/backends/backends-host.c" -o "$work/backends-host" || exit 1
${CC:-cc} -O1 -g -pthread -I"$srcdir/include" "$srcdir/tests/e2e/serve-host.c" -o "$work/serve-host" || exit 1
env LD_PRELOAD="$CP_LIBRARY" CPROF_SYMBOLIZE=full CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=200 \
	WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 HEAPPROFILE="$work/heap.pb" CPROF_HEAP_INTERVAL=8K \
	LOCKPROFILE="$work/lock.pb" CPROF_LOCK_THRESHOLD=0 IOPROFILE="$work/io.pprof" \
	"$work/backends-host" <<<go >/dev/null || fail "backends-host: $?"
PYTHONDONTWRITEBYTECODE=1 timeout 300 python3 "$srcdir/tests/backends/backends.py" "$cprof" "$work" || failures=1
finish
