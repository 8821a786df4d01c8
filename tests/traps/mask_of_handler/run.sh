# SPDX-License-Identifier: BSD-3-Clause
# A handler whose sa_mask has SIGPROF saves and restores the mask: the kernel had blocked it, not the
# program, and when the handler has returned it is not blocked.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/mask_of_handler/host
CPUPROFILE_FREQUENCY=1000 same_as_bare cpu masks "$host"
check_valid "$work/masks.pb"
check_stack "$work/masks.pb" 'burn.*;after_handlers'

bare bare-exec "$host" exec "$host"
profiled exec "$host" exec "$host"
check_ended exec 0 bare-exec
finish
