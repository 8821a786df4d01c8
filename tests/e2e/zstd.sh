#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# zstd compressing with two threads.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/programs.sh"
need zstd seq

make_data "$work/data"
both zstd zstd -q -T2 -9 -c "$work/data"
check_profile "$work/zstd.pb"
check_module "$work/zstd.pb" 80 '^(libzstd|zstd|ZSTD_|HUF_|FSE_|XXH|HIST_|__mem)'
check_stack "$work/zstd.pb" ';start_thread;(__)?clone3?$'
zstd -qdc <"$work/zstd.out" | cmp -s - "$work/data" || fail "what zstd wrote can't be read back"
finish
