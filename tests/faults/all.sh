# SPDX-License-Identifier: BSD-3-Clause
# make faults: everything that walk.sh and tool.sh have; or `all.sh CALL:HOW...`, that alone. Goes on after a failure.
set -u
: "${srcdir:?is the source directory}"
here=$srcdir/tests/faults
status=0

walk() { # what, then walk.sh's arguments
	echo "==> $1"
	shift
	bash "$here/walk.sh" "$@" || status=1
}

if [ $# -gt 0 ]; then
	walk "$*" "$@"
	exit $status
fi
walk "a preloaded program, every call"
FAULT_WAY=api walk "a program that starts and stops by itself" mmap:ENOMEM mmap:ENOMEM+/3 timer_create:EAGAIN+ clone3:EAGAIN \
	clone:EAGAIN openat:EMFILE/3 openat:EMFILE+/3 write:ENOSPC write:ENOSPC+ write:short ppoll:EINTR ppoll:ENOMEM fsync:EIO renameat:EACCES+
FAULT_WAY=launched walk "a shell that becomes the program" linkat:EPERM linkat:EIO linkat:ENOSPC+ renameat2:EACCES newfstatat:EACCES \
	write:ENOSPC+/5
FAULT_SYMBOLIZE=full walk "the helper at the end" clone:EAGAIN clone:ENOMEM+ execve:ENOENT wait4:EINTR wait4:ECHILD close_range:ENOSYS \
	dup3:EMFILE setsid:EPERM chdir:EACCES setitimer:EINVAL prctl:EPERM faccessat:EACCES
CPROF_CPU_ENGINE=perf walk "perf events" perf_event_open:EMFILE perf_event_open:EMFILE+ perf_event_open:EACCES mmap:EAGAIN/9
echo "==> cprof"
bash "$here/tool.sh" || status=1
exit $status
