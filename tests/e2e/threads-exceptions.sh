# SPDX-License-Identifier: BSD-3-Clause
# A C++ program with threads, templates, lambdas, and exceptions thrown through them.
. "$srcdir/tests/lib/programs.sh"

both shop ./tests/e2e/threads-exceptions
check_status shop 0
check_profile "$work/shop.pb"
check_top "$work/shop.pb" 1 shop::mix
check_stack "$work/shop.pb" '	shop::mix;.*shop::Pricer::price;shop::work;.*start_thread;(__)?clone3?$'
# Samples while an exception is on its way have their callers, too.
check_stack "$work/shop.pb" '_Unwind_.*shop::Pricer::price;shop::work;.*start_thread;(__)?clone3?$'
"$pprof_check" --raw "$work/shop.pb" | grep -q '[;	]_Z' && fail "a mangled name is left"
finish
