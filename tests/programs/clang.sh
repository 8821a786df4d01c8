# SPDX-License-Identifier: BSD-3-Clause
about="clang and clang++: one process (LLVM, 110 MB of it) and one a job, errors, link, run"
packages="clang binutils libstdc++-12-dev"
needs="clang clang++"
interval=64
# LLVM has a handler for SIGUSR2, and a line would say so.
more=(CPROF_SIGNAL=none)

. "$here/compilers.sh"

load() {
	cp "$shared"/*.c "$shared"/*.cc .
	run clang -O2 -c a.c -o a.o && md5sum <a.o
	run clang -fno-integrated-cc1 -O3 -c a.c -o again.o && md5sum <again.o
	run clang++ -O2 -g b.cc -o b && ./b
	run clang -fsyntax-only -ferror-limit=0 c.c
	echo "status $?"
	run clang -S -emit-llvm -O1 a.c -o - | md5sum
	run clang --analyze -c a.c -o /dev/null
}

verify() {
	has cpu "clang::|llvm::"
	has heap "clang::|llvm::"
}
