// SPDX-License-Identifier: BSD-3-Clause
use std::process::Command;
use std::time::{Duration, Instant};

fn burn(time: Duration) -> u64 {
    let (start, mut sum) = (Instant::now(), 0u64);
    while start.elapsed() < time {
        for i in 0..1000u64 {
            sum = sum.wrapping_mul(31).wrapping_add(unsafe { std::ptr::read_volatile(&i) });
        }
    }
    sum
}

#[test]
fn labels_nest_and_go() {
    assert_eq!(cprof::label_value("route"), None);
    {
        let _outer = cprof::label("route", "/a").unwrap();
        {
            let _inner = cprof::label("route", "/b").unwrap();
            assert_eq!(cprof::label_value("route").as_deref(), Some("/b"));
        }
        assert_eq!(cprof::label_value("route").as_deref(), Some("/a"));
        assert_eq!(std::thread::spawn(|| cprof::label_value("route")).join().unwrap(), None);
    }
    assert_eq!(cprof::label_value("route"), None);
    assert!(cprof::label("", "no key").is_err());
    assert!(cprof::label("a\0b", "").is_err());
}

#[test]
fn spans_are_counted() {
    assert!(cprof::span_stats("rust").is_none());
    let span = cprof::span("rust").unwrap();
    std::thread::sleep(Duration::from_millis(2));
    assert!(span.end() >= Duration::from_millis(2));
    drop(cprof::span("rust").unwrap());
    let stats = cprof::span_stats("rust").unwrap();
    assert!(stats.cpu + stats.wait <= stats.sum);
    assert_eq!(stats.count, 2);
    assert!(stats.max >= Duration::from_millis(2) && stats.sum >= stats.max);
}

#[test]
fn a_profile_has_labels() {
    let directory = std::env::temp_dir().join(format!("cprof-rust-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("app.pb");

    cprof::Options::new().cpu(&path).frequency(1000).labels("version=7").checkpoint(None).start().unwrap();
    assert!(cprof::Options::new().cpu(&path).frequency(99_999).start().is_err());
    {
        let _label = cprof::label("route", "/busy").unwrap();
        // A busy machine may give this thread little CPU time.
        for _ in 0..200 {
            burn(Duration::from_millis(100));
            if cprof::samples(cprof::Mode::Cpu).unwrap() > 10 {
                break;
            }
        }
    }
    assert!(cprof::samples(cprof::Mode::Cpu).unwrap() > 10);
    cprof::dump(directory.join("dump.pb")).unwrap();
    cprof::stop().unwrap();
    for name in ["app.pb", "dump.pb"] {
        let tool = std::env::var("CPROF").unwrap_or_else(|_| "cprof".into());
        let tags = Command::new(tool).arg("tags").arg(directory.join(name)).output().unwrap();
        let text = String::from_utf8_lossy(&tags.stdout).into_owned();
        assert!(text.contains("/busy") && text.contains("version"), "{name}: {text}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(cprof::version().split('.').count(), 3);
}
