#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: names.sh LIBRARY MAP SOURCE DIRECTORY   (CC, NM: the compiler and nm; CPPFLAGS)
# Writes what libcprof.a is made of besides its code, into DIRECTORY:
#   names.s    the table of names that lib/unwind/loaded_static.c reads
#   redefine   for objcopy: each interposed function NAME becomes __wrap_NAME
#   keep       for objcopy: the names that a program sees
#   options    for the linker: each reference to NAME leads to __wrap_NAME
# LIBRARY is libcprof.so, whose exports are the interposed functions; MAP is libcprof.map, the public ones. Of the
# interposed functions, those stay that the static libc has; operators of C++ and allocators of other libraries call
# malloc, which is caught.
set -euo pipefail
export LC_ALL=C
library=$1 map=$2 source=$3 to=$4
# In a static program these need libc's shared libraries: the linker would warn in every program. __ppoll_chk calls ppoll.
unwanted='initgroups|getaddrinfo|dlclose|dlopen|__ppoll_chk'
# Symbols that loaded_static.c is asked for, which a program may have or not.
others='__asan_init __libc_malloc __msan_init __tsan_init _dl_find_object deflate deflateInit2_ gnu_get_libc_version'
# An allocator of the program's own may be without these; libc's malloc, in whose object they are, would come with them.
not_needed='aligned_alloc|malloc_usable_size|memalign|posix_memalign|pvalloc|valloc'
# The linker says this name if it finds libcprof.so, as it does without -static.
only=the_options_of_pkg_config_static_for_libcprof_are_for_programs_linked_with_static
mkdir -p "$to"

archives() { # libc's, as the linker finds them
	echo 'int main(void) { return 0; }' >"$to/main.c"
	$CC -static -pthread -Wl,-t -o "$to/main" "$to/main.c" | grep -oE '/[^()]*/lib(c|pthread)\.a' | sort -u
}

wanted() { # the originals that the library looks up: see host/real.h
	$CC -E -P -D_GNU_SOURCE $CPPFLAGS -iquote "$source/lib" -I"$source/include" -x c - <<-'END' |
		#include "host/real.h"
		#include "modes/lock/lock.h"
		#include "modes/io/io.h"
		#define SYMBOL(since, type, name, parameters, symbol, oldest) wanted symbol
		#define NAME(since, type, name, ...) wanted #name
		CP_REAL_FUNCTIONS(SYMBOL) CP_LOCK_REAL_FUNCTIONS(NAME) CP_IO_REAL_FUNCTIONS(NAME)
	END
		grep -o 'wanted "[^"]*"' | cut -d '"' -f 2
}

own() { # the function that libcprof has for NAME; glibc has two versions of pthread_kill
	if [ "$1" = pthread_kill ]; then echo pthread_kill_of_2_34; else echo "$1"; fi
}

row() { # name own original
	printf '\t.quad 1f, %s, %s\n\t.section .rodata.str,"aMS",%%progbits,1\n1:\t.string "%s"\n\t.previous\n' "$2" "$3" "$1"
}

# shellcheck disable=SC2046
$NM -g --defined-only $(archives) 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$to/libc"
{ $NM -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | grep -v @; echo pthread_kill; } | sort -u |
	comm -12 - "$to/libc" | grep -vxE "$unwanted" >"$to/hooked"
wanted | sort -u | comm -12 - "$to/libc" | grep -vxE "$unwanted" | comm -23 - "$to/hooked" >"$to/plain"

{
	printf '\t.section .data.rel.ro.cp_static,"aw",%%progbits\n\t.balign 8\n'
	printf '\t.globl cp_static_names, cp_static_names_end\n\t.hidden cp_static_names, cp_static_names_end\n'
	for name in $others; do printf '\t.weak %s\n' "$name"; done
	grep -xE "$not_needed" "$to/hooked" | sed 's/^/\t.weak __real_/'
	# Not in the table: the linker says this name if it wasn't given the options.
	printf '\t.quad libcprof_is_linked_with_the_options_of_pkg_config_static\n'
	printf '\t.globl %s\n%s = 1\n' "$only" "$only"
	echo 'cp_static_names:'
	{
		while read -r name; do echo "$name $(own "$name") __real_$name"; done <"$to/hooked"
		for name in $others $(<"$to/plain"); do echo "$name $name $name"; done
		# libc's, if the program has one of its own.
		echo clock_gettime clock_gettime __clock_gettime
	} | sort -k 1,1 | while read -r name own original; do row "$name" "$own" "$original"; done
	printf 'cp_static_names_end:\n\t.section .note.GNU-stack,"",%%progbits\n'
} >"$to/names.s"

while read -r name; do echo "$(own "$name") __wrap_$name"; done <"$to/hooked" >"$to/redefine"
{
	echo "$only"
	sed 's/^/__wrap_/' "$to/hooked"
	sed -n 's/^\t\([A-Za-z_]*\);$/\1/p' "$map" | grep -v '^libcprof_attach$'
} >"$to/keep"
{
	echo '--undefined=cprof_version --eh-frame-hdr'
	echo "--defsym=libcprof_is_linked_with_the_options_of_pkg_config_static=$only"
	# lld takes a function out of libc only if it is asked for by its own name, and not weakly, as Rust does.
	sed -E "s/.*/--wrap=& --undefined=&/; s/ --undefined=($not_needed)$//" "$to/hooked"
} >"$to/options"
