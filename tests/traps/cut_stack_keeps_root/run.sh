# SPDX-License-Identifier: BSD-3-Clause
# Trap: a stack that is cut at the depth limit loses main: it looks as if its first frame were a thread's
# start. Its root says that it was cut, cut stacks are counted, and the limit can be set high enough.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000

frames() { # profile: of its deepest stack
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F'\t' '{ n = gsub(/;/, "", $3) + 1; if (n > most) most = n } END { print most + 0 }'
}

for unwinder in dwarf libunwind; do
	# There, libunwind ends nearly all stacks early.
	[ "$unwinder-$(uname -m)" != libunwind-aarch64 ] || continue
	export CPROF_UNWIND=$unwinder
	for limit_and_depth in "512 2000" "100 2000" "2000 3000"; do
		read -r most depth <<<"$limit_and_depth"
		setting=CPROF_MAX_DEPTH=$most
		[ "$most" = 512 ] && setting=CPROF_VERBOSE=0
		name=$unwinder-$most
		ends_well profiled "$name" env "$setting" ./tests/traps/hosts/cut-stacks "$depth"
		check_valid "$work/$name.pb"
		check_stack "$work/$name.pb" 'burn_deep;burn_deep;burn_deep;\[truncated\]$'
		check_no_stack "$work/$name.pb" ';burn_deep$'
		check_comment "$work/$name.pb" '^stacks: [1-9][0-9]* truncated at the depth limit'
		[ "$(frames "$work/$name.pb")" = $((most + 1)) ] || fail "$name: $(frames "$work/$name.pb") frames, not $most and the mark"
	done
	# The most that can be asked for, and whole stacks again.
	runs_well profiled "$unwinder-whole" env CPROF_MAX_DEPTH=4096 ./tests/traps/hosts/cut-stacks 3000
	# musl's function that calls main, and is the first, has no name.
	check_stack "$work/$unwinder-whole.pb" 'burn_deep;burn_deep;main;(.*_start|libc\.so\+0x[^;]*)$'
	check_no_stack "$work/$unwinder-whole.pb" 'truncated'
	check_comment "$work/$unwinder-whole.pb" '^stacks: 0 truncated at the depth limit'
	[ "$(frames "$work/$unwinder-whole.pb")" -gt 3000 ] || fail "$unwinder-whole: $(frames "$work/$unwinder-whole.pb") frames"
done
finish
