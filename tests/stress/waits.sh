# SPDX-License-Identifier: BSD-3-Clause
# Ten minutes (WAITS_SECONDS) of every call that could be interrupted, each under the wall clock
# alone, together with the CPU mode, and where /proc shows nothing: no EINTR.
set -u
export WAITS_SECONDS=${WAITS_SECONDS:-600}
exec bash "$srcdir/tests/traps/eintr_wall/run.sh"
