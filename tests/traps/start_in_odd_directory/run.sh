# SPDX-License-Identifier: BSD-3-Clause
# Trap: a relative name of a profile is a template, but its directory is not: a % in the directory's name, even before
# a template's letter, is a %. The name that is given to a dump is used as it is.
. "$srcdir/tests/lib/e2e.sh"
need timeout

for where in d%percent 100%p %; do
	mkdir "$work/$where"
	bare names timeout -s KILL 60 ./tests/traps/hosts/start-stop names "$work/$where"
	check_status names 0
	[ ! -s "$work/names.out" ] || fail "in $where: $(cat "$work/names.out")"
	check_quiet names
	check_valid "$work/$where/cprof.pb" "$work/$where/100%dump.pb" "$work/$where/gperftools.pb"
	check_valid_as heap "$work/$where/memory.0001.heap"
done
finish
