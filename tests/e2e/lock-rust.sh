# SPDX-License-Identifier: BSD-3-Clause
# Rust's std::sync, whose locks wait in futexes through libc's syscall().
. "$srcdir/tests/lib/lock.sh"
need rustc
limit=$bounded
cat >"$work/locks.rs" <<'END'
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::{thread, time::Duration};
fn nap() { thread::sleep(Duration::from_millis(1)); }
#[inline(never)] fn in_mutex(m: &Mutex<u64>) { let mut g = m.lock().unwrap(); *g += 1; nap(); }
#[inline(never)] fn in_read(m: &RwLock<u64>) -> u64 { let g = m.read().unwrap(); nap(); nap(); *g }
#[inline(never)] fn in_write(m: &RwLock<u64>) { let mut g = m.write().unwrap(); *g += 1; nap(); nap(); nap(); }
#[inline(never)] fn in_condvar(c: &(Mutex<u64>, Condvar)) {
    drop(c.1.wait_timeout(c.0.lock().unwrap(), Duration::from_millis(2)).unwrap());
}
#[inline(never)] fn in_channel(r: mpsc::Receiver<u64>) -> u64 { r.iter().sum() }
fn main() {
    let (m, r) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    let c = Arc::new((Mutex::new(0), Condvar::new()));
    let (send, receive) = mpsc::channel();
    let receiver = thread::spawn(move || in_channel(receive));
    let all: Vec<_> = (0..6).map(|i| {
        let (m, r, c) = (m.clone(), r.clone(), c.clone());
        thread::spawn(move || for n in 0..15 {
            in_mutex(&m);
            if (i + n) % 2 == 0 { in_read(&r); } else { in_write(&r); }
            in_condvar(&c);
        })
    }).collect();
    for i in 0..20 { send.send(i).unwrap(); nap(); }
    drop(send);
    for t in all { t.join().unwrap(); }
    println!("{} {} {}", receiver.join().unwrap(), m.lock().unwrap(), r.read().unwrap());
}
END
rustc -O -o "$work/locks" "$work/locks.rs" 2>"$work/rustc.err" ||
	skip "rustc does not compile here: $(tail -n 1 "$work/rustc.err")"
ends_well bare bare "$work/locks"
lock_profiled rust "$work/locks"
check_ended rust 0 bare
check_valid_as lock "$work/rust.pb"
for function in in_mutex 'in_(read|write)' in_condvar in_channel; do
	[ "$(lock_ns "$work/rust.pb" "^syscall;.*[^;]*$function(;|[^a-z_])" '^0x')" -gt 0 ] ||
		fail "no wait in $function: $("$pprof_check" --raw "$work/rust.pb" | grep -m2 "$function")"
done
finish
