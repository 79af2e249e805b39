//! Recordings of servers, and the reports made of them.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::play::{BEFORE, COMMITS, SECOND, figures, record, report, second_of};
use support::{Dir, alive, ckpttop, external, now_us, run, text};

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// All entries of a key of all lines.
fn all<'a>(lines: &'a [Value], key: &str) -> Vec<&'a Value> {
    let found = lines.iter().skip(1).filter_map(|line| line[key].as_array());
    found.flatten().collect()
}

#[test]
fn what_happened_is_in_it_once() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let file = record(&dir, &segment, 4, &["--interval", "0.5"]);
    let lines = lines(&file);
    assert_eq!(lines[0]["ckpttop_recording"], 1);
    assert_eq!(lines[0]["seconds"][0], "at");
    assert_eq!(lines[1]["server"]["port"], 5432);
    // Each second once, those before the start too.
    let seconds: Vec<_> = all(&lines, "seconds")
        .iter()
        .map(|row| row[0].to_string())
        .collect();
    let different: BTreeSet<_> = seconds.iter().collect();
    assert_eq!(different.len(), seconds.len());
    assert!(seconds.len() as i64 >= BEFORE + 3, "{}", seconds.len());
    // All that was counted after the first look, and nothing else.
    let transactions: u64 = all(&lines, "transactions")
        .iter()
        .flat_map(|row| row[1].as_array().unwrap())
        .map(|bucket| bucket[1].as_u64().unwrap())
        .sum();
    assert!(
        (150..=4 * COMMITS + 50).contains(&transactions),
        "{transactions}"
    );
    assert_eq!(all(&lines, "checkpoints").len(), 1);
    assert_eq!(all(&lines, "stalls").len(), 1);
    let files = all(&lines, "files");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["path"], "pg_xact/0000");
    assert_eq!(files[0]["sync_time"], 70.0);
    let names = all(&lines, "wait_names");
    assert!(names.len() == 3 || names.len() == 4, "{names:?}");
    // Small, but for the seconds from before.
    let bytes: usize = lines[2..].iter().map(|line| line.to_string().len()).sum();
    assert!(bytes < 4 * 2000 + 2000, "{bytes}");
}

#[test]
fn seconds_from_before_the_start_can_be_left_out() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let file = record(&dir, &segment, 2, &["--history", "0"]);
    let begun = second_of(now_us()) - 4 * SECOND;
    for row in all(&lines(&file), "seconds") {
        let at: jiff::Timestamp = row[0].as_str().unwrap().parse().unwrap();
        assert!(at.as_microsecond() > begun, "{row}");
    }
}

const PARSE: &str = "
import sys, xml.etree.ElementTree as tree
from html.parser import HTMLParser
page = sys.stdin.read()
HTMLParser().feed(page)
root = tree.fromstring(page)
print(root.tag, len(root.findall('.//figure')), len(root.findall('.//table')))
for bad in ('script', 'link', 'img', 'iframe', 'object', 'use', 'image'):
    assert root.find('.//' + bad) is None, bad
";

#[test]
fn a_report_is_one_page_that_needs_nothing() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let page = report(&record(&dir, &segment, 4, &[]));
    for bad in [
        "http:", "https:", "src=", "href=", "url(", "@import", "NaN", "inf",
    ] {
        let found = page
            .find(bad)
            .map(|at| &page[at.saturating_sub(40)..at + 20]);
        assert_eq!(found, None, "{bad}");
    }
    let figures = figures(&page);
    assert_eq!(figures.len(), 8);
    for (id, figure) in &figures {
        let paths = ["<path class=\"line ", "<path class=\"fill "]
            .iter()
            .flat_map(|begin| {
                let paths = figure.split("<svg class=\"plot\"").nth(1).unwrap_or("");
                paths.split(begin).skip(1)
            });
        let lengths: Vec<usize> = paths
            .map(|path| {
                path.split(" d=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
            })
            .map(|data| data.matches('L').count())
            .collect();
        assert!(lengths.iter().sum::<usize>() > 5, "{id}: {lengths:?}");
        for class in ["write", "sync", "stall"] {
            assert!(
                figure.contains(&format!("<rect class=\"{class}\" x=")),
                "{id}: {class}"
            );
        }
    }
    for sentence in [
        "Checkpoints of PostgreSQL 17.11 on port 5432",
        "One checkpoint ended, 1234 buffers were written",
        "the longest sync phase 400 ms",
        "There was one stall, 350 ms in all",
        "1 began in a write phase",
        "<td>pg_xact/0000</td>",
    ] {
        assert!(page.contains(sentence), "{sentence} is not in {page}");
    }
    well_formed(&page);
}

fn well_formed(page: &str) {
    let Some(python) = external("python3", &["/usr/bin/python3"], "install python3") else {
        return;
    };
    let mut command = Command::new(python);
    command.args(["-c", PARSE]).env("PYTHONIOENCODING", "utf-8");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(page.as_bytes())
        .unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(text(&done.stdout), "html 8 6\n", "{}", text(&done.stderr));
}

#[test]
fn a_cut_line_costs_only_itself() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let file = record(&dir, &segment, 2, &["--interval", "0.5"]);
    let whole = std::fs::read_to_string(&file).unwrap();
    let before = whole.lines().count();
    std::fs::write(&file, &whole[..whole.len() - 20]).unwrap();
    assert!(report(&file).contains("One line of the recording could not be read."));
    // Recording goes on in a line of its own.
    alive(&segment, now_us());
    let directory = dir.path().to_str().unwrap();
    let name = file.to_str().unwrap();
    let done = run(&[
        "record",
        name,
        "-D",
        directory,
        "--duration",
        "0.2",
        "-i",
        "0.1",
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().count() >= before + 3);
    let headers = text
        .lines()
        .filter(|line| line.starts_with("{\"ckpttop_recording\":1,"));
    assert_eq!(headers.count(), 2);
    let page = report(&file);
    assert!(page.contains("One line of the recording could not be read."));
    assert!(page.contains("One checkpoint ended") || page.contains("No checkpoint ended"));
}

#[test]
fn nohup_lets_a_recording_outlive_its_session() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    let file = dir.path().join("recording");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_ckpttop"))
        .args(["record", file.to_str().unwrap(), "-i", "0.1", "-D"])
        .arg(dir.path())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let ticks_pass = |number: usize| {
        let lines = || std::fs::read_to_string(&file).map_or(0, |text| text.lines().count());
        let (end, deadline) = (lines() + number, Instant::now() + Duration::from_secs(30));
        while lines() < end {
            assert!(Instant::now() < deadline, "nothing is recorded");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    ticks_pass(2);
    kill_process(pid, Signal::HUP).unwrap();
    // A signal ends it within half a second, which is five ticks, unless it is ignored.
    ticks_pass(15);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(
        child.wait().unwrap().signal(),
        Some(Signal::TERM.as_raw()),
        "the others end it"
    );
}

#[test]
fn a_restart_of_the_server_is_survived() {
    let dir = Dir::new();
    let first = dir.server(5432, 1);
    alive(&first, now_us());
    let file = dir.path().join("recording");
    let mut child = ckpttop(&["record", file.to_str().unwrap(), "-i", "0.1"])
        .args(["-D", dir.path().to_str().unwrap()])
        .spawn()
        .unwrap();
    let wait_for = |what: &str| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let found = || {
            std::fs::read_to_string(&file)
                .unwrap_or_default()
                .matches(what)
                .count()
        };
        let before = found();
        while found() == before {
            assert!(std::time::Instant::now() < end, "waited in vain for {what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for("\"running\"");
    first.mark_closed();
    first.unlink().unwrap();
    drop(first);
    wait_for("\"waiting\"");
    let second = dir.server(5432, 2);
    alive(&second, now_us());
    wait_for("\"server\":{");
    second.timeline().push(&statseg::Second {
        at: second_of(now_us()),
        ..Default::default()
    });
    wait_for("\"seconds\":[[");
    child.kill().unwrap();
    child.wait().unwrap();
    let page = report(&file);
    assert!(page.contains("the server was away or did not move. One new start of the server."));
}

#[test]
fn another_file_is_left_alone() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    let file = dir.path().join("notes");
    std::fs::write(&file, "not a recording\n").unwrap();
    let (name, directory) = (file.to_str().unwrap(), dir.path().to_str().unwrap());
    let why = text(&run(&["record", name, "-D", directory]).stderr);
    assert_eq!(
        why,
        format!(
            "ckpttop: error: file \"{name}\" exists and is not a recording\n\
             ckpttop: hint: Name another file, or remove this one.\n"
        )
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a recording\n");
    let why = text(&run(&["report", name]).stderr);
    assert!(
        why.contains("is not a recording\nckpttop: hint: Make one with"),
        "{why}"
    );
}
