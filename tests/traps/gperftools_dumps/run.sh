# SPDX-License-Identifier: BSD-3-Clause
# Trap: a program written for gperftools starts its heap profile again, with the same prefix: the dumps
# of the first must stay. Dumps by amount are written each, in whatever hurry the program is, with
# gperftools' amounts where none are set.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_INTERVAL=1
limit=$bounded

host() { # way
	mkdir "$work/$1"
	ends_well bare "$1" ./tests/traps/hosts/gperftools-contract "$1" "$work/$1"
	[ ! -s "$work/$1.out" ] || fail "$1: $(cat "$work/$1.out")"
	check_quiet "$1"
}

files() { # way
	(cd "$work/$1" && echo *)
}

# All that was allocated until the dump, in MiB.
allocated() { # file
	heap_values "$1" . | awk '{ print int($2 / 1048576 + 0.5) }'
}

host dumps
[ "$(cd "$work/dumps" && echo *.000?.heap)" = "one.0001.heap one.0002.heap one.0003.heap other.0004.heap" ] ||
	fail "dumps: $(files dumps)"
cd "$work/dumps" || exit 1
check_heap ./*.000[123].heap
[ "$(allocated one.0001.heap)" = 1 ] || fail "the first dump has $(allocated one.0001.heap) MiB, not 1"
[ "$(allocated one.0003.heap)" = 4 ] || fail "the third dump has $(allocated one.0003.heap) MiB, not 4"
cd "$builddir" || exit 1

# Each MiB is over the next step: a dump each, and each has the state of its time.
HEAP_PROFILE_ALLOCATION_INTERVAL=1M host steps
cd "$work/steps" || exit 1
count=0
for file in steps.00??.heap; do
	count=$((count + 1))
	check_heap "$file"
	[ "$(allocated "$file")" = $count ] || [ "$(allocated "$file")" = $((count + 1)) ] ||
		fail "dump $count has $(allocated "$file") MiB"
done
[ $count -ge 39 ] && [ $count -le 41 ] || fail "$count dumps of 40 steps"
cd "$builddir" || exit 1

host defaults
[ "$(cd "$work/defaults" && echo *.000?.heap)" = "defaults.0001.heap defaults.0002.heap" ] ||
	fail "250 MiB in use: $(files defaults)"
export HEAP_PROFILE_INUSE_INTERVAL=0
rm -r "$work/defaults"
host defaults
[ ! -e "$work/defaults/defaults.0001.heap" ] || fail "a dump that was turned off"
finish
