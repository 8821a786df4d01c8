# SPDX-License-Identifier: BSD-3-Clause
# Ten seconds of tests/stress/storm.sh: exceptions, dlclose, dl_iterate_phdr, recursion, longjmp, coroutines, alternate
# stacks and short threads at once, and each planted function has its own module and its true caller.
STORM_SECONDS=10
. "$srcdir/tests/stress/storm.sh"
