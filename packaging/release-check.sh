#!/bin/bash
# make release-check: a core of the tests with the files of the release, on old and new systems. In each system
# (a debootstrap with a compiler, kept in RELEASE_CHECK_ROOTS) the release is unpacked in /opt/cprof. The tests'
# programs are built there, from ARCHIVE; libcprof.so and cprof are the release's. Needs root and debootstrap.
#
#   RELEASE_CHECK_ROOTS    directory of the systems (./release-roots)
#   RELEASE_CHECK_SYSTEMS  Debian releases (bullseye bookworm trixie)
#   RELEASE_CHECK_TESTS    names, as make one takes them
set -euo pipefail
archive=$(realpath "$1")
release=$(realpath "$2")
roots=${RELEASE_CHECK_ROOTS:-$PWD/release-roots}
systems=${RELEASE_CHECK_SYSTEMS:-bullseye bookworm trixie}
packages=gcc,g++,golang-go,libc6-dev,libc6-dbg,make,pkg-config,binutils,zlib1g-dev,libiberty-dev,perl,python3-minimal,libpython3-stdlib,libunwind8,procps,bash
tests=${RELEASE_CHECK_TESTS:-api run labels spans symbolize heap-exact wall dump trap_exception_storm
	trap_errno_preserved trap_exec_without_fork trap_fork_without_exec trap_sends_to_itself
	trap_own_sigprof_handler trap_single_thread trap_dlclose_while_walking trap_lock_cond_versions
	trap_lock_every_kind trap_eintr trap_exit_paths trap_heap_every_way trap_credentials trap_static_binary}
failed=0

die() {
	echo "make release-check: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "needs root, for chroot"
mkdir -p "$roots"
mounted=
unmount() {
	for place in $mounted; do umount "$place" || true; done
	mounted=
}
trap unmount EXIT

for system in $systems; do
	root=$roots/$system
	if [ ! -e "$root/usr/bin/pkg-config" ]; then
		command -v debootstrap >/dev/null || die "debootstrap is not installed"
		echo "==> debootstrap of $system in $root"
		debootstrap --variant=minbase --include="$packages" "$system" "$root" ${RELEASE_MIRROR:+"$RELEASE_MIRROR"} >"$root.log" 2>&1 ||
			die "debootstrap failed: $root.log"
	fi
	rm -rf "$root/opt/cprof" "$root/source"
	mkdir -p "$root/opt/cprof" "$root/source/build"
	tar -xf "$release" -C "$root/opt/cprof" --strip-components=1
	tar -xf "$archive" -C "$root/source" --strip-components=1
	mount -t proc proc "$root/proc" && mounted="$root/proc $mounted"
	cat >"$root/source/check.sh" <<'END'
cd /source/build
../configure --disable-tool >configure.out 2>&1 || { tail configure.out; exit 1; }
# Programs that are linked with the library find the release's in its place.
make -s -j2 libcprof.la >make.out 2>&1 || { tail make.out; exit 1; }
cp /opt/cprof/lib/libcprof.so.0 .libs/libcprof.so.0.0.0
ln -s /opt/cprof/bin/cprof cprof
programs=$(make -s --eval='cp-programs:;@echo $(PROFILED) $(CHECK_TOOLS)' cp-programs)
eval "$(make -s tests-environment)"
export CP_LIBRARY=/opt/cprof/lib/libcprof.so.0 srcdir=.. MAKE=make
failed=0
for t; do
	started=$SECONDS
	timeout -k 10 300 bash ../tests/one.sh "$t" $programs >"$t.log" 2>&1
	status=$?
	case $status in
	0) result=pass ;;
	77) result="skip: $(grep -m1 SKIP "$t.log")" ;;
	*) result=FAIL failed=1 ;;
	esac
	echo "    $t: $result, $((SECONDS - started)) s"
	[ "$result" != FAIL ] || tail -n 5 "$t.log" | sed 's/^/        /'
done
exit $failed
END
	echo "==> $system: $(chroot "$root" ldd --version | head -n 1)"
	# shellcheck disable=SC2086
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
		bash /source/check.sh $tests || failed=1
	unmount
done
[ $failed = 0 ] || die "tests failed"
