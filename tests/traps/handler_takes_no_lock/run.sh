# SPDX-License-Identifier: BSD-3-Clause
# The handler takes a lock that the interrupted code holds: the loader's, malloc's, libunwind's.
. "$srcdir/tests/lib/e2e.sh"
modules=
for m in libm.so.6 libresolv.so.2 libnsl.so.1 libutil.so.1 libz.so.1; do
	for dir in /lib /usr/lib /lib64 /usr/lib64 /lib/*-linux-gnu /usr/lib/*-linux-gnu; do
		[ -e "$dir/$m" ] && modules="$modules $dir/$m" && break
	done
done
if [ "${CP_LIBC:-glibc}" != glibc ]; then
	modules=$work/module.so
	echo 'int needed;' | $CC -fPIC -shared -o "$modules" -x c - || skip "no compiler"
fi
[ -n "$modules" ] || skip "no library to load"
# Not profiled itself: it could hang, too.
limit=$bounded
ends_well bare bare ./tests/traps/handler_takes_no_lock/host 0.1 $modules
for unwind in dwarf fp libunwind; do
	CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=10000 profiled "$unwind" ./tests/traps/handler_takes_no_lock/host 1.2 $modules
	check_ended_valid "$unwind" 0 bare
done
finish
