// SPDX-License-Identifier: BSD-3-Clause
//! What cprof.h declares.
use std::os::raw::{c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};

#[repr(C)]
pub struct Options {
    pub size: usize,
    pub cpu_path: *const c_char,
    pub wall_path: *const c_char,
    pub heap_path: *const c_char,
    pub lock_path: *const c_char,
    pub frequency: c_uint,
    pub max_depth: c_uint,
    pub unwind: *const c_char,
    pub symbolize: *const c_char,
    pub checkpoint_ms: c_longlong,
    pub dump_signal: c_int,
    pub labels: *const c_char,
    pub wall_frequency: c_uint,
    pub lock_threshold_ns: c_longlong,
    pub heap_interval: c_ulonglong,
    pub heap_mmap: c_int,
    pub reserved: c_ulonglong,
    pub io_path: *const c_char,
    pub event_path: *const c_char,
    pub event: *const c_char,
    pub event_period: c_uint,
    pub times: *const c_char,
}

#[repr(C)]
pub struct LabelScope {
    pub key: *const c_char,
    pub before: [c_char; 128],
    pub had: c_int,
}

#[repr(C)]
pub struct Span {
    pub start_ns: u64,
    pub name: *const c_char,
    pub reserved: [u32; 2],
    pub label: LabelScope,
    pub kind: *mut c_void,
    pub thread: *mut c_void,
    pub cpu_ns: u64,
    pub allocated: u64,
    pub weight: c_uint,
}

#[repr(C)]
pub struct SpanStats {
    pub size: usize,
    pub values: [u64; 10],
}

#[repr(C)]
pub struct Stats {
    pub size: usize,
    pub values: [u64; 12],
}

extern "C" {
    pub fn cprof_start(options: *const Options) -> c_int;
    pub fn cprof_stop() -> c_int;
    pub fn cprof_stop_mode(mode: c_int) -> c_int;
    pub fn cprof_dump(path: *const c_char) -> c_int;
    pub fn cprof_dump_last(seconds: f64) -> c_int;
    pub fn cprof_dump_mode(mode: c_int, path: *const c_char) -> c_int;
    pub fn cprof_label_set(key: *const c_char, value: *const c_char) -> c_int;
    pub fn cprof_label_get(key: *const c_char, value: *mut c_char, size: usize) -> c_int;
    pub fn cprof_label_clear(key: *const c_char) -> c_int;
    pub fn cprof_span_begin(name: *const c_char) -> Span;
    pub fn cprof_span_end(span: *mut Span) -> u64;
    pub fn cprof_get_span_stats(name: *const c_char, stats: *mut SpanStats) -> c_int;
    pub fn cprof_get_mode_stats(mode: c_int, stats: *mut Stats) -> c_int;
    pub fn cprof_version() -> *const c_char;
}
