# SPDX-License-Identifier: BSD-3-Clause
# Children of a fork that live for less than a period: all of them are sampled, or none, since each goes on where
# the parent was. Half a period each, half of them have a sample: less than 3 of 32, or more than 29, by chance once in
# four million runs.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
CPUPROFILE_FREQUENCY=20 CPROF_CPU_ENGINE=timer runs_well profiled many ./tests/traps/hosts/forks many
files=$(find "$work" -name 'many.pb.*' | wc -l)
echo "$files of 32 children have a sample"
[ "$files" -ge 3 ] && [ "$files" -le 29 ] || fail "$files of 32 children have a sample"
finish
