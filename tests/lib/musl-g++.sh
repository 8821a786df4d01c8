#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: musl-g++.sh ARGUMENT...
# Compiles and links C++ for musl with the host's g++ and its static C++ library, which are made for glibc: musl-c++.h
# has what they need of glibc. That does for the tests; locales and other things that the two libcs lay out otherwise
# are not to be used.
version=$(g++ -dumpversion) host=$(g++ -print-multiarch) musl=$(uname -m)-linux-musl
headers=/usr/include/c++/$version
exec g++ -nostdinc -isystem "$headers" -isystem "/usr/include/$host/c++/$version" -isystem "$headers/backward" \
	-isystem "/usr/include/$musl" -isystem "$(g++ -print-file-name=include)" -include "${BASH_SOURCE%/*}/musl-c++.h" \
	"$@" -Wl,--eh-frame-hdr -static-libstdc++ -static-libgcc -specs "/usr/lib/$musl/musl-gcc.specs"
