# SPDX-License-Identifier: BSD-3-Clause
# bash and zsh complete cprof's verbs, options and files.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
. "$srcdir/completions/bash/cprof"
PATH=$builddir:$PATH
touch "$work/some.pb"

completes() { # want words...
	want=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_cprof
	[ "${COMPREPLY[*]}" = "$want" ] || fail "$*: \"${COMPREPLY[*]}\", not \"$want\""
}

completes "threads top timeline tree tags" cprof t
completes "--help" cprof --h
completes "-focus" cprof top -fo
completes "--tagfocus --tagignore" cprof top --tag
completes "-keep" cprof strip-labels -k
completes "$work/some.pb" cprof top "$work/so"
completes "info" cprof help in
completes "$$" cprof dump "$$"
completes "$$" cprof live "$$"
for verb in ps push record serve set; do
	completes "$$" cprof $verb "$$"
done
if command -v zsh >/dev/null; then
	zsh -n "$srcdir/completions/zsh/_cprof" || fail "zsh can't read its completion"
fi
finish
