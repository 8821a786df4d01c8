# SPDX-License-Identifier: BSD-3-Clause
# A program gives up root in steps. Our thread must follow each: where it couldn't, libc would abort the program, and a
# thread would be left with what the program has given up.
. "$srcdir/tests/lib/e2e.sh"
[ "$(id -u)" = 0 ] || skip "only root has something to give up"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000 WALLPROFILE_FREQUENCY=100
chmod 777 "$work"
# libc doesn't know our task, also in a program that has several threads.
for words in keep drop drop-by-number by-number bounded threads \
	"keep threaded" "drop threaded" "drop-by-number threaded" "by-number threaded" "bounded threaded"; do
	way=${words/ /-}
	bare "$way-bare" ./tests/traps/credentials/host $words
	[ "$status" = 0 ] || { echo "# $way is not permitted here: $(head -n 1 "$work/$way-bare.out")"; continue; }
	WALLPROFILE="$work/$way.wall.pb" profiled $way ./tests/traps/credentials/host $words
	check_ended_valid $way 0 "$way-bare"
	check_valid_as wall "$work/$way.wall.pb"
done
# Each dump that was requested before our task ended is there.
ends_well profiled dumps ./tests/traps/credentials/host dumps
[ "$(ls "$work"/dumps.00??.pb | wc -l)" = 10 ] || fail "dumps: $(ls "$work" | grep dumps | tr '\n' ' ')"
check_valid "$work/dumps.0010.pb"
# The same by a program that nobody here wrote.
if command -v setpriv >/dev/null; then
	ends_well profiled setpriv setpriv --reuid=65534 --regid=65534 --clear-groups /bin/echo done
	[ "$(cat "$work/setpriv.out")" = done ] || harm "setpriv: $(cat "$work/setpriv.err")"
fi
finish
