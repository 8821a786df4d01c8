# SPDX-License-Identifier: BSD-3-Clause
# Trap: a thread that libc doesn't know waits in a futex; its TLS is another thread's, or holds none of libc's data.
# Its waits are counted, and have a stack once the sweep has found the thread.
. "$srcdir/tests/lib/lock.sh"
same_as_bare lock on ./tests/traps/lock_foreign_threads/host
[ "$(lock_values "$work/on.pb" '^([[]waits without a stack[]]$|[[]short waits[]]$|syscall;)' | cut -d' ' -f1)" = 300 ] ||
	fail "not 300 waits: $("$pprof_check" --raw "$work/on.pb")"
finish
