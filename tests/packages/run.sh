# SPDX-License-Identifier: BSD-3-Clause
# make packages: tries the tools with which others build and install, each with an installed library: pkg-config and
# CMake (also after the installation was moved), man pages, the Python module, the Rust crate, Debian's packages with
# lintian, and RPM packages. Needs cmake, pkg-config, python3, cargo, dpkg-buildpackage with debhelper, lintian,
# rpmbuild, rpm2cpio, cpio; a part whose tool is missing is skipped, with a message. With CI set a skipped part is a failure. PACKAGES names parts to run.
set -u
archive=$(realpath "$1")
source=$(cd "$srcdir" && pwd)
build=$PWD
parts=${PACKAGES:-pkgconfig cmake man python rust debian rpm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "FAIL: $part: $*"
	failed=$((failed + 1))
}

# False where a program is missing.
have() {
	local program
	for program; do
		command -v "$program" >/dev/null && continue
		echo "skip: $part: $program is not installed"
		[ -z "${CI:-}" ] || failed=$((failed + 1))
		return 1
	done
}

# Status 77 is a check's that can't be done here; it says why.
quietly() { # command...
	local status=0
	"$@" >"$work/log" 2>&1 || status=$?
	[ "$status" != 0 ] || return 0
	tail -n 20 "$work/log"
	[ "$status" != 77 ] || [ -n "${CI:-}" ] || return 0
	fail "$* (status $status)"
	return 1
}

part=install
quietly "$MAKE" -s install-strip DESTDIR="$work/installed" || exit 1
read -r prefix libdir lto < <("$MAKE" -s --eval='cp-where:;@echo $(prefix) $(libdir) $(CP_LTO)' cp-where)
# As a person would move it: to another place, as a whole.
at=$work/moved
mkdir "$at"
mv "$work/installed$prefix"/* "$at/"
lib=$at/${libdir#"$prefix"/}
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib CPROF=$at/bin/cprof CPROF_LIBRARY=$lib/libcprof.so.0
size=$(stat -L -c %s "$lib/libcprof.so.0")
# As packaging/release.sh checks it; more without --enable-lto.
most=688128
[ -n "$lto" ] || most=720896
[ "$size" -le $most ] || fail "the stripped library has $size bytes, more than $most"
cat >"$work/app.c" <<'END'
#include <cprof.h>
#include <stdio.h>
#include <gperftools/profiler.h>
int main(void)
{
	CPROF_LABEL_SCOPE("route", "/a");
	puts(cprof_version());
	return ProfilingIsEnabledForAllThreads();
}
END

# A program that is linked statically: it ends with 1 while it is profiled.
profiles_itself() { # program
	(unset LD_LIBRARY_PATH CPROF_LIBRARY && CPUPROFILE=$1.pb "$1" >/dev/null)
	[ $? = 1 ] && [ -s "$1.pb" ] || fail "the static program ${1##*/} writes no profile"
}

pkgconfig() {
	have pkg-config || return
	local version
	version=$(pkg-config --modversion libcprof) || { fail "libcprof isn't found"; return; }
	case $(pkg-config --libs --cflags libcprof) in
	*"$prefix"/*) fail "not relocatable: $(pkg-config --libs --cflags libcprof)" ;;
	esac
	quietly $CC -o "$work/app-pc" "$work/app.c" $(pkg-config --cflags --libs libcprof) || return
	[ "$("$work/app-pc")" = "$version" ] || fail "the program says $("$work/app-pc"), pkg-config $version"
	quietly $CC -static -o "$work/app-static" "$work/app.c" $(pkg-config --static --cflags --libs libcprof) || return
	profiles_itself "$work/app-static"
}

cmake_() {
	have cmake || return
	mkdir -p "$work/cmake"
	cp "$work/app.c" "$work/cmake/"
	cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(app C)
find_package(cprof 0.1 REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE cprof::cprof)
add_executable(alone app.c)
target_link_libraries(alone PRIVATE -static cprof::static)
if(NOT EXISTS "${CPROF_PROGRAM}")
  message(FATAL_ERROR "the tool isn't found")
endif()
find_package(cprof 99.0 QUIET)
if(cprof_FOUND)
  message(FATAL_ERROR "version 99.0 is found")
endif()
END
	quietly cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$at" &&
		quietly cmake --build "$work/cmake/build" || return
	(unset LD_LIBRARY_PATH && "$work/cmake/build/app" >/dev/null) || fail "the program doesn't run"
	profiles_itself "$work/cmake/build/alone"
}

man_() {
	local function page n=0
	while read -r function; do
		page=$at/share/man/man3/$function.3
		grep -qx '.so man3/libcprof.3' "$page" || fail "no man page of $function"
		n=$((n + 1))
	done < <(${NM:-nm} -D --defined-only "$lib/libcprof.so.0" | sed -n 's/.* \(cprof_[a-z_]*\)@.*/\1/p' | sort -u)
	[ "$n" -ge 20 ] || fail "$n functions are found"
	! command -v man >/dev/null || MANPATH=$at/share/man man -w cprof_start >/dev/null || fail "man cprof_start"
}

python() {
	have python3 || return
	cd "$source/bindings/python" || return
	PYTHONDONTWRITEBYTECODE=1 quietly python3 -m unittest
	LD_PRELOAD=$CPROF_LIBRARY PYTHONDONTWRITEBYTECODE=1 quietly env -u CPROF_LIBRARY python3 -m unittest
	cd "$build" || return
}

rust() {
	have cargo pkg-config || return
	cat >"$work/sizes.c" <<'END'
#include <cprof.h>
#include <stdio.h>
int main(void)
{
	printf("%zu %zu %zu %zu %zu\n", sizeof(struct cprof_options), sizeof(struct cprof_label_scope),
	       sizeof(struct cprof_span), sizeof(struct cprof_span_stats), sizeof(struct cprof_stats));
}
END
	quietly $CC -o "$work/sizes" "$work/sizes.c" $(pkg-config --cflags libcprof) || return
	CPROF_SIZES=$("$work/sizes") quietly cargo test --quiet --offline --manifest-path "$source/bindings/rust/Cargo.toml" \
		--target-dir "$work/rust"
	rm -f "$source/bindings/rust/Cargo.lock"
}

debian() {
	have dpkg-buildpackage dh lintian || return
	mkdir "$work/debian"
	tar -xf "$archive" -C "$work/debian"
	cd "$work"/debian/libcprof-* || return
	ln -s packaging/debian debian
	DEB_BUILD_OPTIONS=nocheck quietly dpkg-buildpackage -b -us -uc &&
		quietly lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ../*.changes
	# Linked with --enable-lto from objects with stack protectors.
	quietly env CP_LIBRARY="$PWD/.libs/libcprof.so" srcdir=. bash tests/checks/sigsafe-linked.sh
	cd "$build" || return
}

# rpmbuild fails on files that no package has. Its database doesn't know Debian's packages: --nodeps.
rpm_() {
	have rpmbuild rpm2cpio cpio || return
	local package version
	version=$(sed -n 's/^Version: *//p' "$source/packaging/libcprof.spec")
	[ "${archive##*/}" = "libcprof-$version.tar.xz" ] || fail "the spec's version is $version: ${archive##*/}"
	mkdir -p "$work/rpm/SOURCES" "$work/rpm/root"
	cp "$archive" "$work/rpm/SOURCES/"
	quietly rpmbuild --define "_topdir $work/rpm" --nodeps --nocheck -bb "$source/packaging/libcprof.spec" || return
	cd "$work/rpm/root" || return
	for package in ../RPMS/*/*.rpm; do
		rpm2cpio "$package" | quietly cpio -idm --quiet
	done
	quietly env -u LD_LIBRARY_PATH usr/bin/cprof run -o true.pb -- true
	[ -s true.pb ] || fail "no profile by the packages' files"
	cd "$build" || return
}

for part in $parts; do
	before=$failed
	case $part in
	cmake) cmake_ ;;
	man) man_ ;;
	rpm) rpm_ ;;
	pkgconfig | python | rust | debian) "$part" ;;
	*) fail "there is no such part" ;;
	esac
	[ $failed != $before ] || echo "done: $part"
done
[ $failed = 0 ]
