# SPDX-License-Identifier: BSD-3-Clause
# A full disk, a file size limit, a read-only or missing directory, a path that is a directory: one line
# on stderr, the program is as it was, and the complete file from before stays.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000
bare bare ./tests/traps/hosts/moves

run() { # name path command...
	name=$1
	path=$2
	shift 2
	bare "$name" timeout -s KILL 60 env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$path" "$@"
	check_status "$name" 0
	check_same_output "$name" bare
	[ "$(grep -c '^libcprof:' "$work/$name.err")" = 1 ] || fail "$name: said on stderr: $(cat "$work/$name.err")"
	[ "$(wc -l <"$work/$name.err")" = 1 ] || fail "$name: on stderr: $(cat "$work/$name.err")"
}

stays() { # file
	cmp -s "$1" "$work/previous.pb" || fail "$1 is not the file that was there before"
}

profiled previous ./tests/traps/hosts/moves
check_valid "$work/previous.pb"

run dev-full /dev/full ./tests/traps/hosts/moves
[ -c /dev/full ] || fail "/dev/full was replaced"
mkdir "$work/directory"
run directory "$work/directory" ./tests/traps/hosts/moves
run missing "$work/no/such/x.pb" ./tests/traps/hosts/moves
run not-a-directory "$work/previous.pb/x.pb" ./tests/traps/hosts/moves
run device /dev/null/x.pb ./tests/traps/hosts/moves

cp "$work/previous.pb" "$work/limited.pb"
run limited "$work/limited.pb" ./tests/traps/hosts/moves limit 600
stays "$work/limited.pb"
find "$work" -name '*.tmp' | grep -q . && fail "temporary files are left: $(ls -A "$work")"

if [ "$(id -u)" != 0 ]; then
	mkdir "$work/read-only"
	cp "$work/previous.pb" "$work/read-only/x.pb"
	chmod 500 "$work/read-only"
	run read-only "$work/read-only/x.pb" ./tests/traps/hosts/moves
	stays "$work/read-only/x.pb"
	chmod 700 "$work/read-only"
	finish
fi

# In another root directory, where there is no such path: one line for all of a process's files, with the reason.
mkdir "$work/empty"
ends_well bare chrooted env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/c.pb" HEAPPROFILE="$work/h.pb" LOCKPROFILE="$work/l.pb" \
	IOPROFILE="$work/i.pb" ./tests/traps/hosts/moves chroot "$work/empty"
[ "$(wc -l <"$work/chrooted.err")" = 1 ] && grep -q ': the process is in another root directory by now' "$work/chrooted.err" ||
	fail "chrooted: on stderr: $(cat "$work/chrooted.err")"

# Small file systems, in a mount namespace of their own, gone with it.
cat >"$work/mounted" <<'END'
# kind: the mount's options
mount -t tmpfs -o "size=16k,nr_inodes=50" none "$work/mnt" || exit 77
cp "$work/previous.pb" "$work/mnt/x.pb"
if [ "$1" = full ]; then
	head -c 20000 /dev/zero >"$work/mnt/filler" 2>/dev/null
else
	mount -o remount,ro "$work/mnt" || exit 77
fi
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/mnt/x.pb" ./tests/traps/hosts/moves
result=$?
cp "$work/mnt/x.pb" "$work/$1-after.pb"
[ -z "$(find "$work/mnt" -name '*.tmp')" ] || exit 3
exit $result
END
mkdir "$work/mnt"
export work
if command -v unshare >/dev/null && unshare -m true 2>/dev/null; then
	for kind in full read-only; do
		bare "$kind" unshare -m bash "$work/mounted" "$kind"
		[ "$status" = 77 ] && { echo "# no tmpfs here"; continue; }
		check_status "$kind" 0
		check_same_output "$kind" bare
		[ "$(grep -c '^libcprof:' "$work/$kind.err")" = 1 ] || fail "$kind: said on stderr: $(cat "$work/$kind.err")"
		stays "$work/$kind-after.pb"
	done
fi
finish
