# SPDX-License-Identifier: BSD-3-Clause
# Without /proc, as in a chroot: functions have names, of the program and of the libraries that were there at the start,
# and one comment says what has none.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
unshare --user --map-root-user --mount mount -t tmpfs none /proc 2>/dev/null || skip "no mount namespaces here"
unshared=(unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh)
hidden() { # name command...
	name=$1
	shift
	profiled "$name" "${unshared[@]}" "$@"
}
cat >"$work/host.c" <<'END'
#include <stdlib.h>
#include <time.h>
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sorts(void)
{
	static int numbers[1 << 16];
	while (clock() < CLOCKS_PER_SEC) {
		for (int i = 0; i < 1 << 16; i++)
			numbers[i] = rand();
		qsort(numbers, 1 << 16, sizeof(int), compare);
	}
}
int main(void)
{
	sorts();
	return 5;
}
END
$CC -O1 -g -rdynamic -o "$work/host" "$work/host.c" || fail "the host doesn't compile"
cd "$work"
# By its path, and by one that is relative to the working directory.
for how in "$work/host" ./host; do
	export CPROF_ONLY='*host'
	hidden app "$how"
	check_ended_valid app 5
	check_stack "$work/app.pb" '(qsort|msort)[^;]*;.*sorts;main'
	check_top "$work/app.pb" 8 compare
	check_comment "$work/app.pb" 'note: /proc is not mounted'
done
# The tool finds its library.
bare run "${unshared[@]}" "$builddir/cprof" run -o run.pb ./host
check_status run 5
grep -q '^cprof: cpu profile: ' run.err || fail "cprof run: $(cat run.err)"
# With /proc there is no such comment.
profiled with "$work/host"
"$pprof_check" --comments "$work/with.pb" | grep -q 'proc is not' && fail "/proc is said not to be there"
finish
