#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: musl.sh SOURCE DIRECTORY [ARGUMENT...]
# Configures SOURCE in DIRECTORY, with configure's ARGUMENTs, so that "make" there builds libcprof.so for musl. Needs
# Debian's musl-tools, linux-libc-dev, zlib1g-dev and libiberty-dev. musl-gcc sees headers of musl alone, so those of
# the kernel, zlib (whose library is loaded when a profile is written) and libiberty get a folder of their own. Of
# libiberty, which is built for glibc, the demanglers are taken: they call functions of strings alone, two of them by
# the names of glibc's checked ones.
set -euo pipefail
source=$(realpath "$1")
mkdir -p "$2"
cd "$2"
shift 2
include=/usr/include multiarch=/usr/include/$(uname -m)-linux-gnu
liberty=$(gcc -print-file-name=libiberty.a)
mkdir -p sysroot/include sysroot/lib
for name in linux asm asm-generic zlib.h zconf.h libiberty; do
	found=$include/$name
	[ -e "$found" ] || found=$multiarch/$name
	[ -e "$found" ] || { echo "musl.sh: there is no $include/$name" >&2; exit 1; }
	ln -sfn "$found" sysroot/include
done
cat >sysroot/checked.c <<'END'
#include <stdarg.h>
#include <stdio.h>
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...);
#define PRINT(size)                                  \
	va_list ap;                                  \
	int n;                                       \
	va_start(ap, format);                        \
	n = vsnprintf(to, size, format, ap);         \
	va_end(ap);                                  \
	return n
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...) { PRINT(room); }
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...) { PRINT(size); }
END
(
	cd sysroot
	musl-gcc -Os -fPIC -fvisibility=hidden -fno-asynchronous-unwind-tables -c checked.c
	ar x "$liberty" cp-demangle.o rust-demangle.o
	objcopy -R .eh_frame -R .rela.eh_frame cp-demangle.o
	objcopy -R .eh_frame -R .rela.eh_frame rust-demangle.o
	rm -f lib/libiberty.a
	ar rcs lib/libiberty.a cp-demangle.o rust-demangle.o checked.o
)
# The library defines the table of characters that the demanglers need; configure's test lacks it. musl-gcc makes no
# .eh_frame_hdr and no build id, as compilers that are made for musl do.
"$source/configure" --disable-tool CC=musl-gcc ac_cv_lib_iberty_rust_demangle_callback=yes \
	CPPFLAGS="-idirafter $PWD/sysroot/include" LDFLAGS="-L$PWD/sysroot/lib -Wl,--eh-frame-hdr,--build-id" "$@"
