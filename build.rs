//! Compiles the C shim (`pgshim/*.c`) against the server headers of the PostgreSQL that
//! `PGRX_PG_CONFIG_PATH` names: the same one that pgrx makes its bindings from.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=pgshim");
    println!("cargo::rerun-if-env-changed=PGRX_PG_CONFIG_PATH");
    let pg_config = std::env::var("PGRX_PG_CONFIG_PATH").unwrap_or_else(|_| {
        panic!("set PGRX_PG_CONFIG_PATH to a pg_config, or build with \"make PG_CONFIG=...\"")
    });
    cc::Build::new()
        .files(
            [
                "pgshim",
                "backends",
                "commit",
                "collector",
                "collector_watch",
                "collector_kinds",
                "collector_fixed",
                "collector_catalog",
            ]
            .map(|name| format!("pgshim/{name}.c")),
        )
        .include(ask(&pg_config, "--includedir-server"))
        .flag("-std=gnu99")
        // Calls into the server without a stop in the procedure linkage table, which is one cache
        // line more (pgshim/hot.h).
        .flag_if_supported("-fno-plt")
        // As PostgreSQL is built itself on Linux (src/template/linux): sync_file_range and others.
        .define("_GNU_SOURCE", None)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        // The server's own headers leave parameters unused and compare signs in inline functions.
        .flag("-Wno-unused-parameter")
        .flag("-Wno-sign-compare")
        .flag_if_supported("-Wno-missing-field-initializers")
        .compile("pgshim");
}

/// One line of `pg_config`'s answer, for example the directory of the server headers.
fn ask(pg_config: &str, option: &str) -> String {
    let answer = Command::new(pg_config)
        .arg(option)
        .output()
        .unwrap_or_else(|error| panic!("could not run \"{pg_config}\": {error}"));
    assert!(answer.status.success(), "\"{pg_config} {option}\" failed");
    String::from_utf8_lossy(&answer.stdout).trim().to_owned()
}
