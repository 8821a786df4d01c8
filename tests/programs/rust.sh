# SPDX-License-Identifier: BSD-3-Clause
about="rustc, and a program of its making: threads, channels, locks, panics that unwind"
packages="rustc"
# Not rustup's.
needs="/usr/bin/rustc"
interval=512
# rustc, as all of LLVM, has a handler for SIGUSR2, and a line would say so.
more=(CPROF_SIGNAL=none)
at_least lock 10

prepare() {
	cat >work.rs <<'EOF'
use std::collections::BTreeMap;
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;
fn collatz(mut n: u64) -> u32 { let mut c = 0; while n != 1 { n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; c += 1 } c }
fn fails(n: u32) -> u32 { if n % 3 == 0 { panic!("thrown") } n }
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let total = Arc::new(Mutex::new(0u64));
    let table = Arc::new(RwLock::new(BTreeMap::new()));
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..6u64).map(|t| { let (total, table, tx) = (total.clone(), table.clone(), tx.clone()); thread::Builder::new().name(format!("worker-{t}")).spawn(move || {
        for i in 1..5000u64 { let c = collatz(i * 6 + t + 1); if i % 50 == 0 { *total.lock().unwrap() += c as u64; table.write().unwrap().entry(c % 50).and_modify(|v: &mut Vec<u64>| v.push(i)).or_insert_with(|| vec![i]); } }
        tx.send(t).unwrap(); }).unwrap() }).collect();
    drop(tx);
    let mut ended: Vec<_> = rx.iter().collect();
    ended.sort();
    for t in threads { t.join().unwrap() }
    let caught = (0..3000).filter(|&n| std::panic::catch_unwind(|| fails(n)).is_err()).count();
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    let t = thread::spawn(move || for _ in 0..2000 { let mut g = other.0.lock().unwrap(); while *g == 0 { g = other.1.wait(g).unwrap() } *g -= 1; other.1.notify_one(); });
    for _ in 0..2000 { let mut g = pair.0.lock().unwrap(); while *g > 0 { g = pair.1.wait(g).unwrap() } *g += 1; pair.1.notify_one(); }
    t.join().unwrap();
    let sizes: usize = table.read().unwrap().values().map(|v| v.len()).sum();
    println!("{} {:?} {} {}", total.lock().unwrap(), ended, caught, sizes);
    std::process::exit(6);
}
EOF
	/usr/bin/rustc -O -g work.rs -o plain
}

load() {
	run /usr/bin/rustc -O -C codegen-units=4 "$shared/work.rs" -o made
	echo "rustc $?"
	run "$shared/plain"
	echo "status $?"
}

verify() {
	has cpu '(collatz|work::main|plain::main).*(start_thread|_start)'
	has lock 'work::main|std::sys::unix::'
}
