# SPDX-License-Identifier: BSD-3-Clause
# A program written for gperftools, linked with libcprof in its place, and one that has gperftools and is
# preloaded.
. "$srcdir/tests/lib/e2e.sh"

mkdir "$work/ours"
# An interval at which a block of 1 MiB is always sampled, and counts once.
CPUPROFILE_FREQUENCY=500 CPROF_HEAP_INTERVAL=16K ends_well bare linked ./tests/e2e/gperftools-host "$work/ours"
grep -qx 'as expected' "$work/linked.out" || fail "$(cat "$work/linked.out")"
check_quiet linked
cd "$work/ours" || exit 1
check_valid cpu.prof again.prof
check_stack cpu.prof 'kept_part[.;]'
check_no_stack cpu.prof 'left_out_part'
if ! grep -q 'no heap profile' "$work/linked.out"; then
	check_valid_as heap heap.0001.heap heap.heap
	check_valid both.prof
	check_stack heap.0001.heap 'leak[.;]'
	check_stack heap.heap 'leak[.;]'
	if command -v go >/dev/null; then
		go tool pprof -top -sample_index=inuse_space "$builddir/tests/e2e/.libs/gperftools-host" heap.text >text.top 2>text.err ||
			go tool pprof -top -sample_index=inuse_space heap.text >text.top 2>text.err
		grep -qE '^ *64MB.* leak' text.top || fail "GetHeapProfile's text: $(cat text.top text.err)"
	fi
fi
[ -e other.prof ] && fail "a second ProfilerStart wrote a file"

# gperftools itself, where it is installed: preloaded, its functions stay its own.
library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libprofiler\.so\.0 .*=> //p' | head -n 1)
if [ -n "$library" ]; then
	cd "$builddir" || exit 1
	cat >"$work/theirs.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int ProfilerStart(const char *name);
void ProfilerStop(void);
int main(int argc, char **argv)
{
	int started = argc > 1 && ProfilerStart(argv[1]);
	for (volatile long i = 0; i < 300000000; i++)
		;
	ProfilerStop();
	return !started;
}
END
	$CC -o "$work/theirs" "$work/theirs.c" "$library" || fail "can't link with $library"
	env LD_PRELOAD="$CP_LIBRARY" "$work/theirs" "$work/theirs.prof" >"$work/theirs.out" 2>&1 || fail "gperftools' ProfilerStart failed"
	# gperftools writes an uncompressed format of its own; libcprof's files begin as gzip does.
	[ -s "$work/theirs.prof" ] || fail "gperftools wrote nothing"
	[ "$(head -c 2 "$work/theirs.prof" | od -An -tx1 | tr -d ' ')" != 1f8b ] ||
		fail "a program with gperftools got our profile in its file"
fi
finish
