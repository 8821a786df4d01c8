# SPDX-License-Identifier: BSD-3-Clause
# Programs that are built for musl: cprof run takes the library for musl, in each mode, with the numbers that the program
# knows. In a root without glibc, as Alpine's, the library is preloaded by hand, and the file is complete by itself.
. "$srcdir/tests/lib/lock.sh"
. "$srcdir/tests/lib/heap.sh"
. "$srcdir/tests/lib/io.sh"
need musl-gcc
"${MAKE:-make}" -s musl >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; fail "the library for musl is not built"; finish; }
library=$builddir/musl/.libs/libcprof.so
# Without the table the collector makes one at each program's start, for 45 ms.
readelf -lW "$library" | grep -q GNU_EH_FRAME || fail "the library has no table of its unwind information"
musl-gcc -std=gnu11 -O2 -g -o "$work/host" "$srcdir/tests/e2e/musl-host.c" || fail "the host doesn't compile"

# The tool as musl's distributions build it: nothing that a file says can drive the terminal.
cat >"$work/guarded.c" <<'END'
#include "core/core.h"
int main(void)
{
	ct_out_guard();
	printf("%s", "a\033[2J");
	puts("b\033c");
	putchar('\a');
	fprintf(stderr, "c\033c\n");
	return 0;
}
END
(
	cd "$srcdir" && musl-gcc -std=gnu11 -D_GNU_SOURCE -iquote tools -iquote lib -include core/out_musl.h -idirafter "$builddir/musl/sysroot/include" \
		-o "$work/guarded" "$work/guarded.c" tools/core/out_guard.c tools/core/memory.c lib/base/text.c
) || fail "the tool's guard doesn't compile"
[ "$("$work/guarded" 2>&1)" = "$(printf 'c?c\na?[2Jb?c\n?')" ] || fail "the guard lets control characters through: $("$work/guarded" 2>&1 | od -c)"
cd "$work"

# Run the host in a mode: its output and status are as without the profiler, and nothing is said.
run() { # mode option...
	mode=$1
	shift
	bare "bare-$mode" ./host "$mode"
	bare "$mode" timeout -s KILL 60 "$cprof" run --top=0 "$@" -o "$mode.pb" -- ./host "$mode"
	check_ended "$mode" 0 "bare-$mode"
	! grep 'no .*profile' "$mode.err" || harm "$mode: no profile"
	check_valid_as "$mode" "$mode.pb"
	check_comment "$mode.pb" '^stacks: 0 truncated at the depth limit, [0-9] incomplete'
}

run cpu --cpu
check_stack cpu.pb 'burn;work;main;'
check_stack cpu.pb 'burn;burner;'
"$cprof" top -lines cpu.pb 2>&1 | grep -q 'musl-host\.c:' || fail "cpu: no lines"
ls cpu.pb.* >/dev/null 2>&1 || ls cpu.[0-9]*.pb >/dev/null 2>&1 || fail "cpu: the child has no file: $(ls)"

# memcpy and memset are assembly, whose symbols have no size; libc's hidden functions are after memset, and every wait
# is in one of them.
cat >copies.c <<'END'
#include <string.h>
#include <unistd.h>
static char to[1 << 20], from[1 << 20];
__attribute__((noinline)) static void copies(void)
{
	for (volatile int i = 0; i < 4000; i++)
		memcpy(to, from, sizeof(to));
}
__attribute__((noinline)) static void clears(void)
{
	for (volatile int i = 0; i < 4000; i++)
		memset(to, i, sizeof(to));
}
int main(void)
{
	copies();
	clears();
	usleep(300000);
	return 0;
}
END
musl-gcc -O2 -g -fno-builtin -o copies copies.c || fail "copies doesn't compile"
bare copies env LD_PRELOAD="$library" WALLPROFILE=copies.pb ./copies
check_ended copies 0
check_stack copies.pb 'memcpy;copies;main;'
check_stack copies.pb 'memset;clears;main;'
check_stack copies.pb 'wait=sleep.*usleep;main;'
! "$pprof_check" --raw copies.pb | grep -q 'memset.*usleep' || fail "a wait is named memset"

bare wall env LD_PRELOAD="$library" WALLPROFILE=wall.pb ./host wall
check_ended wall 0
check_valid_as wall wall.pb
check_stack wall.pb 'wait=child.*waitpid;work;main;'
check_stack wall.pb 'burn;burner;'

# Exact; musl's calloc calls malloc, and its posix_memalign aligned_alloc: each block counts once.
run heap --heap=1
values_are heap.pb '(^|;)by_malloc;' "100 10000 0 0"
values_are heap.pb '(^|;)by_calloc;' "200 60000 200 60000"
values_are heap.pb '(^|;)by_large_calloc;' "3 3145728 3 3145728"
values_are heap.pb '(^|;)by_posix_memalign;' "50 10000 50 10000"
values_are heap.pb '(^|;)by_memalign;' "25 5000 25 5000"
values_are heap.pb '(^|;)by_aligned_alloc;' "12 3072 12 3072"
values_are heap.pb '(^|;)by_valloc;' "6 6000 6 6000"
values_are heap.pb '(^|;)by_realloc;' "14 5390 7 4900"
values_are heap.pb '(^|;)by_strdup;' "9 54 9 54"

# Each wait of a lock is one nap long; the holders' file has those who made others wait.
run lock --lock
waits() { # file regex what
	got=$(lock_ns "$1" "$2")
	[ "$got" -ge 50000000 ] || fail "$1: $3 has $got ns of delay: $("$pprof_check" --raw "$1" | cut -c 1-160)"
}
for what in plain checked rwlock; do
	waits lock.pb ";wants_$what;" "wants_$what"
	waits lock.holders.pb ";holds_$what;" "holds_$what"
done
waits lock.pb ';writes_rwlock;' writes_rwlock
waits lock.holders.pb ';reads_rwlock;' reads_rwlock
waits lock.pb 'pthread_cond_wait;waits_for_cond;' waits_for_cond
waits lock.pb 'sem_wait;' waits_for_sem
waits lock.pb 'pthread_barrier_wait;other_thread;' comes_early
waits lock.wakers.pb 'sem_post;posts_sem;.*\[woken by\]' posts_sem
waits lock.wakers.pb 'pthread_cond_signal;signals_cond;.*\[woken by\]' signals_cond

# Also by the names with 64.
run io --io
check_io_counts io.pb "write file" 40 40000 0
check_io_counts io.pb "read file" 30 30000 0
check_io_counts io.pb "open path" 1 0 0
check_io_counts io.pb "sync file" 1 0 0
check_io_rows_sum io.pb

# A root with a musl of 1.2.4 or later, where the loader alone knows the names with 64: here nobody knows them but
# libcprof. There is no /proc, either.
loader=/lib/ld-musl-$(uname -m).so.1
mkdir -p root/lib root/tmp
sed 's/open64\x00/open_4\x00/g; s/pread64\x00/pread_4\x00/g' "$loader" >"root$loader"
chmod 755 "root$loader"
cp host "$library" root/
inside() { # name preload variable mode
	bare "$1" unshare --user --map-root-user perl -e 'my ($root, $preload, $set) = splice @ARGV, 0, 3;
		chroot $root or die "chroot: $!"; chdir "/tmp";
		%ENV = (LD_PRELOAD => $preload, CPROF_HEAP_INTERVAL => 1, $set => "/tmp/out.pb"); exec @ARGV;' \
		"$work/root" "$2" "$3" /host "$4"
}
inside without "" CPUPROFILE io
if [ "$status" = 127 ]; then
	for mode in cpu wall heap lock io; do
		inside "inside-$mode" /libcprof.so "${mode^^}PROFILE" "$mode"
		check_status "inside-$mode" 0
		check_valid_as "$mode" root/tmp/out.pb
		mv root/tmp/out.pb "inside-$mode.pb"
	done
	check_stack inside-cpu.pb 'burn;work;main;'
	values_are inside-heap.pb '(^|;)by_calloc;' "200 60000 200 60000"
	check_io_counts inside-io.pb "read file" 30 30000 0
	check_io_counts inside-io.pb "open path" 1 0 0
else
	echo "no root without glibc: $(head -n 1 without.err)"
fi
finish
