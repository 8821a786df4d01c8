# Trap: a signal of ours comes together with one of the program's that is to end a blocking call. Our
# handlers restart calls, and where the kernel delivers ours first the call goes on for ever. And a
# handler of the program's for SIGPROF, which we call, ends calls as it says.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/interrupts
limit="timeout -s KILL 20"
for call in read readv2 recv recvmmsg sendmmsg wait waitv sem lock open creat openat2; do
	for how in sample dump own; do
		bare "bare-$how-$call" $host $how $call
		check_status "bare-$how-$call" 0
		profiled "$how-$call" $host $how $call
		check_status "$how-$call" 0
		check_same_output "$how-$call" "bare-$how-$call"
	done
done
for how in restart own-restart; do
	profiled "$how" $host $how
	check_status "$how" 0
done
for file in "$work"/*.pb; do
	check_valid "$file"
done
finish
