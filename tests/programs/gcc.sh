# SPDX-License-Identifier: BSD-3-Clause
about="gcc and g++: preprocess, compile at -O2 and -O3, assemble, link with lto, run the result"
packages="gcc g++ binutils"
needs="gcc g++"
interval=64

. "$here/compilers.sh"

load() {
	cp "$shared"/*.c "$shared"/*.cc .
	run gcc -O2 -c a.c -o a.o && md5sum <a.o
	run gcc -O3 -flto -fprofile-arcs -c a.c -o lto.o && run gcc -O2 -flto=2 --coverage lto.o -o lto && ./lto
	run g++ -O2 -g -fdebug-prefix-map="$PWD=." -pipe b.cc -o b && md5sum <b && ./b
	run gcc -E a.c | md5sum
	run gcc -c c.c
	echo "status $?"
	run gcc -save-temps -g3 -fdebug-prefix-map="$PWD=." -S a.c && md5sum <a.s
}

# cc1 and cc1plus are stripped, but for what plugins may call.
verify() {
	has cpu 'toplev::main|do_compile|compile_file|c_parse_file|execute_pass_list|_cpp_lex'
	has heap 'xmalloc|xcalloc|toplev::main|_start'
}
