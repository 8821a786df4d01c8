# A set-user-id program that is linked with the library ignores the environment: it would write, as
# its owner, where its caller says.
. "$srcdir/tests/lib/e2e.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip "only root makes programs of another owner"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
chmod 755 "$work"
mkdir -m 777 "$work/open"
cp tests/traps/privileged "$work/open/plain"
cp tests/traps/privileged "$work/open/suid"
chmod 755 "$work/open/plain"
chmod 4755 "$work/open/suid"
$as_nobody "$work/open/plain" || skip "nobody can't use this build directory"
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY

CPUPROFILE="$work/open/plain.pb" $as_nobody "$work/open/plain" || fail "plain: status $?"
check_valid "$work/open/plain.pb"
CPUPROFILE="$work/open/suid.pb" CPROF_VERBOSE=1 $as_nobody "$work/open/suid" >"$work/suid.out" 2>"$work/suid.err" || fail "suid: status $?"
[ -e "$work/open/suid.pb" ] && fail "a set-user-id program wrote where its caller's environment said"
[ -s "$work/suid.err" ] && fail "suid says: $(cat "$work/suid.err")"

# Nor does what we tell our descendants count there.
mkdir "$work/open/here" "$work/open/there"
(cd "$work/open/here" && _CPROF_LINEAGE="1 0 0 $work/open/there" $as_nobody "$work/open/suid" api.pb) || fail "suid, by the API: status $?"
[ -e "$work/open/there/api.pb" ] && fail "_CPROF_LINEAGE moved a set-user-id program's file"
ls "$work/open/there" | grep -q . && fail "a set-user-id program wrote to $(ls "$work/open/there")"
check_valid "$work/open/here/api.pb"
finish
