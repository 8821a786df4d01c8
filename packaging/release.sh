#!/bin/bash
# make release: builds ARCHIVE (of make dist) on an old system, and packs libcprof-VERSION-linux-MACHINE.tar.xz in the
# current directory. The old system has glibc 2.31. The binaries built there need no symbol newer than glibc 2.28,
# which is checked. The tool has the libraries that it needs linked in. lib/musl has the library for musl.
# Needs root, and debootstrap once.
# For another machine (make release ARCH=aarch64) it is built by a cross compiler with the old system's libraries, and
# needs Debian's gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu and protobuf-c-compiler, and mmdebstrap once.
#
#   RELEASE_ROOT    directory of the old system; made if it isn't there, and kept (./release-root)
#   RELEASE_MIRROR  where Debian's packages come from (debootstrap's own choice)
set -euo pipefail
archive=$(realpath "$1")
version=$2
machine=$3
cross=
[ "$machine" = "$(uname -m)" ] || cross=$machine-linux-gnu
root=${RELEASE_ROOT:-$PWD/release-root${cross:+-$machine}}
name=libcprof-$version-linux-$machine
newest=2.28
packages=gcc,g++,libc6-dev,make,pkg-config,libunwind-dev,zlib1g-dev,libiberty-dev,protobuf-c-compiler,libprotobuf-c-dev,libdw-dev,libelf-dev,libpcre2-dev,musl-tools
carried="libprotobuf-c-dev libelf-dev libpcre2-dev zlib1g-dev libiberty-dev"

die() {
	echo "make release: $*" >&2
	exit 1
}

say() {
	echo "==> $*"
}

[ "$(id -u)" = 0 ] || die "needs root, for chroot"
if [ "$cross" ] && [ ! -e "$root/usr/include/protobuf-c/protobuf-c.h" ]; then
	command -v mmdebstrap >/dev/null || die "mmdebstrap is not installed"
	command -v "$cross-g++" >/dev/null || die "$cross-g++ is not installed"
	say "packages of bullseye for $machine in $root"
	mmdebstrap --quiet --variant=extract --architectures="${machine/aarch64/arm64}" --include=base-files,libc6,libc6-dev \
		--include="${carried// /,},libunwind-dev,libdw-dev" --setup-hook='sed -i "/updates\|security/d" "$1/etc/apt/sources.list"' bullseye "$root" ${RELEASE_MIRROR:+"$RELEASE_MIRROR"} >"$root.log" 2>&1 ||
		die "mmdebstrap failed: $root.log"
	# Such links lead into this system.
	find "$root/usr/lib/$cross" -type l -lname '/*' | while read -r link; do ln -sfn "$root$(readlink "$link")" "$link"; done
elif [ ! -e "$root/usr/include/protobuf-c/protobuf-c.h" ]; then
	command -v debootstrap >/dev/null || die "debootstrap is not installed"
	say "debootstrap of bullseye in $root"
	debootstrap --variant=minbase --include="$packages" bullseye "$root" ${RELEASE_MIRROR:+"$RELEASE_MIRROR"} >"$root.log" 2>&1 ||
		die "debootstrap failed: $root.log"
fi
[ "$machine" != x86_64 ] || [ "$cross" ] || [ -e "$root/usr/bin/musl-gcc" ] || die "$root was made for an older release, without musl-tools: remove it"

say "build in $root"
rm -rf "$root/release"
mkdir "$root/release"
tar -xf "$archive" -C "$root/release" --strip-components=1
# With the name of an archive the linker takes it, not the shared library.
cat >"$root/release/build.sh" <<'END'
set -e
top=$1 jobs=$2
shift 2
mkdir "$top/build"
cd "$top/build"
../configure "$@" --enable-lto --disable-static --prefix=/cprof --libdir=/cprof/lib \
	PROTOBUF_C_CFLAGS=" " PROTOBUF_C_LIBS=-l:libprotobuf-c.a \
	LIBELF_CFLAGS=" " LIBELF_LIBS=-l:libelf.a \
	PCRE2_CFLAGS=" " PCRE2_LIBS=-l:libpcre2-8.a \
	ZLIB_CFLAGS=" " ZLIB_LIBS=-l:libz.a
make -j"$jobs"
make install-strip DESTDIR="$top/out"
# Not for another machine, and not for aarch64.
[ "$(uname -m)$*" = x86_64 ] || exit 0
bash ../packaging/musl.sh .. musl --enable-lto --disable-static --prefix=/cprof --libdir=/cprof/lib/musl
make -j"$jobs" -C musl libcprof.la
mkdir -p "$top/out/cprof/lib/musl"
strip --strip-unneeded -o "$top/out/cprof/lib/musl/libcprof.so" musl/.libs/libcprof.so
END
if [ "$cross" ]; then
	# Debian's cross compilers have a newer libc of their own.
	old="--sysroot=$root -B$root/usr/lib/$cross -L$root/usr/lib/$cross -L$root/lib/$cross -isystem $root/usr/include/$cross -isystem $root/usr/include"
	build=(sh "$root/release/build.sh" "$root/release" "${JOBS:-2}" --host="$cross" --build="$(uname -m)-linux-gnu"
		CC="$cross-gcc $old" CXX="$cross-g++ --sysroot=$root")
else
	build=(chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C sh /release/build.sh /release "${JOBS:-2}")
fi
"${build[@]}" >"$name.log" 2>&1 || {
	tail -n 30 "$name.log" >&2
	die "the build failed: $name.log"
}

say "check"
out=$root/release/out/cprof
rm -f "$out"/lib/*.la
for file in "$out/lib/libcprof.so.0" "$out/bin/cprof"; do
	highest=$(readelf --version-info -W "$file" | sed -n '/Version needs/,$s/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' |
		sort -V | tail -n 1)
	[ -n "$highest" ] || die "$file: no version of glibc is found"
	[ "$(printf '%s\n' "$highest" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
		die "${file##*/} needs GLIBC_$highest, newer than $newest"
	needed=$(readelf -d -W "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	others=$(grep -vxE 'lib(c|m)\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-.*\.so\.[12]' <<<"$needed") || true
	[ -z "$others" ] || die "${file##*/} needs $others"
	echo "    ${file##*/}: $(stat -L -c %s "$file") bytes, needs GLIBC_$highest," $needed
done
musl=$out/lib/musl/libcprof.so
if [ -e "$musl" ]; then
	others=$(readelf -d -W "$musl" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vx libc.so) || true
	[ -z "$others" ] || die "musl/libcprof.so needs $others"
	echo "    musl/libcprof.so: $(stat -c %s "$musl") bytes"
fi
# On aarch64 each instruction has four bytes, and the file has 21 KiB of nothing before the part that is only
# relocated, which must end with a page of 64 KiB.
[ "$machine" = aarch64 ] && limit=720 || limit=672
[ "$(stat -L -c %s "$out/lib/libcprof.so.0")" -le $((limit << 10)) ] || die "libcprof.so is larger than $limit KiB"

say "pack $name.tar.xz"
rm -rf "$name"
cp -a "$out" "$name"
# README.md, and what it leads to.
tar -xf "$archive" -C "$name" --strip-components=1 \
	"libcprof-$version"/{README,NEWS,CONTRIBUTING,SECURITY}.md "libcprof-$version"/{COPYING,docs,examples}
# The terms of what the files carry.
terms=$name/share/doc/libcprof/carried
mkdir -p "$terms"
for package in $carried; do
	cp -L "$root/usr/share/doc/$package/copyright" "$terms/$package.txt"
done
for licence in GPL-2 GPL-3 LGPL-2.1 LGPL-3; do
	cp -L "$root/usr/share/common-licenses/$licence" "$terms/"
done
cp "$root/release/packaging/carried.txt" "$terms/README"
tar --sort=name --owner=0 --group=0 --numeric-owner -cJf "$name.tar.xz" "$name"
rm -rf "$name"
echo "    $name.tar.xz: $(stat -c %s "$name.tar.xz") bytes"
