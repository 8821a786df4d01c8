# SPDX-License-Identifier: BSD-3-Clause
# The walk of each instruction of a piece of xz against an exact oracle: `make oracle` for a minute on more
# programs, in short.
. "$srcdir/tests/lib/e2e.sh"

need xz
[ -e tests/oracle/.libs/agent.so ] || skip "the oracle's agent was not built"
ORACLE_STEPS=20000 bash "$srcdir/tests/oracle/oracle.sh" xz >"$work/log" 2>&1 || fail "$(cat "$work/log")"
tail -n 5 "$work/log"
finish
