# SPDX-License-Identifier: BSD-3-Clause
# Trap: a child that forks and ends at once pays for the profiler. It read the list of mappings without a sample to name;
# the descriptor for that widened a table that the child shares with the collector, and the kernel made the child wait
# 10 ms; tables of the lock mode were cleared page by page; variables of a few bytes lay between large tables, each on a
# page that the child copied; each child read the symbols of the same files again. Calls and page faults are counted here,
# not time.
. "$srcdir/tests/lib/e2e.sh"
need strace
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"

cat >"$work/host.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
int main(int argc, char **argv)
{
	struct rusage u;
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) {
			if (argc > 1)
				block = malloc(9000000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	getrusage(RUSAGE_CHILDREN, &u);
	printf("%ld\n", u.ru_minflt / 20);
	return 0;
}
END
# Without a build id its file is not read for one by each child, either.
$CC -O1 -Wl,--build-id=none -o "$work/host" "$work/host.c" || fail "not built"
bare bare "$work/host"
limit_of_faults=$(($(<"$work/bare.out") + 35))

# The system calls of the first child that had no sample, in order: a tick may hit one.
calls_of_child() { # name
	local child
	for child in $(sed -n 's/.* \(clone(child_stack=NULL.*\|fork()\) *= \([0-9]*\)$/\2/p; s/.*<\.\.\. clone resumed>, child_tidptr.*= \([0-9]*\)$/\1/p' \
		"$work/$1.trace"); do
		grep -q "^$child .*--- SIGPROF" "$work/$1.trace" || break
	done
	sed -n "s/^$child *//p" "$work/$1.trace"
}

for mode in CPU WALL HEAP LOCK IO; do
	file=${mode,,}
	ends_well bare "$file" env "${mode}PROFILE=$work/$file.pb" LD_PRELOAD="$CP_LIBRARY" "$work/host"
	faults=$(<"$work/$file.out")
	[ "$faults" -le "$limit_of_faults" ] || fail "$mode: $faults page faults a child, bare $(<"$work/bare.out")"
	ends_well bare "$file-traced" strace -f -o "$work/$file.trace" -E "${mode}PROFILE=$work/$file.pb" -E LD_PRELOAD="$CP_LIBRARY" "$work/host"
	calls_of_child "$file" >"$work/$file.calls"
	grep -q exit_group "$work/$file.calls" || fail "$mode: the trace lacks the child"
	! grep -q maps "$work/$file.calls" || fail "$mode: a child without samples reads its mappings"
done

# A child with a sample: the table is wide before the collector's task shares it.
ends_well bare wide strace -f -o "$work/wide.trace" -E HEAPPROFILE="$work/wide.pb" -E LD_PRELOAD="$CP_LIBRARY" "$work/host" allocate
calls_of_child wide | grep -o 'F_DUPFD_CLOEXEC\|CLONE_FILES\|/maps"' | head -n 2 | tr '\n' ' ' >"$work/order"
[ "$(<"$work/order")" = "F_DUPFD_CLOEXEC CLONE_FILES " ] || fail "the table is widened late: $(<"$work/order")"
# Each of the 20 children has a sample in the same places. All are named once, by the first child; a tick may add a place.
named=$(grep -c 'openat(.*"'"$work/host"'"' "$work/wide.trace")
[ "$named" -ge 1 ] && [ "$named" -le 10 ] || fail "the host's symbols are read $named times"
finish
