# SPDX-License-Identifier: BSD-3-Clause
# fork without exec: the child has its own file, only when it has samples, and only its own samples;
# the parent's file is untouched and complete.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
limit=$bounded
export CPUPROFILE_FREQUENCY=1000

files() { # name
	find "$work" -name "$1.pb.*" | wc -l
}

run() { # kind files-of-children
	same_as_bare cpu "$1" ./tests/traps/hosts/forks "$1"
	check_valid "$work/$1.pb"
	check_stack "$work/$1.pb" parent_work
	check_no_stack "$work/$1.pb" child
	[ "$(files "$1")" = "$2" ] || fail "$1: children left $(files "$1") files, not $2: $(ls "$work")"
	for file in "$work/$1.pb."*; do
		[ -e "$file" ] || continue
		check_valid "$file"
		check_no_stack "$file" parent_work
		check_stack "$file" child
	done
}

# SIGUSR2 without us would end the child.
unprofiled_dump() {
	ends_well profiled dump ./tests/traps/hosts/forks dump
	check_valid "$work/dump.pb" "$work/dump.pb."* "$work/dump.0001.pb."*
	check_stack "$(echo "$work/dump.0001.pb."*)" child_work
	check_no_stack "$(echo "$work/dump.0001.pb."*)" parent_work
}

# Also what the parent has collected already is not its child's.
unprofiled_drain() {
	ends_well profiled drained ./tests/traps/hosts/forks drained "$work/drained.0001.pb"
	check_valid "$work/drained.pb" "$work/drained.pb."*
	check_stack "$(echo "$work/drained.pb."*)" child_work
	check_no_stack "$(echo "$work/drained.pb."*)" parent_work
}

run once 1
# So rarely sampled that not even fork itself is, but for one time in hundreds.
CPUPROFILE_FREQUENCY=1 ends_well profiled idle ./tests/traps/hosts/forks idle
check_valid "$work/idle.pb"
for file in "$work/idle.pb."*; do
	[ -e "$file" ] || continue
	check_valid "$file"
	"$pprof_check" --raw "$file" | grep -q . || fail "a child without samples left a file: $(ls "$work")"
done
run grandchild 2
grandchild=$(grep -l . "$work/grandchild.pb."* | while read -r f; do
	"$pprof_check" --raw "$f" | grep -q 'grandchild_work' && echo "$f"
done)
[ "$(echo "$grandchild" | wc -w)" = 1 ] || fail "grandchild's work is in: $grandchild"
for file in $grandchild; do
	check_no_stack "$file" '[^d]child_work|parent_work'
done
# Without a collector the child's handler empties the buffer: nothing is lost.
run deep 1
check_comment "$(echo "$work/deep.pb."*)" 'lost expiries: 0 ring full'
check_stack "$(echo "$work/deep.pb."*)" 'child_descends;child_descends'
run crash 1
run thread 1
check_stack "$(echo "$work/thread.pb."*)" child_thread_work
unprofiled_dump
unprofiled_drain
finish
