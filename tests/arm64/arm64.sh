#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make arm64: a core of the tests on a whole aarch64 machine, which qemu-system-aarch64 emulates, with Debian's kernels of
# 4 and of 16 KiB pages. The library and the tool are those of make release ARCH=aarch64; the tests' programs are
# cross-built from ARCHIVE, with signed return addresses and without frame pointers. Needs root, for the owners of the
# machine's files, and Debian's packages qemu-system-arm, gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, mmdebstrap, kmod,
# cpio and e2fsprogs.
#
#   ARM64_CACHE    where the machine's root and kernels are kept (~/.cache/libcprof/arm64)
#   ARM64_PAGES    4k 16k
#   ARM64_TESTS    names, as make one takes them, "unit" for all unit tests, and "oracle" (tests.txt)
#   ARM64_RESUME   1: go on after the last test that arm64-4k.log and arm64-16k.log have, with what is built
#   ARM64_CPU      the processor: by default with signed return addresses, landing pads, and registers of 2048 bits
#   ORACLE_STEPS, ORACLE_WINDOW, ORACLE_PAUSE, ORACLE_PROGRAMS   as for make oracle; see tests/oracle
#
# The machine's clock counts its instructions, two nanoseconds each, and jumps to the next timer where the machine has
# nothing to do. So times can be compared however busy this computer is, and interrupts come between any two
# instructions. The price: the machine has one processor.
#
# Prints a line for each test. All that a machine printed is in arm64-4k.log or arm64-16k.log.
set -euo pipefail
archive=$(realpath "$1")
release=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
cache=${ARM64_CACHE:-$HOME/.cache/libcprof/arm64}
root=$cache/root
host=aarch64-linux-gnu
place=$PWD/arm64-tests
cflags="-O2 -g"
# Part of the compilers' names, because a test's own flags must come later: test-unwind-fp has frame pointers.
code="-mbranch-protection=standard -fomit-frame-pointer"
packages=bash,busybox-static,bc,binutils,coreutils,diffutils,findutils,g++,gawk,gcc,grep,gzip,hostname,libc6-dbg,libc6-dev,libelf-dev,libdw-dev,libiberty-dev,libjemalloc2,libpcre2-dev,libprotobuf-c-dev,libunwind-dev,mawk,mount,perl,procps,python3-minimal,libpython3-stdlib,sed,sqlite3,tar,util-linux,xz-utils,zlib1g-dev,zstd
kernels="linux-image-cloud-arm64 linux-image-6.12-arm64-16k"
tests=${ARM64_TESTS:-$(sed 's/#.*//' "$here/tests.txt")}

die() {
	echo "make arm64: $*" >&2
	exit 1
}

say() {
	echo "==> $*"
}

[ "$(id -u)" = 0 ] || die "needs root"
for program in qemu-system-aarch64 $host-gcc $host-g++ mmdebstrap modprobe cpio mke2fs; do
	command -v $program >/dev/null || die "$program is not installed"
done
for t in $tests; do
	case $t in
	unit | oracle) continue ;;
	test-fuzz-*) file=fuzz/${t#test-}.c ;;
	test-*) file=unit/$t.c ;;
	trap_*) file=traps/${t#trap_}/run.sh ;;
	*) file=e2e/$t.sh ;;
	esac
	[ -e "$here/../$file" ] || die "there is no test $t"
done
mkdir -p "$cache"

# Files of packages without their maintainers' scripts, which would need an emulator here.
make_root() {
	local folder
	[ ! -e "$cache/made" ] || return 0
	say "root of Debian's arm64 packages in $root"
	rm -rf "$root"
	mmdebstrap --quiet --variant=extract --architectures=arm64 --include='?essential' --include="${packages//}" \
		--include="${kernels// /,}" bookworm "$root" || die "mmdebstrap failed"
	for folder in bin sbin lib; do
		cp -a "$root/$folder/." "$root/usr/$folder/"
		rm -rf "${root:?}/$folder"
		ln -s "usr/$folder" "$root/$folder"
	done
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	ln -sf mawk "$root/usr/bin/awk"
	ln -sf bash "$root/bin/sh"
	echo arm64 >"$root/etc/hostname"
	mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/run"
	touch "$cache/made"
}

# The modules that the root's disk needs, in the order in which they are loaded.
make_initramfs() { # version pages
	local to=$cache/$2 n=10 module
	rm -rf "$to" && mkdir -p "$to/tree/modules"
	cp "$root/boot/vmlinuz-$1" "$to/vmlinuz"
	depmod -b "$root" "$1"
	{ for module in virtio_pci virtio_blk ext4 crc32c_generic; do
		modprobe -d "$root" -S "$1" --show-depends "$module"
	done; } | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
		n=$((n + 1))
		case $module in
		*.xz) xz -dc "$module" >"$to/tree/modules/$n-$(basename "${module%.xz}")" ;;
		*) cp "$module" "$to/tree/modules/$n-${module##*/}" ;;
		esac
	done
	mkdir "$to/tree/bin" "$to/tree/proc" "$to/tree/dev" "$to/tree/root"
	cp "$root/bin/busybox" "$to/tree/bin/busybox"
	cp "$here/init.sh" "$to/tree/init" && chmod +x "$to/tree/init"
	(cd "$to/tree" && find . | cpio --quiet -o -H newc | gzip -1) >"$to/initrd"
	rm -rf "$to/tree"
}

make_machine() {
	local version
	[ ! "$cache/root.img" -nt "$here/init.sh" ] || return 0
	for version in "$root"/lib/modules/*; do
		version=${version##*/}
		case $version in
		*16k) make_initramfs "$version" 16k ;;
		*) make_initramfs "$version" 4k ;;
		esac
	done
	say "disk of the root"
	rm -f "$cache/root.img"
	(cd "$root" && tar -cf - --exclude=./usr/lib/modules --exclude=./boot --exclude=./usr/share/doc .) | {
		rm -rf "$cache/slim" && mkdir "$cache/slim" && tar -xf - -C "$cache/slim"
	}
	mke2fs -q -t ext4 -d "$cache/slim" "$cache/root.img" 3G
	rm -rf "$cache/slim"
}

# Prints the programs that the tests need, but for unit tests that are not built for this processor.
needed() {
	local t programs all scripts= units=
	programs=$(make -s --eval='cp-programs:;@echo $(PROFILED) $(CHECK_TOOLS)' cp-programs)
	all=" $(make -s --eval='cp-units:;@echo $(UNIT_TESTS)' cp-units) "
	for t in $tests; do
		case $t in
		unit) units=$all ;;
		oracle) units="$units tests/oracle/agent.la" ;;
		test-*) [[ $all != *" tests/unit/$t "* ]] || units="$units tests/unit/$t" ;;
		trap_*) scripts="$scripts tests/traps/${t#trap_}/run.sh" ;;
		*) scripts="$scripts tests/e2e/$t.sh" ;;
		esac
	done
	# shellcheck disable=SC2086
	srcdir=.. bash ../tests/needed.sh $scripts -- $programs
	echo $units
}

# At the same path here and on the machine.
build_tests() {
	say "the tests' programs in $place"
	rm -rf "$place"
	mkdir -p "$place/build" "$place/opt"
	tar -xf "$archive" -C "$place" --strip-components=1
	tar -xf "$release" -C "$place/opt" --strip-components=1
	(
		cd "$place/build"
		../configure --host=$host --build="$(uname -m)-linux-gnu" CC="$host-gcc --sysroot=$root $code" CXX="$host-g++ --sysroot=$root $code" \
			CFLAGS="$cflags" CXXFLAGS="$cflags" \
			PROTOBUF_C_CFLAGS=" " PROTOBUF_C_LIBS=-lprotobuf-c LIBELF_CFLAGS=" " LIBELF_LIBS=-lelf \
			PCRE2_CFLAGS=" " PCRE2_LIBS=-lpcre2-8 ZLIB_CFLAGS=" " ZLIB_LIBS=-lz
		make -j2 libcprof.la libcprof.a libcprof.options
		# shellcheck disable=SC2046
		make -j2 $(needed)
		# The machine's own compiler would take minutes.
		sed -n '/^cxx_workload/,/^END$/p' ../tests/oracle/oracle.sh | sed '1,2d;$d' >oracle.cc
		$host-g++ --sysroot="$root" $cflags $code oracle.cc -o oracle-cxx
		make -s tests-environment >environment
		echo "export ORACLE_CXX=$PWD/oracle-cxx ORACLE_STEPS=${ORACLE_STEPS:-10000} ORACLE_WINDOW=${ORACLE_WINDOW:-1000} ORACLE_PAUSE=${ORACLE_PAUSE:-2} ORACLE_PROGRAMS='${ORACLE_PROGRAMS:-}'" >>environment
	) >arm64-build.log 2>&1 || die "the build failed: arm64-build.log"
	sed -i "s#$host-\(gcc\|g++\) --sysroot=[^']*#\1#g; s#[^' ]*$host-##g" "$place/build/environment"
	# The release's library and tool in the place of those that were built.
	cp "$place/opt/lib/libcprof.so.0" "$place/build/.libs/libcprof.so.0.0.0"
	cp "$place/opt/bin/cprof" "$place/build/cprof"
	find "$place" \( -name '*.o' -o -name '*.lo' -o -name '*.a' ! -path "$place/build/libcprof.a" \) -delete
	cp "$here/inside.sh" "$place/inside.sh"
	for t in $tests; do
		[ $t != unit ] && echo $t || (cd "$place/build/tests/unit" && find . -maxdepth 1 -type f -perm -1 -name 'test-*' -printf '%f\n' | sort)
	done >"$place/tests.all"
}

run_machine() { # pages
	local work=$PWD/arm64-work.img log=arm64-$1.log
	[ "${ARM64_RESUME:-}" ] && [ -e "$log" ] || : >"$log"
	sed -n 's/^arm64: \([^ ]*\): .*/\1/p' "$log" | grep -vxFf - "$place/tests.all" >"$place/tests.list" || true
	rm -f "$work"
	mke2fs -q -t ext4 -d "$place" "$work" 1G
	say "a machine with pages of ${1%k} KiB"
	nice -n 10 qemu-system-aarch64 -machine virt,gic-version=3 -accel tcg,thread=single -icount shift=1,sleep=off \
		-cpu "${ARM64_CPU:-max,pauth-impdef=on,lpa2=off}" -smp 1 -m 3G -nographic -no-reboot -nic none \
		-kernel "$cache/$1/vmlinuz" -initrd "$cache/$1/initrd" \
		-append "console=ttyAMA0 loglevel=4 panic=-1 place=$place" \
		-drive "file=$cache/root.img,format=raw,if=virtio,snapshot=on" -drive "file=$work,format=raw,if=virtio" \
		</dev/null | tee -a "$log" | grep --line-buffered '^arm64: ' || true
	rm -f "$work"
	grep -q '^arm64: all have ended' "$log" || die "the machine ended: $log; ARM64_RESUME=1 make arm64 goes on"
	echo "arm64: $(grep -c '^arm64: [^ ]*: passed' "$log") passed, $(grep -c '^arm64: [^ ]*: FAILED' "$log") failed," \
		"$(grep -c '^arm64: [^ ]*: not applicable' "$log") not applicable"
	! grep -q '^arm64: [^ ]*: FAILED' "$log"
}

make_root
make_machine
[ "${ARM64_RESUME:-}" ] && [ -e "$place/tests.all" ] || build_tests
status=0
for pages in ${ARM64_PAGES:-4k 16k}; do
	run_machine "$pages" || status=1
done
exit $status
