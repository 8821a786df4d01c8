# SPDX-License-Identifier: BSD-3-Clause
# Text from outside reaches a terminal in one way only: in the tool, stdout and stderr behind the guard of
# tools/core/out_guard.c; in the library, cp_log. Nothing else writes to standard output or error.
set -u
cd "${srcdir:-.}" || exit 1
failed=0
found() { # what, lines
	[ -n "$2" ] || return 0
	echo "$1:"
	echo "$2"
	failed=1
}
# What goes past the guard: descriptors 1 and 2 by number, other streams on them, the terminal itself. Files that may.
past='\<(dprintf|vdprintf)\(|\<(write|writev|fdopen|splice|sendfile)\((1|2|STD(OUT|ERR)_FILENO)\>|/dev/(tty|std|fd)|\<perror\(|\<psignal\(|\<error\(|ct_out_guard_past\('
allowed='^tools/core/out_guard\.c:|^tools/core/out\.h:|^tools/core/write\.c:|^tools/convert/convert\.c:|^tools/live/live_screen\.c:'
echo 'int main(void) { dprintf(1, "%s", name); }' | grep -Eq "$past" || found "this check sees nothing" x
found "goes past the guard of tools/core/out_guard.c" \
	"$(grep -rnE --include='*.c' "$past" tools | grep -Ev "$allowed")"
grep -A4 '^int main' tools/main.c | grep -q 'ct_out_guard();' || found "main doesn't begin with ct_out_guard" tools/main.c
# The library: base/log.c alone.
past='\<(dprintf|printf|puts|fputs|perror|psignal)\(|\<(write|cp_sys_write|cp_fdwrite_all|cp_log_put)\((1|2|STD(OUT|ERR)_FILENO)\>|\<std(out|err)\>'
found "prints past cp_log" "$(grep -rnE --include='*.[ch]' "$past" lib preload | grep -Ev '^lib/base/log\.[ch]:|: ?[/ ]\*|//|/\*|^[^:]*:[0-9]*:[ 	]*\*')"
exit $failed
