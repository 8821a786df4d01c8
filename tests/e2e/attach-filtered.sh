# SPDX-License-Identifier: BSD-3-Clause
# cprof attach into processes with seccomp filters: those that let the library live are attached to, and go on undisturbed;
# all others are refused before anything is done, with the system call for which.
. "$srcdir/tests/lib/attach.sh"

[ "$(id -u)" = 0 ] || skip "only root reads filters"
[ "$(sed -n 's/^Seccomp:[^0-9]*//p' /proc/self/status)" = 0 ] || skip "a process with a filter reads no others"

# The numbers of system calls, as attach-host takes them.
numbers() { # name...
	printf 'SYS_%s\n' "$@" | $CC -E -P -include sys/syscall.h - | sed -n 's/^ *\([0-9][0-9]*\) *$/\1/p' | paste -s -d ,
}

# What Docker's default profile refuses, and what a systemd unit with SystemCallFilter=@system-service is killed for.
docker="errno1:allow:$(numbers acct add_key bpf clock_adjtime clock_settime delete_module finit_module init_module ioperm iopl kcmp \
	kexec_load keyctl mount move_pages open_by_handle_at perf_event_open pivot_root process_vm_readv process_vm_writev ptrace reboot \
	request_key setns settimeofday swapon umount2 unshare userfaultfd)"
no_clone3="errno38:allow:$(numbers clone3)"
service="kill:allow:$(numbers bpf chroot clock_settime delete_module init_module iopl kexec_load lookup_dcookie mount perf_event_open \
	pidfd_getfd pivot_root ptrace reboot swapon umount2)"

# All that attach and the library may call, as the tool has it, and what attach-host calls besides: anything else kills.
known=$(sed -n '/^static const struct ct_seccomp_call calls/,/^}/p' "$srcdir/tools/attach/seccomp.c" |
	grep -oE '(TRIED|NEEDED|WITH)\([a-z0-9_]+' | sed 's/.*(//' | sort -u)
[ "$(echo "$known" | wc -l)" -gt 80 ] || fail "the table of calls isn't found"
listed="allow:kill:$(numbers $known epoll_create1 epoll_wait poll)"

# Attaches to a process with these filters, records in all modes, detaches, and attaches again.
goes_well() { # name spec...
	unaware "$1" filter "${@:2}"
	records_and_detaches "$1"
}

records_and_detaches() { # name
	(cd "$work" && timeout 60 "$cprof" attach "$work_pid" -cpu -wall -heap=1 -lock -io -for=300ms >"$1.said" 2>&1) ||
		fail "$1: $(cat "$work/$1.said")"
	cprof "$1-detach" detach "$work_pid"
	check_status "$1-detach" 0
	cprof "$1-again" attach "$work_pid"
	check_status "$1-again" 0
	is_undisturbed "$1"
}

refuses() { # name regex what...
	unaware "$1" "${@:3}"
	cprof "$1-attach" attach "$work_pid"
	refused "$1-attach" "$2"
	is_undisturbed "$1"
}

is_undisturbed() { # name
	ended_well "$1"
	grep -q '^undisturbed' "$work/$1.out" || harm "$1: $(cat "$work/$1.out")"
}

# A container: its own mounts, pids, users and network, a root without the library, and Docker's filter.
in_container() { # command...
	exec unshare --user --map-root-user --mount --pid --net --fork sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' - "$work/root" "$@"
}
is_container() {
	work_pid=$(pgrep -P "$pid") && grep -q '^up' "$work/container.out"
}
mkdir -p "$work/root/proc"
for file in "$builddir/tests/e2e/attach-host" $(ldd "$builddir/tests/e2e/attach-host" | grep -o '/[^ ]*'); do
	mkdir -p "$work/root/$(dirname "$file")"
	cp -L "$file" "$work/root/$file"
done
if (in_container true) 2>/dev/null; then
	unaware_program=in_container unaware container chroot "$work/root" "$builddir/tests/e2e/attach-host" filter "$docker"
	wait_for 60 is_container || fail "no container: $(cat "$work/container.err")"
	records_and_detaches container
else
	echo "SKIP container: unshare isn't allowed"
fi

goes_well all allow:allow:0
goes_well docker "$docker"
goes_well docker-clone3 "$docker" "$no_clone3"
goes_well service "$service"
goes_well both "$docker" "$service" "$no_clone3"
goes_well listed "$listed"
refuses kills 'filter that kills or stops it for the system call timer_create, which the library makes' filter "kill:allow:$(numbers timer_create)"
refuses traps 'kills or stops it for the system call sigaltstack, which attach needs' filter "trap:allow:$(numbers sigaltstack)"
refuses traced 'kills or stops it for the system call prctl' filter "trace:allow:$(numbers prctl)"
refuses notifies 'kills or stops it for the system call openat' filter "notify:allow:$(numbers openat)"
refuses no-restart 'for the system call restart_syscall, which attach needs' filter "kill:allow:$(numbers restart_syscall)"
refuses no-socket 'refuses the system call socket, which attach needs' filter "$docker" "errno13:allow:$(numbers socket)"
refuses no-thread 'refuses the system call clone3' filter "errno1:allow:$(numbers clone3)"
refuses strict 'kills or stops it for' filter "allow:kill:$(numbers read write exit exit_group clock_nanosleep poll epoll_wait epoll_create1 futex \
	restart_syscall getpid getrandom mmap mprotect munmap clone clone3 set_robust_list rseq rt_sigaction rt_sigprocmask close madvise fstat newfstatat brk)"
refuses differs 'its threads have different seccomp filters' half-filtered allow:allow:0
if command -v setpriv >/dev/null; then
	unaware private filter allow:allow:0
	status=0
	setpriv --bounding-set -sys_admin --inh-caps -sys_admin -- "$cprof" attach "$work_pid" >"$work/private-attach.out" 2>"$work/private-attach.err" || status=$?
	refused private-attach "Only root may read .*sudo cprof attach $work_pid"
	is_undisturbed private
fi
finish
