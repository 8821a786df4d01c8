# SPDX-License-Identifier: BSD-3-Clause
# Trap: the vdso is in no file: a clock_gettime loop has nameless leaves, or none of its callers.
. "$srcdir/tests/lib/loader.sh"

cat >"$work/clock.c" <<'C'
#include <time.h>
__attribute__((noinline)) void ask(void)
{
	struct timespec t;
	for (int i = 0; i < 1000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}
int main(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
		ask();
}
C
$CC -O2 -o "$work/clock" "$work/clock.c"
# Only where the kernel's clock source lets the vdso answer by itself.
if command -v strace >/dev/null &&
	strace -f -e trace=clock_gettime "$work/clock" 2>&1 | grep -q CLOCK_MONOTONIC; then
	skip "the vdso makes system calls here"
fi
for unwinder in dwarf libunwind; do
	# libunwind 1.6 ends nearly all stacks early there.
	[ "$unwinder-$(uname -m)" != libunwind-aarch64 ] || continue
	CPROF_UNWIND=$unwinder profiles_well profiled "$unwinder" "$work/clock"
	check_stack "$work/$unwinder.pb" '	__(vdso|kernel)_clock_gettime;(clock_gettime;)?ask;main;'
	has_go && { mappings "$work/$unwinder.pb" | grep -q ' \[vdso\] ' || fail "no mapping [vdso]"; }
done
finish
