#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A python3 script with its libraries, exceptions, threads and subprocesses.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/programs.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
need "$python"

cat >"$work/script.py" <<'PY'
import hashlib, json, re, subprocess, sys, threading

def primes(n):
    found = []
    for i in range(2, n):
        if all(i % p for p in found if p * p <= i):
            found.append(i)
    return found

def parse(n):
    bad = 0
    for i in range(n):
        try:
            json.loads('{"a": [%d, "x", {"b": null}]%s' % (i, "}" if i % 3 else ""))
        except ValueError:
            bad += 1
    return bad

def hash_in_threads():
    out = [None] * 3
    def work(k):
        out[k] = hashlib.sha256(b"x" * (64 << 20)).hexdigest()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    return out

print(len(primes(40000)), parse(150000), hash_in_threads())
print(len(re.findall(r"(a+)+b", "aab" * 1000)))
print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True).stdout)
sys.exit(3)
PY
both python "$python" "$work/script.py"
check_status python 3
check_profile "$work/python.pb"
check_top "$work/python.pb" 5 _PyEval_EvalFrameDefault
check_stack "$work/python.pb" '_PyEval_EvalFrameDefault;.*;Py_(BytesMain|RunMain);.*_start$'
check_stack "$work/python.pb" ';start_thread;(__)?clone3?$'
finish
