# SPDX-License-Identifier: BSD-3-Clause
# A Python program that profiles its interpreter from inside, through ctypes.
#
#     python3 11-python.py
#       -> 1 samples or more: yes
#     cprof top -cum 11-python.pb
#       -> Py
#     cprof tags 11-python.pb
#       -> route
#
# Modes that hook functions (heap, locks) see more when the library is preloaded: a program that is
# running has bound most of its calls already.
import ctypes
import os

cprof = ctypes.CDLL("libcprof.so")


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("cpu_path", ctypes.c_char_p),
        ("wall_path", ctypes.c_char_p),
        ("heap_path", ctypes.c_char_p),
        ("lock_path", ctypes.c_char_p),
        ("frequency", ctypes.c_uint),
        ("max_depth", ctypes.c_uint),
        ("unwind", ctypes.c_char_p),
        ("symbolize", ctypes.c_char_p),
        ("checkpoint_ms", ctypes.c_longlong),
        ("dump_signal", ctypes.c_int),
        ("labels", ctypes.c_char_p),
        ("wall_frequency", ctypes.c_uint),
        ("lock_threshold_ns", ctypes.c_longlong),
        ("heap_interval", ctypes.c_ulonglong),
        ("heap_mmap", ctypes.c_int),
        ("reserved", ctypes.c_ulonglong),
    ]


class Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in (
            "samples expiries lost_ring lost_memory lost_thread lost_paused "
            "truncated incomplete period handler_ns dumps dump_failures"
        ).split()
    ]


def check(error):
    if error < 0:
        raise OSError(-error, os.strerror(-error))


options = Options(size=ctypes.sizeof(Options), cpu_path=b"11-python.pb", frequency=250)
check(cprof.cprof_start(ctypes.byref(options)))
check(cprof.cprof_label_set(b"route", b"/squares"))
total = sum(i * i for i in range(5_000_000))
check(cprof.cprof_label_clear(b"route"))
check(cprof.cprof_stop())
stats = Stats(size=ctypes.sizeof(Stats))
check(cprof.cprof_get_stats(ctypes.byref(stats)))
print("1 samples or more:", "yes" if stats.samples else "no")
