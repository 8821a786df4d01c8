# SPDX-License-Identifier: BSD-3-Clause
# A library that the program needs works before main, in its constructor, which the loader runs before the profiler's
# unless the profiler's is made the first. That work is in every profile, and an exact heap profile has its
# allocations and no others.
. "$srcdir/tests/lib/e2e.sh"
cat >"$work/early.c" <<'END_OF_LIBRARY'
#include "host.h"
void *early_kept[100];
__attribute__((noinline)) void early_allocates(void)
{
	for (int i = 0; i < 100; i++)
		early_kept[i] = malloc(1000);
}
__attribute__((noinline)) void early_burns(void)
{
	burn_and_tick(0.33);
	__asm__ volatile("");
}
__attribute__((noinline)) void early_waits(void)
{
	struct timespec limit;
	sem_t none;

	sem_init(&none, 0, 0);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	sem_timedwait(&none, &limit);
}
__attribute__((constructor)) static void begin(void)
{
	early_allocates();
	early_burns();
	early_waits();
}
int early_value(void)
{
	return 3;
}
END_OF_LIBRARY
cat >"$work/main.c" <<'END_OF_PROGRAM'
int early_value(void);
int main(void)
{
	return early_value();
}
END_OF_PROGRAM
$CC -O1 -D_GNU_SOURCE -I"$srcdir/tests/lib" -fPIC -shared -o "$work/libearly.so" "$work/early.c" -pthread || fail "not built"
$CC -o "$work/plain" "$work/main.c" -L"$work" -learly -Wl,-rpath,"$work" || fail "not built"
$CC -o "$work/linked" "$work/main.c" -Wl,--no-as-needed -L"$work" -learly -L"${CP_LIBRARY%/*}" -lcprof \
	-Wl,-rpath,"$work:${CP_LIBRARY%/*}" || fail "not built"

check_all() { # name
	check_ended "$1" 3
	check_stack "$work/$1.pb" 'early_burns;begin'
	check_stack "$work/$1.wall.pb" '(early_burns|early_waits);begin'
	check_stack "$work/$1.lock.pb" 'sem_timedwait;early_waits;begin'
	check_stack "$work/$1.heap.pb" '^100,100000,100,100000	.*early_allocates;begin'
	check_comment "$work/$1.heap.pb" '^allocations: 100 objects, 100000 bytes; in use 100 objects'
	check_valid_as heap "$work/$1.heap.pb"
}

export CPUPROFILE_FREQUENCY=1000 CPROF_HEAP_INTERVAL=1
for name in plain linked alias; do
	program=("$work/$name")
	# Known by the name that it was given.
	[ $name != alias ] || program=(bash -c 'exec -a alias "$0"' "$work/plain")
	preload=$CP_LIBRARY
	[ $name != linked ] || preload=
	bare $name env WALLPROFILE="$work/$name.wall.pb" HEAPPROFILE="$work/$name.heap.pb" CPROF_ONLY=$name \
		LOCKPROFILE="$work/$name.lock.pb" CPUPROFILE="$work/$name.pb" LD_PRELOAD="$preload" "${program[@]}"
	check_all $name
done
finish
