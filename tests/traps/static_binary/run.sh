# SPDX-License-Identifier: BSD-3-Clause
# A static program: LD_PRELOAD has no effect, and does no harm. So it is documented.
. "$srcdir/tests/lib/e2e.sh"
echo 'int main(void) { return 9; }' >"$work/static.c"
# shellcheck disable=SC2086  # CC may hold flags
$CC -static -o "$work/static" "$work/static.c" 2>/dev/null || skip "no static libc here"
profiled static "$work/static"
check_ended static 9
[ -e "$work/static.pb" ] && fail "a profile of a static program: what is in it?"
finish
