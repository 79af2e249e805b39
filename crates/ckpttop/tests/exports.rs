//! The exports, read by the programs they are for: Prometheus's reference parser and PCP's
//! mmvdump.
#![allow(clippy::unwrap_used)]

mod support;

use statseg::{Metric, Segment};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Dir, alive, ckpttop, external, now_us, stdout, text};

fn busy(dir: &Dir) -> Segment {
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    segment.counter(Metric::NumTimed).add(3);
    segment.counter(Metric::WriteTime).add(1_500_000_000);
    segment.counter(Metric::WritebackBytes).add(8192);
    for ms in 1..=100 {
        segment
            .statistic(Metric::FileSyncTime)
            .record(ms * 1_000_000);
    }
    segment
}

const PARSE: &str = r#"
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
text = sys.stdin.read()
list(prometheus(text))
for family in openmetrics(text):
    print("family", family.name, family.type, family.unit)
    for s in family.samples:
        print(s.name, ",".join(f"{k}={v}" for k, v in sorted(s.labels.items())), float(s.value))
"#;

#[test]
fn openmetrics_is_parsed() {
    let Some(python) = external("python3", &["/usr/bin/python3"], "install python3") else {
        return;
    };
    let has_parser = Command::new(&python)
        .args(["-c", "import prometheus_client.openmetrics.parser"])
        .output()
        .unwrap();
    let module = has_parser.status.success().then_some("/");
    let install = "install python3-prometheus-client";
    if external("parser", module.as_slice(), install).is_none() {
        return;
    }
    let dir = Dir::new();
    let _segment = busy(&dir);
    let exposition = stdout(&["-D", dir.path().to_str().unwrap(), "--openmetrics"]);
    assert!(exposition.ends_with("\n# EOF\n"));
    let mut child = Command::new(python)
        .args(["-c", PARSE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(exposition.as_bytes())
        .unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(
        done.status.success(),
        "{}\n{exposition}",
        text(&done.stderr)
    );
    let parsed = text(&done.stdout);
    for line in [
        "family ckptflush_num_timed counter ",
        "ckptflush_num_timed_total port=5432 3.0",
        "family ckptflush_write_time_seconds counter seconds",
        "ckptflush_write_time_seconds_total port=5432 1.5",
        "family ckptflush_writeback_bytes counter bytes",
        "ckptflush_writeback_bytes_total port=5432 8192.0",
        "family ckptflush_file_sync_time_seconds summary seconds",
        "ckptflush_file_sync_time_seconds_count port=5432 100.0",
        "ckptflush_file_sync_time_seconds_sum port=5432 5.05",
        "ckptflush_file_sync_time_min_seconds port=5432 0.001",
        "ckptflush_file_sync_time_max_seconds port=5432 0.1",
        "ckptflush_progress_buffers_done port=5432 250.0",
        "ckptflush_server_moves port=5432 1.0",
    ] {
        assert!(
            parsed.lines().any(|l| l == line),
            "{line} is not in\n{parsed}"
        );
    }
    assert!(parsed.contains("ckptflush_file_sync_time_seconds port=5432,quantile=0.5 0.0"));
}

/// What mmvdump says of a file: the values, and everything.
fn dump(mmvdump: &Path, file: &Path) -> (BTreeMap<String, f64>, String) {
    let done = Command::new(mmvdump).arg(file).output().unwrap();
    let all = text(&done.stdout);
    assert!(done.status.success(), "{all}");
    for bad in ["Bad", "?", "Mismatched", "Unrecognised", "unknown="] {
        assert!(!all.contains(bad), "{bad} in\n{all}");
    }
    let values = all
        .lines()
        .filter(|line| line.starts_with("  ["))
        .filter_map(|line| line.split_once("] ")?.1.split_once(" = "))
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect();
    (values, all)
}

fn mmvdump() -> Option<PathBuf> {
    let paths = [
        "/usr/lib/pcp/pmdas/mmv/mmvdump",
        "/usr/libexec/pcp/pmdas/mmv/mmvdump",
    ];
    external(
        "mmvdump",
        &paths,
        "run ci/mmvdump, or install the package pcp",
    )
}

#[test]
fn mmv_is_dumped() {
    let Some(mmvdump) = mmvdump() else { return };
    let dir = Dir::new();
    let _segment = busy(&dir);
    let to = dir.path().to_str().unwrap();
    stdout(&["-D", to, "--mmv", to, "--once"]);
    let (values, all) = dump(&mmvdump, &dir.path().join("ckptflush_5432"));
    for (name, value) in [
        ("num_timed", 3.0),
        ("write_time", 1500.0),
        ("writeback_bytes", 8192.0),
        ("file_sync_time.count", 100.0),
        ("file_sync_time.total", 5050.0),
        ("file_sync_time.min", 1.0),
        ("file_sync_time.max", 100.0),
        ("progress_buffers_done", 250.0),
        ("flush_queue", 12_345_678.0),
    ] {
        assert_eq!(values.get(name), Some(&value), "{name}");
    }
    assert!(values["checkpoint_buffers.p99"].is_nan());
    let median = values["file_sync_time.p50"];
    assert!((47.0..=53.2).contains(&median), "{median}");
    let entry = |name: &str| {
        let begin = all.find(&format!("] {name}\n")).unwrap();
        all[begin..].lines().take(5).collect::<Vec<_>>().join("\n")
    };
    let write_time = entry("write_time");
    assert!(
        write_time.contains("type=double (0x5), sem=counter (0x1)"),
        "{write_time}"
    );
    assert!(write_time.contains("units=millisec"), "{write_time}");
    assert!(
        write_time.contains("shorttext=Time in write phases"),
        "{write_time}"
    );
    assert!(entry("writeback_bytes").contains("units=byte"));
    assert!(entry("num_timed").contains("units=count"));
    assert!(all.contains("Flags      = 0x0 (none)"), "{all}");
}

#[test]
fn mmv_is_kept_up_to_date_in_place() {
    let Some(mmvdump) = mmvdump() else { return };
    let dir = Dir::new();
    let segment = busy(&dir);
    let to = dir.path().to_str().unwrap();
    let mut child = ckpttop(&["-D", to, "--mmv", to, "--interval", "0.1"])
        .spawn()
        .unwrap();
    let file = dir.path().join("ckptflush_5432");
    let wait_for = |what: &str, holds: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(30);
        while !holds() {
            assert!(Instant::now() < end, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("the file", &|| file.exists());
    let inode = std::fs::metadata(&file).unwrap().ino();
    let (_, all) = dump(&mmvdump, &file);
    assert!(
        all.contains(&format!("Process    = {}\n", child.id())),
        "{all}"
    );
    assert!(all.contains("Flags      = 0x2 (process)"), "{all}");
    segment.counter(Metric::NumTimed).add(4);
    wait_for("the value", &|| dump(&mmvdump, &file).0["num_timed"] == 7.0);
    assert_eq!(std::fs::metadata(&file).unwrap().ino(), inode);
    // Who ends takes the file along.
    let pid = i32::try_from(child.id()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(!file.exists());
}
