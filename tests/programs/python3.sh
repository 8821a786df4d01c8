# SPDX-License-Identifier: BSD-3-Clause
about="python3: its own test modules: threads, forks, signals, sockets, subprocesses, memory"
packages="python3 libpython3.11-testsuite"
needs="/usr/bin/python3"
interval=64
at_least lock 1

modules="test_json test_fork1 test_mmap test_re test_zlib test_threading test_gc test_exceptions test_signal"
# Not test_socket: it waits for ever for a virtual machine's socket where there is one. PYTHON_MODULES="..." tries others.

load() {
	python=$(/usr/bin/python3 -c 'import sys; print(sys.executable)')
	run "$python" -m test -q ${PYTHON_MODULES:-$modules} 2>&1
	echo "status $?"
}

normalize() {
	sed -E 's/load avg: [0-9.]+//; s/[0-9.]+ (ms|sec|min)[ 0-9a-z.]*//g; s/^[0-9:]+ +\[/[/'
}

verify() {
	has cpu '_PyEval_EvalFrameDefault;.*(Py_BytesMain|_start)'
	has lock 'PyThread_acquire_lock_timed|take_gil|sem_'
}
