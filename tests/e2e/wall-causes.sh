# SPDX-License-Identifier: BSD-3-Clause
# The cause of each wait in a wall profile, with the kind of its descriptor.
. "$srcdir/tests/lib/e2e.sh"

bare causes env LD_PRELOAD="$CP_LIBRARY" CPROF_FOLLOW=0 WALLPROFILE="$work/causes.pb" ./tests/e2e/wall-causes-host
check_ended causes 0
check_valid_as wall "$work/causes.pb"

# Of each function, "cause kind" of the samples in which it waited where it stays. A thread may be seen once on its way
# there, for a moment; it waits for a second.
"$pprof_check" --raw "$work/causes.pb" | awk -F'\t' '
	function label(key,  m) { return match($2, "(^|,)" key "=[^,]*") ? substr($2, RSTART + length(key) + (RSTART > 1) + 1, RLENGTH - length(key) - (RSTART > 1) - 1) : "none" }
	match($3, /(^|;)wait_[a-z]+_[a-z]+;/) {
		f = substr($3, RSTART, RLENGTH); gsub(/;/, "", f)
		split($1, v, ","); ns[f "\t" label("wait") " " label("kind") " " (label("fd") == "none" ? "" : "fd")] += v[2]
	}
	END { for (k in ns) { split(k, p, "\t"); if (ns[k] > most[p[1]]) { most[p[1]] = ns[k]; what[p[1]] = p[2] } }
	      for (f in what) print f, what[f] }' | sort >"$work/seen"
sort >"$work/wanted" <<'END'
wait_lock_none lock none 
wait_lock_rwlock lock none 
wait_lock_flock lock file fd
wait_lock_fcntl lock file fd
wait_disk_getdents disk file fd
wait_lock_again lock none 
wait_lock_stream lock none 
wait_lock_word lock none 
wait_condition_none condition none 
wait_semaphore_none semaphore none 
wait_barrier_none barrier none 
wait_thread_none thread none 
wait_sleep_none sleep none 
wait_sleep_poll sleep none 
wait_sleep_select sleep none 
wait_pipe_pipe pipe pipe fd
wait_pipe_fifo pipe pipe fd
wait_pipe_eventfd pipe eventfd fd
wait_network_unix network unix fd
wait_network_tcp network tcp fd
wait_network_udp network udp fd
wait_network_peer network tcp fd
wait_poll_none poll none 
wait_poll_many poll none 
wait_poll_select poll none 
wait_poll_epoll poll epoll fd
wait_poll_inotify poll inotify fd
wait_child_none child none 
wait_timer_timerfd timer timerfd fd
wait_terminal_tty terminal tty fd
wait_signal_none signal none 
wait_signal_signalfd signal signalfd fd
END
grep -q "no getdents" "$work/causes.out" && sed -i '/getdents/d' "$work/wanted" # the kernel refuses the filter
# These wait in functions of libc without a frame: on aarch64 their callers aren't known (limits.md).
[ "$(uname -m)" != aarch64 ] || sed -i '/_getdents \|_flock \|_rwlock \|_word /d' "$work/wanted" "$work/seen"
diff "$work/wanted" "$work/seen" >"$work/differs" || fail "causes: $(cat "$work/differs")"
finish
