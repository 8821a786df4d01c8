// SPDX-License-Identifier: BSD-3-Clause
//! libcprof from Rust: start and stop profiles of this process, and label what its threads work on.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! cprof::Options::new().cpu("app.pb").frequency(199).start()?;
//! {
//!     let _route = cprof::label("route", "/users")?;
//!     let _request = cprof::span("request")?;
//!     // The samples taken here have both.
//! }
//! cprof::stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! Labels and spans belong to a thread, so their guards can't be sent to another one. A guard must not live across
//! an `.await` either: another task of the same thread would run with its label.
mod sys;

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A kind of profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    Cpu = 0,
    Wall = 1,
    Heap = 2,
    Lock = 3,
    Io = 4,
    Event = 5,
    HeapPeak = 16,
    HeapMmap = 17,
    LockHolders = 18,
    /// Who ended the waits for conditions, semaphores and the like.
    LockWakers = 19,
    /// Where blocks are freed, and how long they lived.
    HeapLifetimes = 20,
    /// What partly used pages keep in memory.
    HeapFragmentation = 21,
    /// Who ended the reads of pipes and eventfds.
    IoWakers = 22,
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::from_raw_os_error(-result))
    } else {
        Ok(())
    }
}

fn text(s: &OsStr) -> io::Result<CString> {
    Ok(CString::new(s.as_bytes())?)
}

/// What to profile, and how. A mode is on when it has a path.
#[derive(Clone, Debug, Default)]
pub struct Options {
    paths: [Option<Box<OsStr>>; 6],
    labels: Option<String>,
    event: Option<String>,
    event_period: u32,
    frequency: u32,
    wall_frequency: u32,
    max_depth: u32,
    checkpoint: Option<Duration>,
    no_checkpoint: bool,
    no_dump_signal: bool,
    heap_interval: u64,
    lock_threshold: Option<Duration>,
}

impl Options {
    pub fn new() -> Options {
        Options::default()
    }

    fn path(mut self, mode: Mode, path: &Path) -> Options {
        self.paths[mode as usize] = Some(path.as_os_str().into());
        self
    }

    /// Profile CPU time, into PATH.
    pub fn cpu(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Cpu, path.as_ref())
    }

    /// Profile the time of every thread, running or waiting.
    pub fn wall(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Wall, path.as_ref())
    }

    /// Profile memory. This sees malloc, and so Rust's default allocator.
    pub fn heap(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Heap, path.as_ref())
    }

    /// Profile waits for locks.
    pub fn lock(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Lock, path.as_ref())
    }

    /// Profile calls that read, write or open something.
    pub fn io(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Io, path.as_ref())
    }

    /// Profile page faults.
    pub fn page_faults(self, path: impl AsRef<Path>) -> Options {
        self.path(Mode::Event, path.as_ref())
    }

    /// Profile the event that perf calls NAME, such as "cache-misses".
    pub fn event(mut self, path: impl AsRef<Path>, name: &str) -> Options {
        self.event = Some(name.to_owned());
        self.path(Mode::Event, path.as_ref())
    }

    /// Events between two samples, on average, 1 to 1000000000 (the event's own number).
    pub fn event_period(mut self, events: u32) -> Options {
        self.event_period = events;
        self
    }

    /// Samples per CPU second of each thread, 1 to 10000 (99).
    pub fn frequency(mut self, hz: u32) -> Options {
        self.frequency = hz;
        self
    }

    /// Samples per second of each thread in a wall profile, 1 to 1000 (50).
    pub fn wall_frequency(mut self, hz: u32) -> Options {
        self.wall_frequency = hz;
        self
    }

    /// Frames kept of a stack, 1 to 4096 (512).
    pub fn max_depth(mut self, frames: u32) -> Options {
        self.max_depth = frames;
        self
    }

    /// Labels of every sample, "k=v,...".
    pub fn labels(mut self, labels: impl Into<String>) -> Options {
        self.labels = Some(labels.into());
        self
    }

    /// How often the files are rewritten (one minute); None: at the end only.
    pub fn checkpoint(mut self, interval: Option<Duration>) -> Options {
        self.no_checkpoint = interval.is_none();
        self.checkpoint = interval;
        self
    }

    /// Leave SIGUSR2 to the program.
    pub fn no_dump_signal(mut self) -> Options {
        self.no_dump_signal = true;
        self
    }

    /// Mean bytes between samples of a heap profile (512 KiB); 1: every allocation.
    pub fn heap_interval(mut self, bytes: u64) -> Options {
        self.heap_interval = bytes;
        self
    }

    /// Shorter waits for locks have no stack (1 µs).
    pub fn lock_threshold(mut self, wait: Duration) -> Options {
        self.lock_threshold = Some(wait);
        self
    }

    /// Profile every thread of the process, those to come included.
    pub fn start(&self) -> io::Result<()> {
        let mut paths = Vec::new();
        for path in &self.paths {
            paths.push(path.as_deref().map(text).transpose()?);
        }
        let labels = self.labels.as_ref().map(|l| text(OsStr::new(l))).transpose()?;
        let event = self.event.as_ref().map(|e| text(OsStr::new(e))).transpose()?;
        let pointer = |s: &Option<CString>| s.as_ref().map_or(std::ptr::null(), |s| s.as_ptr());
        let options = sys::Options {
            size: std::mem::size_of::<sys::Options>(),
            cpu_path: pointer(&paths[0]),
            wall_path: pointer(&paths[1]),
            heap_path: pointer(&paths[2]),
            lock_path: pointer(&paths[3]),
            frequency: self.frequency,
            max_depth: self.max_depth,
            unwind: std::ptr::null(),
            symbolize: std::ptr::null(),
            checkpoint_ms: match self.checkpoint {
                _ if self.no_checkpoint => -1,
                Some(interval) => interval.as_millis().clamp(1, i64::MAX as u128) as i64,
                None => 0,
            },
            dump_signal: if self.no_dump_signal { -1 } else { 0 },
            labels: pointer(&labels),
            wall_frequency: self.wall_frequency,
            lock_threshold_ns: self.lock_threshold.map_or(0, |t| t.as_nanos().clamp(1, i64::MAX as u128) as i64),
            heap_interval: self.heap_interval,
            heap_mmap: 0,
            reserved: 0,
            io_path: pointer(&paths[4]),
            event_path: pointer(&paths[5]),
            event: pointer(&event),
            event_period: self.event_period,
            times: std::ptr::null(),
        };
        check(unsafe { sys::cprof_start(&options) })
    }
}

/// Stop every mode, and write the profiles to their paths.
pub fn stop() -> io::Result<()> {
    check(unsafe { sys::cprof_stop() })
}

/// Stop one mode, and write its profile.
pub fn stop_mode(mode: Mode) -> io::Result<()> {
    check(unsafe { sys::cprof_stop_mode(mode as c_int) })
}

/// Write everything since the start to PATH, of the first mode that is on.
pub fn dump(path: impl AsRef<Path>) -> io::Result<()> {
    let path = text(path.as_ref().as_os_str())?;
    check(unsafe { sys::cprof_dump(path.as_ptr()) })
}

/// Write everything since the start of MODE to PATH.
pub fn dump_mode(mode: Mode, path: impl AsRef<Path>) -> io::Result<()> {
    let path = text(path.as_ref().as_os_str())?;
    check(unsafe { sys::cprof_dump_mode(mode as c_int, path.as_ptr()) })
}

/// Write the last TIME of every mode to the next numbered files.
pub fn dump_last(time: Duration) -> io::Result<()> {
    check(unsafe { sys::cprof_dump_last(time.as_secs_f64()) })
}

/// The version of the library that is loaded.
pub fn version() -> &'static str {
    unsafe { CStr::from_ptr(sys::cprof_version()) }.to_str().unwrap_or("")
}

/// A label of this thread, until it is dropped. Then the key has the value that it had before.
#[must_use = "the label ends when this is dropped"]
pub struct Label {
    key: CString,
    before: Option<CString>,
    of_thread: PhantomData<*const ()>,
}

fn value_of(key: &CStr) -> Option<CString> {
    let mut room = [0u8; 128];
    let n = unsafe { sys::cprof_label_get(key.as_ptr(), room.as_mut_ptr() as *mut c_char, room.len()) };

    (n >= 0).then(|| unsafe { CStr::from_ptr(room.as_ptr() as *const c_char) }.to_owned())
}

/// Give this thread the label KEY until the guard is dropped.
pub fn label(key: &str, value: &str) -> io::Result<Label> {
    let (key, value) = (CString::new(key)?, CString::new(value)?);
    let before = value_of(&key);

    check(unsafe { sys::cprof_label_set(key.as_ptr(), value.as_ptr()) })?;
    Ok(Label { key, before, of_thread: PhantomData })
}

/// The value that this thread's label KEY has.
pub fn label_value(key: &str) -> Option<String> {
    value_of(&CString::new(key).ok()?).map(|v| v.to_string_lossy().into_owned())
}

impl Drop for Label {
    fn drop(&mut self) {
        unsafe {
            match &self.before {
                Some(value) => sys::cprof_label_set(self.key.as_ptr(), value.as_ptr()),
                None => sys::cprof_label_clear(self.key.as_ptr()),
            };
        }
    }
}

/// A piece of work, such as a request, until it is dropped.
#[must_use = "the span ends when this is dropped"]
pub struct Span {
    span: sys::Span,
    of_thread: PhantomData<*const ()>,
    // The library keeps a pointer to it while the span lasts.
    _name: CString,
}

/// Begin a span.
pub fn span(name: &str) -> io::Result<Span> {
    let name = CString::new(name)?;
    let span = unsafe { sys::cprof_span_begin(name.as_ptr()) };

    Ok(Span { span, of_thread: PhantomData, _name: name })
}

impl Span {
    /// End the span now: how long it lasted.
    pub fn end(mut self) -> Duration {
        Duration::from_nanos(unsafe { sys::cprof_span_end(&mut self.span) })
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        unsafe { sys::cprof_span_end(&mut self.span) };
    }
}

/// Latencies of all spans of a name that have ended, and what their threads spent in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanStats {
    pub count: u64,
    pub sum: Duration,
    pub max: Duration,
    pub p50: Duration,
    pub p90: Duration,
    pub p99: Duration,
    pub p999: Duration,
    /// CPU time; of names whose spans are short an estimate.
    pub cpu: Duration,
    /// Time in which the spans' threads did not run.
    pub wait: Duration,
    /// Bytes allocated while the heap mode was on.
    pub allocated_bytes: u64,
}

/// None: no span of that name has ended.
pub fn span_stats(name: &str) -> Option<SpanStats> {
    let name = CString::new(name).ok()?;
    let mut s = sys::SpanStats { size: std::mem::size_of::<sys::SpanStats>(), values: [0; 10] };

    check(unsafe { sys::cprof_get_span_stats(name.as_ptr(), &mut s) }).ok()?;
    let time = |i: usize| Duration::from_nanos(s.values[i]);
    Some(SpanStats {
        count: s.values[0],
        sum: time(1),
        max: time(2),
        p50: time(3),
        p90: time(4),
        p99: time(5),
        p999: time(6),
        cpu: time(7),
        wait: time(8),
        allocated_bytes: s.values[9],
    })
}

/// Samples that MODE has recorded since its start.
pub fn samples(mode: Mode) -> io::Result<u64> {
    let mut s = sys::Stats { size: std::mem::size_of::<sys::Stats>(), values: [0; 12] };

    check(unsafe { sys::cprof_get_mode_stats(mode as c_int, &mut s) })?;
    Ok(s.values[0])
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    /// CPROF_SIZES has the sizes that a C compiler finds in cprof.h.
    #[test]
    fn the_layout_is_c_s() {
        let sizes = match std::env::var("CPROF_SIZES") {
            Ok(sizes) => sizes,
            Err(_) => return,
        };
        let ours = format!(
            "{} {} {} {} {}",
            size_of::<super::sys::Options>(),
            size_of::<super::sys::LabelScope>(),
            size_of::<super::sys::Span>(),
            size_of::<super::sys::SpanStats>(),
            size_of::<super::sys::Stats>()
        );
        assert_eq!(ours, sizes.trim());
    }
}
