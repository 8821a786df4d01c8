# Trap: a relative name of a profile is a template, the directory that it is in is none: a % there, even
# before a letter that stands for something, is a %. What a dump is given is a name as it stands.
. "$srcdir/tests/lib/e2e.sh"
need timeout

for where in d%percent 100%p %; do
	mkdir "$work/$where"
	bare names timeout -s KILL 60 ./tests/traps/start-stop names "$work/$where"
	check_status names 0
	[ ! -s "$work/names.out" ] || fail "in $where: $(cat "$work/names.out")"
	check_quiet names
	check_valid "$work/$where/cprof.pb" "$work/$where/100%dump.pb" "$work/$where/gperftools.pb"
	check_valid_as heap "$work/$where/memory.0001.heap"
done
finish
