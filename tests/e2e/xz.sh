# SPDX-License-Identifier: BSD-3-Clause
# xz compressing with two threads: its work is in a library without a symbol table.
. "$srcdir/tests/lib/programs.sh"
need xz seq

make_data "$work/data"
both xz xz -T2 -2 -c "$work/data"
check_profile "$work/xz.pb"
check_module "$work/xz.pb" 80 '^(liblzma|lzma_|__mem)'
check_stack "$work/xz.pb" '(liblzma|lzma).*;start_thread;((__)?clone3?|thread_start)$' # Debian's debug symbols name aarch64's clone so
"$pprof_check" --main "$(readlink -f "$(command -v xz)")" "$work/xz.pb" || fail "xz is not the main mapping"
xz -dc <"$work/xz.out" | cmp -s - "$work/data" || fail "what xz wrote can't be read back"
finish
