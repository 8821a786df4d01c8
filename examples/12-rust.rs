// SPDX-License-Identifier: BSD-3-Clause
// A Rust program that profiles a part of itself, by plain FFI.
//
//     rustc -O -g 12-rust.rs -L native=$(pkg-config --variable=libdir libcprof) -l cprof -o 12-rust
//     ./12-rust
//       -> primes
//     cprof top -cum 12-rust.pb
//       -> count_primes
//     cprof tags 12-rust.pb
//       -> step
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_longlong, c_uint, c_ulonglong};
use std::ptr::null;

#[repr(C)]
struct Options {
    size: usize,
    cpu_path: *const c_char,
    wall_path: *const c_char,
    heap_path: *const c_char,
    lock_path: *const c_char,
    frequency: c_uint,
    max_depth: c_uint,
    unwind: *const c_char,
    symbolize: *const c_char,
    checkpoint_ms: c_longlong,
    dump_signal: c_int,
    labels: *const c_char,
    wall_frequency: c_uint,
    lock_threshold_ns: c_longlong,
    heap_interval: c_ulonglong,
    heap_mmap: c_int,
    reserved: c_ulonglong,
}

extern "C" {
    fn cprof_start(options: *const Options) -> c_int;
    fn cprof_stop() -> c_int;
    fn cprof_label_set(key: *const c_char, value: *const c_char) -> c_int;
}

/// A label for as long as it lives.
struct Label(CString);

impl Label {
    fn new(key: &str, value: &str) -> Label {
        let key = CString::new(key).unwrap();
        let value = CString::new(value).unwrap();
        unsafe { cprof_label_set(key.as_ptr(), value.as_ptr()) };
        Label(key)
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        unsafe { cprof_label_set(self.0.as_ptr(), null()) };
    }
}

#[inline(never)]
fn count_primes(limit: u32) -> usize {
    let mut primes = 0;
    for n in 2..limit {
        primes += (2..).take_while(|d| d * d <= n).all(|d| n % d != 0) as usize;
    }
    primes
}

fn main() {
    let path = CString::new("12-rust.pb").unwrap();
    let mut options: Options = unsafe { std::mem::zeroed() };
    options.size = std::mem::size_of::<Options>();
    options.cpu_path = path.as_ptr();
    options.frequency = 250;
    assert_eq!(unsafe { cprof_start(&options) }, 0, "no profile");
    {
        let _step = Label::new("step", "primes");
        println!("{} primes", count_primes(1_500_000));
    }
    assert_eq!(unsafe { cprof_stop() }, 0, "no file");
}
