# SPDX-License-Identifier: BSD-3-Clause
# Trees of processes inherit the environment: each writes a file of its own, none is overwritten, the
# first process's is at the name itself.
. "$srcdir/tests/lib/e2e.sh"
need make timeout
limit=$bounded
export CPUPROFILE_FREQUENCY=4000

# NAME.pb, and NAME.pb.PID for others, one a process, all valid.
check_tree() { # name least-files
	check_ended "$1" 0
	check_valid "$work/$1.pb" "$work/$1.pb".*
	got=$(find "$work" -name "$1.pb.*" | wc -l)
	[ "$got" -ge "$2" ] || fail "$1: $got files of children, less than $2: $(ls "$work")"
	find "$work" -name "$1.pb.*" | grep -vqE "/$1\.pb\.[0-9]+(\.[0-9]+)?$" && fail "$1: odd names in $(ls "$work")"
	find "$work" -name '*.tmp' | grep -q . && fail "$1: temporary files are left"
}

# A cached object takes no compiler.
export CCACHE_DISABLE=1
mkdir "$work/build"
{
	printf 'all: a.o b.o c.o\n\t@echo built\n'
	printf '%%.o: %%.c\n\t@%s -O2 -c -o $@ $<\n' "$CC"
} >"$work/build/Makefile"
for f in a b c; do
	{
		echo '#include <stdio.h>'
		for i in 1 2 3 4 5 6 7 8; do
			echo "int $f$i(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * $i ^ x; return s; }"
		done
	} >"$work/build/$f.c"
done
# clang has a handler for SIGUSR2, which would be said.
CPROF_SIGNAL=none profiled make make -s -C "$work/build" -j2
check_tree make 3
grep -q built "$work/make.out" || harm "make did not build: $(cat "$work/make.err")"

cat >"$work/script" <<'END'
spin() { i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); done; }
spin 20000
(spin 20000; echo subshell)
spin 20000 | { spin 20000; cat; }
for n in 1 2 3; do echo $n; done | sort -r | tail -n 1
x=$(spin 20000; echo substituted)
echo "$x"
spin 20000 &
wait
END
bare script-bare bash "$work/script"
profiled script bash "$work/script"
check_same_output script script-bare
check_tree script 4
finish
