# SPDX-License-Identifier: BSD-3-Clause
"""libcprof from Python: start and stop profiles of this process, and label what its threads work on.

    import cprof

    cprof.start(cpu="app.pb")

    @cprof.labels(job="import")
    def import_all():
        with cprof.labels(file="a.csv"), cprof.span("read"):
            ...

    cprof.stop()

The library is the one that is already loaded (LD_PRELOAD), else the one that CPROF_LIBRARY names, else
libcprof.so.0 of the system. Labels and spans belong to a thread. In asyncio all tasks of a loop share one thread, so
enter a label and leave it without an await in between.
"""
import ctypes
import functools
import os

__all__ = ["CPU", "WALL", "HEAP", "LOCK", "IO", "EVENT", "HEAP_PEAK", "HEAP_MMAP", "HEAP_LIFETIMES", "HEAP_FRAGMENTATION", "LOCK_HOLDERS", "LOCK_WAKERS", "IO_WAKERS", "OFF",
           "clear_labels", "dump", "dump_last", "label", "labels", "labels_inherit", "pause", "resume", "span", "span_stats", "start", "stats", "stop", "version"]

CPU, WALL, HEAP, LOCK, IO, EVENT = 0, 1, 2, 3, 4, 5
HEAP_PEAK, HEAP_MMAP, LOCK_HOLDERS, LOCK_WAKERS, HEAP_LIFETIMES, HEAP_FRAGMENTATION, IO_WAKERS = 16, 17, 18, 19, 20, 21, 22
#: Turns off what is on by default: checkpoint_ms, dump_signal, lock_threshold_ns.
OFF = -1
_VALUE_BYTES = 128


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("cpu_path", ctypes.c_char_p), ("wall_path", ctypes.c_char_p),
                ("heap_path", ctypes.c_char_p), ("lock_path", ctypes.c_char_p), ("frequency", ctypes.c_uint),
                ("max_depth", ctypes.c_uint), ("unwind", ctypes.c_char_p), ("symbolize", ctypes.c_char_p),
                ("checkpoint_ms", ctypes.c_longlong), ("dump_signal", ctypes.c_int), ("labels", ctypes.c_char_p),
                ("wall_frequency", ctypes.c_uint),
                ("lock_threshold_ns", ctypes.c_longlong), ("heap_interval", ctypes.c_ulonglong),
                ("heap_mmap", ctypes.c_int), ("reserved", ctypes.c_ulonglong), ("io_path", ctypes.c_char_p),
                ("event_path", ctypes.c_char_p), ("event", ctypes.c_char_p), ("event_period", ctypes.c_uint),
                ("times", ctypes.c_char_p)]


class _Scope(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("before", ctypes.c_char * _VALUE_BYTES), ("had", ctypes.c_int)]


class _Span(ctypes.Structure):
    _fields_ = [("start_ns", ctypes.c_uint64), ("name", ctypes.c_char_p), ("serial", ctypes.c_uint32),
                ("outer", ctypes.c_uint32), ("label", _Scope), ("kind", ctypes.c_void_p), ("thread", ctypes.c_void_p),
                ("cpu_ns", ctypes.c_uint64), ("allocated", ctypes.c_uint64), ("weight", ctypes.c_uint)]


class _SpanStats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "count", "sum_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "cpu_ns", "wait_ns",
        "allocated_bytes")]


class _Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "samples", "expiries", "lost_ring", "lost_memory", "lost_thread", "lost_paused", "truncated", "incomplete",
        "period", "handler_ns", "dumps", "dump_failures")]


def _path():
    """The library to load; None: the process has it already."""
    try:
        ctypes.CDLL(None).cprof_version
        return None
    except AttributeError:
        return os.environ.get("CPROF_LIBRARY", "libcprof.so.0")


# Calls that may take long release the interpreter's lock; labels and spans are shorter than that would take.
_library = ctypes.CDLL(_path())
_quick = ctypes.PyDLL(_path())


def _declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


_start = _declare(_library, "cprof_start", ctypes.c_int, ctypes.POINTER(_Options))
_stop = _declare(_library, "cprof_stop", ctypes.c_int)
_stop_mode = _declare(_library, "cprof_stop_mode", ctypes.c_int, ctypes.c_int)
_dump = _declare(_library, "cprof_dump", ctypes.c_int, ctypes.c_char_p)
_dump_last = _declare(_library, "cprof_dump_last", ctypes.c_int, ctypes.c_double)
_dump_mode = _declare(_library, "cprof_dump_mode", ctypes.c_int, ctypes.c_int, ctypes.c_char_p)
_version = _declare(_quick, "cprof_version", ctypes.c_char_p)
_pause = _declare(_quick, "cprof_thread_pause", ctypes.c_int)
_resume = _declare(_quick, "cprof_thread_resume", ctypes.c_int)
_label_set = _declare(_quick, "cprof_label_set", ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
_label_get = _declare(_quick, "cprof_label_get", ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
_label_clear = _declare(_quick, "cprof_label_clear", ctypes.c_int, ctypes.c_char_p)
_labels_clear = _declare(_quick, "cprof_labels_clear", None)
_inherit = _declare(_quick, "cprof_labels_inherit", ctypes.c_int, ctypes.c_int)
_span_begin = _declare(_quick, "cprof_span_begin", _Span, ctypes.c_char_p)
_span_end = _declare(_quick, "cprof_span_end", ctypes.c_uint64, ctypes.POINTER(_Span))
_span_stats = _declare(_quick, "cprof_get_span_stats", ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_SpanStats))
_mode_stats = _declare(_quick, "cprof_get_mode_stats", ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Stats))


def _check(result):
    """The result of a call, or OSError for a negative errno."""
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def _bytes(text):
    """TEXT for the library. An object with a path is taken for that."""
    if text is None:
        return None
    data = os.fsencode(text) if isinstance(text, (bytes, os.PathLike)) else str(text).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a NUL character in a text for libcprof")
    return data


def version():
    """The version of the library that is loaded, as "0.1.0"."""
    return _version().decode()


def start(*, cpu=None, wall=None, heap=None, lock=None, io=None, event_path=None, **options):
    """Profile every thread of the process, in each mode that is given a path. OPTIONS are the fields of struct
    cprof_options in cprof.h: frequency, max_depth, unwind, symbolize, checkpoint_ms, dump_signal, labels (a dict, or
    "k=v,..."), wall_frequency, lock_threshold_ns, heap_interval, heap_mmap, event,
    event_period, times. EVENT_PATH is the path of the event mode."""
    o = _Options(size=ctypes.sizeof(_Options), cpu_path=_bytes(cpu), wall_path=_bytes(wall), heap_path=_bytes(heap),
                 lock_path=_bytes(lock), io_path=_bytes(io), event_path=_bytes(event_path))
    types = dict(_Options._fields_)
    for name, value in options.items():
        if name not in types or name == "size" or name.endswith("_path"):
            raise TypeError(f"start() has no option {name!r}")
        if name == "labels" and isinstance(value, dict):
            value = ",".join(f"{k}={v}" for k, v in value.items())
        setattr(o, name, _bytes(value) if types[name] is ctypes.c_char_p else value)
    _check(_start(ctypes.byref(o)))


def stop(mode=None):
    """Stop MODE, or every mode, and write the profiles."""
    _check(_stop() if mode is None else _stop_mode(mode))


def dump(path, mode=None):
    """Write everything since the start to PATH: of MODE, or of the first mode that is on."""
    _check(_dump(_bytes(path)) if mode is None else _dump_mode(mode, _bytes(path)))


def dump_last(seconds):
    """Write the last SECONDS of every mode to the next numbered files."""
    _check(_dump_last(seconds))


def pause():
    """Don't sample the calling thread until it calls resume as often as pause."""
    _check(_pause())


def resume():
    _check(_resume())


def stats(mode=CPU):
    """The counters of a mode since its start, as a dict: struct cprof_stats in cprof.h."""
    s = _Stats(size=ctypes.sizeof(_Stats))
    _check(_mode_stats(mode, ctypes.byref(s)))
    return {name: getattr(s, name) for name, _ in _Stats._fields_[1:]}


def label(key):
    """The calling thread's label KEY; None: it has none."""
    value = ctypes.create_string_buffer(_VALUE_BYTES)
    n = _label_get(_bytes(key), value, len(value))
    return value.value.decode("utf-8", "replace") if n >= 0 else None


def clear_labels():
    """Remove all labels of the calling thread."""
    _labels_clear()


def labels_inherit(on=True):
    """Threads that the calling one makes from now on begin with its labels, or without."""
    _check(_inherit(1 if on else 0))


class _Wrapper:
    """What with and @ have in common. Each entry has a state of its own, so that one object may be entered again."""

    def __init__(self):
        self._entered = []

    def __enter__(self):
        self._entered.append(self._begin())
        return self

    def __exit__(self, *_):
        self._end(self._entered.pop())
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            state = self._begin()
            try:
                return function(*arguments, **keywords)
            finally:
                self._end(state)
        return wrapper


class labels(_Wrapper):
    """Labels of the calling thread for a block, or for the calls of a function. Afterwards each key has the value
    that it had before. The values are made to text."""

    def __init__(self, **pairs):
        super().__init__()
        self._pairs = [(_bytes(k), _bytes(v)) for k, v in pairs.items()]

    def _begin(self):
        before = []
        try:
            for key, value in self._pairs:
                room = ctypes.create_string_buffer(_VALUE_BYTES)
                old = room.value if _label_get(key, room, len(room)) >= 0 else None
                _check(_label_set(key, value))
                before.append((key, old))
        except OSError:
            self._end(before)
            raise
        return before

    def _end(self, before):
        for key, old in reversed(before):
            _label_clear(key) if old is None else _label_set(key, old)


class span(_Wrapper):
    """A piece of work with a beginning and an end, such as a request: a block, or the calls of a function."""

    def __init__(self, name):
        super().__init__()
        self._name = _bytes(name)

    def _begin(self):
        return _span_begin(self._name)

    def _end(self, state):
        _span_end(ctypes.byref(state))


def span_stats(name):
    """Count, latencies and costs of the spans called NAME that have ended, as a dict; None: none has."""
    s = _SpanStats(size=ctypes.sizeof(_SpanStats))
    if _span_stats(_bytes(name), ctypes.byref(s)) < 0:
        return None
    return {field: getattr(s, field) for field, _ in _SpanStats._fields_[1:]}
