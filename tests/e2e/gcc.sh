#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The compiler: a tree of processes by vfork and exec, each with a profile of its own.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/programs.sh"
need gcc

for i in $(seq 1 250); do
	echo "int f$i(int *a, int n) { int s = $i; for (int i = 0; i < n; i++) {
		if (a[i] % $((i + 1)) == 0) s += a[i] * $i; else s ^= a[n - i - 1] << $((i % 13));
		switch (s & 7) { case 0: s++; break; case 3: a[i] = s; break; case 5: s -= n; } }
		return s; }"
done >"$work/input.c"
both gcc gcc -O2 -c -o "$work/output.o" "$work/input.c"
check_status gcc 0
cp "$work/output.o" "$work/profiled.o"
gcc -O2 -c -o "$work/output.o" "$work/input.c"
cmp -s "$work/output.o" "$work/profiled.o" || fail "another object file"
[ -s "$work/gcc.pb" ] || fail "no profile of the driver"
check_valid "$work"/gcc.pb*

compiler=
for file in "$work"/gcc.pb.*; do
	"$pprof_check" --main "$(gcc -print-prog-name=cc1)" "$file" 2>/dev/null && compiler=$file
done
if [ -n "$compiler" ]; then
	check_profile "$compiler"
	check_module "$compiler" 50 '^cc1[+]0x|^[a-z]'
	check_stack "$compiler" ';__libc_start_main;.*$'
else
	fail "no profile of cc1 among $(ls "$work"/gcc.pb*)"
fi

# Errors pass, with their status.
echo 'int f( {' >"$work/broken.c"
both broken gcc -c -o /dev/null "$work/broken.c"
check_status broken 1
finish
