// SPDX-License-Identifier: BSD-3-Clause
//! Finds the installed library by pkg-config (PKG_CONFIG, PKG_CONFIG_PATH).
use std::{env, process::Command};

fn main() {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());

    for variable in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let output = Command::new(&program)
        .args(["--libs", "libcprof >= 0.1.0"])
        .output()
        .unwrap_or_else(|e| panic!("{program} can't be run: {e}"));
    assert!(
        output.status.success(),
        "libcprof is not installed where {program} finds it: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
