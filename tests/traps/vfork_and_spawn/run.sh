# SPDX-License-Identifier: BSD-3-Clause
# vfork, posix_spawn, clone(CLONE_VM|CLONE_VFORK), system, popen: the child shares our memory until
# it is another program. Nothing is overwritten, the parent goes on being profiled, the
# program that was started writes NAME.PID.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in vfork:1 vfork-fails:0 spawn:1 spawnp:1 clone:1 system:1 popen:1 fork-exec:1 raw-fork:1; do
	files=${way#*:}
	way=${way%:*}
	same_as_bare cpu "$way" ./tests/traps/hosts/spawns "$way"
	check_valid "$work/$way.pb"
	check_stack "$work/$way.pb" 'parent_work;main'
	check_no_stack "$work/$way.pb" child_work
	# A shell between, or the child before its exec, may have a sample, and a file, too.
	holding=0
	for file in "$work/$way.pb."*; do
		[ -e "$file" ] || continue
		check_valid "$file"
		check_no_stack "$file" parent_work
		"$pprof_check" --raw "$file" | grep -q child_work && holding=$((holding + 1))
	done
	[ "$holding" = "$files" ] || fail "$way: $holding files with the child's work, not $files: $(ls "$work")"
done
finish
