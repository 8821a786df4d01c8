# SPDX-License-Identifier: BSD-3-Clause
# A program with more rights than its caller (set-user-id, set-group-id, file capabilities) that is linked with
# the library ignores the environment: it would write, as its owner, where its caller says. Nor does the loader take a
# library of the caller's, and nothing is started with those rights.
. "$srcdir/tests/lib/e2e.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip "only root makes programs of another owner"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
chmod 755 "$work"
mkdir -m 777 "$work/open"
cp tests/traps/set_user_id/host "$work/open/plain"
cp tests/traps/set_user_id/host "$work/open/suid"
chmod 755 "$work/open/plain"
chmod 4755 "$work/open/suid"
$as_nobody "$work/open/plain" || skip "nobody can't use this build directory"
export CPUPROFILE_FREQUENCY=1000

CPUPROFILE="$work/open/plain.pb" $as_nobody "$work/open/plain" || fail "plain: status $?"
check_valid "$work/open/plain.pb"
CPUPROFILE="$work/open/suid.pb" CPROF_VERBOSE=1 $as_nobody "$work/open/suid" >"$work/suid.out" 2>"$work/suid.err" || fail "suid: status $?"
[ -e "$work/open/suid.pb" ] && fail "a set-user-id program wrote where its caller's environment said"
[ -s "$work/suid.err" ] && harm "suid says: $(cat "$work/suid.err")"

# Nor does what we tell our descendants count there.
mkdir "$work/open/here" "$work/open/there"
(cd "$work/open/here" && _CPROF_LINEAGE="1 0 0 1 $work/open/there" $as_nobody "$work/open/suid" api.pb) || fail "suid, by the API: status $?"
[ -e "$work/open/there/api.pb" ] && fail "_CPROF_LINEAGE moved a set-user-id program's file"
ls "$work/open/there" | grep -q . && fail "a set-user-id program wrote to $(ls "$work/open/there")"
check_valid "$work/open/here/api.pb"
check_comment "$work/open/here/api.pb" '^libcprof'
"$pprof_check" --raw "$work/open/here/api.pb" | grep -q main || fail "suid, by the API: no main"

# Set-group-id, and capabilities of the file.
privileged() { # name
	for variable in CPUPROFILE WALLPROFILE HEAPPROFILE LOCKPROFILE; do
		$as_nobody env $variable="$work/open/$1.$variable.pb" CPROF_VERBOSE=1 CPROF_SIGNAL=USR1 "$work/open/$1" >"$work/$1.out" 2>"$work/$1.err" ||
			harm "$1: status $?"
		[ -e "$work/open/$1.$variable.pb" ] && fail "$1: a privileged program wrote where its caller's $variable said"
		[ -s "$work/$1.err" ] && harm "$1 says: $(cat "$work/$1.err")"
	done
}
cp tests/traps/set_user_id/host "$work/open/sgid"
chown 0:0 "$work/open/sgid"
chmod 2755 "$work/open/sgid"
privileged suid
privileged sgid
if command -v setcap >/dev/null; then
	cp tests/traps/set_user_id/host "$work/open/capable"
	chmod 755 "$work/open/capable"
	if setcap cap_net_bind_service+ep "$work/open/capable" 2>/dev/null; then
		privileged capable
	else
		echo "# no file capabilities on this file system"
	fi
fi

# The loader: neither LD_PRELOAD nor LD_LIBRARY_PATH brings the library into a set-user-id program of others.
mkdir "$work/open/lib"
cp "$CP_LIBRARY" "$work/open/lib/libcprof.so"
cp "$work/open/lib/libcprof.so" "$work/open/lib/libcprof.so.0"
cp "$(command -v id)" "$work/open/id"
chmod 4755 "$work/open/id"
$as_nobody env LD_PRELOAD="$work/open/lib/libcprof.so" LD_LIBRARY_PATH="$work/open/lib" CPUPROFILE="$work/open/id.pb" \
	"$work/open/id" -u >"$work/id.out" 2>/dev/null || fail "id: status $?"
[ -e "$work/open/id.pb" ] && fail "the library came into a set-user-id program"

# No helper: lines would be added by a program that runs as the owner.
printf '#!/bin/sh\ntouch "%s"\n' "$work/open/helped" >"$work/open/helper"
chmod 755 "$work/open/helper"
(cd "$work/open/here" && CPROF_SYMBOLIZE=full _CPROF_HELPER="$work/open/helper" $as_nobody "$work/open/suid" api2.pb running) || fail "suid, with a helper: status $?"
[ -e "$work/open/helped" ] && fail "a set-user-id program started its caller's helper"
"$pprof_check" "$work/open/here/api2.pb" >/dev/null || fail "suid, with a helper: no profile"
"$pprof_check" --comments "$work/open/here/api2.pb" | grep -q '^symbolized' && fail "a set-user-id program started a helper"
finish
