# SPDX-License-Identifier: BSD-3-Clause
# The I/O mode: exact counts, rows with labels, delay as the program measures it.
. "$srcdir/tests/lib/io.sh"
host=$builddir/tests/e2e/io-host
export CPROF_CHECKPOINT=0

bare plain "$host" counts "$work" 1000
io_profiled counts "$host" counts "$work" 1000
check_ended counts 0 plain
check_valid_as io "$work/counts.pb"
check_io_counts "$work/counts.pb" "write pipe" 1001 7001 0
check_io_counts "$work/counts.pb" "read pipe" 2050 7000 50
check_io_counts "$work/counts.pb" "send unix" 1000 100000 0
check_io_counts "$work/counts.pb" "recv unix" 1000 100000 0
check_io_counts "$work/counts.pb" "send tcp" 1000 100000 0
check_io_counts "$work/counts.pb" "recv tcp" 1000 100000 0
check_io_counts "$work/counts.pb" "connect tcp" 1 0 0
check_io_counts "$work/counts.pb" "accept tcp" 1 0 0
check_io_counts "$work/counts.pb" "write file" 1001 4096001 0
check_io_counts "$work/counts.pb" "write unix" 1 1 0
check_io_counts "$work/counts.pb" "read file" 1000 4096000 0
check_io_counts "$work/counts.pb" "sync file" 2 0 0
check_io_counts "$work/counts.pb" "open path" 52 0 50
check_io_counts "$work/counts.pb" "unlink path" 2 0 0
check_io_counts "$work/counts.pb" "stat path" 1 0 0
check_io_counts "$work/counts.pb" "stat file" 1 0 0
check_stack "$work/counts.pb" 'op=write,kind=pipe,size=4.*write;pipes;'
check_io_rows_sum "$work/counts.pb"
"$pprof_check" --comments "$work/counts.pb" | grep -Eq '^calibrated: calls [0-9]+, delay [0-9]+, bytes [0-9]+, errors 0 ' ||
	fail "how sure rows are isn't told: $("$pprof_check" --comments "$work/counts.pb")"
# Errors that are few among many calls are all seen.
[ "$(io_values "$work/counts.pb" ';pipes[;.]' 'error=EAGAIN' | cut -d' ' -f1,3,4)" = "50 0 50" ] ||
	fail "failed reads of many: $(io_values "$work/counts.pb" ';pipes[;.]' 'error=EAGAIN')"

# A row of an op and kind of its own is exact, however few of its calls were chosen.
ends_well io_profiled all "$host" counts "$work" 20
[ "$(io_values "$work/all.pb" ';pipes[;.]' 'op=read' | cut -d' ' -f1,3,4)" = "41 140 1" ] ||
	fail "reads of pipes: $(io_values "$work/all.pb" ';pipes[;.]' 'op=read')"
[ "$(io_values "$work/all.pb" ';pipes[;.]' 'error=EAGAIN' | cut -d' ' -f1,3,4)" = "1 0 1" ] ||
	fail "failed reads: $(io_values "$work/all.pb" ';pipes[;.]' 'error=EAGAIN')"
[ "$(io_values "$work/all.pb" ';sockets[;.].*thread[;.]' 'op=recv,kind=tcp' | cut -d' ' -f1,3,4)" = "20 2000 0" ] ||
	fail "receives: $(io_values "$work/all.pb" ';sockets[;.]' 'op=recv')"
[ "$(io_values "$work/all.pb" ';files[;.]' 'op=write,kind=file,size=4096' | cut -d' ' -f1,3,4)" = "20 81920 0" ] ||
	fail "writes: $(io_values "$work/all.pb" ';files[;.]' 'op=write')"

# Rows sum to what was counted in every dump, whatever becomes of the threads.
ends_well io_profiled crowd "$host" crowd "$work"
for dump in crowd.0001 crowd.0002 crowd; do
	check_valid_as io "$work/$dump.pb"
	check_io_rows_sum "$work/$dump.pb"
done
check_io_counts "$work/crowd.pb" "write device" 3360 3233600 0
check_io_counts "$work/crowd.pb" "open path" 320 0 159
check_io_counts "$work/crowd.pb" "poll epoll" 2 0 0
[ "$(io_values "$work/crowd.pb" ';fails[;.]' | cut -d' ' -f1,4)" = "159 159" ] ||
	fail "failing opens: $(io_values "$work/crowd.pb" ';fails[;.]')"
check_no_stack "$work/crowd.pb" 'not sampled'

# What a call was made on is kept only on request.
check_no_stack "$work/all.pb" 'target='
for allowed in last full; do
	CPROF_IO_TARGET=$allowed io_profiled $allowed "$host" counts "$work" 20
	check_valid_as io "$work/$allowed.pb"
	check_same_output $allowed plain
done
check_stack "$work/last.pb" 'op=write,kind=file,size=4096.*,target=file[^/]'
check_no_stack "$work/last.pb" 'target=[^,]*/|target=127'
check_stack "$work/full.pb" "op=write,kind=file,size=4096.*,target=$work/file[^/]"
check_stack "$work/full.pb" "op=open,kind=path,error=ENOENT,target=/nonexistent/x"
check_stack "$work/full.pb" 'op=recv,kind=tcp,size=64.*,target=127.0.0.1:[0-9]+'

# What goes through io_uring isn't seen, and the file says so.
io_profiled uring "$host" uring "$work"
if [ $status != 77 ]; then
	check_status uring 0
	"$pprof_check" --comments "$work/uring.pb" | grep -q 'uses io_uring' || fail "nothing is said of io_uring"
fi
! "$pprof_check" --comments "$work/all.pb" | grep -q 'uses io_uring' || fail "io_uring is seen where it isn't used"

# Delay as the program measures it around each call.
ends_well io_profiled delays "$host" delays "$work"
while read -r function ns ready; do
	# Where a sync waits for no disk, most of what the program measures is the profiler's first look at the file.
	[ "$function" != syncs ] || [ "$(stat -f -c %T "$work")" != tmpfs ] || continue
	op=$(case $function in reads_pipe) echo read ;; receives) echo recv ;; polls) echo poll ;; syncs) echo sync ;; esac)
	got=$(io_values "$work/delays.pb" ";$function[;.]" "op=$op" | cut -d' ' -f2)
	# Without a processor, the program may be at the call's begin or end, where only it measures.
	awk -v got="$got" -v want="$ns" -v ready="$ready" \
		'BEGIN { exit !(got <= want * 1.05 && got >= want * 0.95 - ready) }' ||
		fail "$function: $got ns of delay, not $ns to 5 % and at most $ready less"
done <"$work/delays.out"
finish
