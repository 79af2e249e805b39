//! The screen, on a real pseudo-terminal: pages and keys, and the terminal given back however
//! the viewer ends.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use statseg::{CheckpointPhase, Second, Segment, Stall, Text, WaitKey};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::{Dir, alive, ckpttop, now_us};

/// A viewer on a terminal of its own.
struct Terminal {
    child: Child,
    ours: File,
    theirs: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        let child = ckpttop(arguments)
            .env("TERM", "xterm-256color")
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs.try_clone().unwrap())
            .spawn()
            .unwrap();
        let ours = File::from(ours);
        let mut reader = ours.try_clone().unwrap();
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            ours,
            theirs,
            output,
            screen: vt100::Parser::new(24, 80, 0),
        }
    }

    /// Waits until this stands on the screen, and returns all that does.
    fn wait_for(&mut self, what: &str) -> String {
        self.wait_until(what, |screen| screen.contents().contains(what));
        self.screen.screen().contents()
    }

    fn wait_until(&mut self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !holds(self.screen.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                panic!(
                    "waited in vain for {what:?} on\n{}",
                    self.screen.screen().contents()
                );
            };
            self.screen.process(&bytes);
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        !modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn end(&mut self) -> ExitStatus {
        self.wait_until("the normal screen", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        let status = self.child.wait().unwrap();
        assert!(!self.is_raw());
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What backends leave: a second, a wait, and a stall that is going on.
fn busy(segment: &Segment) {
    segment.timeline().push(&Second {
        at: now_us(),
        commits: 77,
        ..Second::default()
    });
    let key = WaitKey {
        backend_type: Text::new("client backend"),
        wait_type: Some(Text::new("LWLock")),
        wait_event: Some(Text::new("WALWrite")),
    };
    segment.waits().add(0, &key, CheckpointPhase::Writing, 5);
    segment.stall().write(&Stall {
        started_at: now_us(),
        stalled_ns: 2_500_000_000,
        ongoing: true,
        current_file: Some(Text::new("base/5/16384")),
        active_backends: 3,
        top_wait_type: Some(Text::new("LWLock")),
        top_wait_event: Some(Text::new("WALWrite")),
        ..Stall::default()
    });
}

#[test]
fn pages_are_turned_and_the_terminal_comes_back() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    busy(&segment);
    let mut terminal = Terminal::start(&["-D", dir.path().to_str().unwrap()]);
    terminal.wait_for("PostgreSQL 17.11, port 5432, PID");
    terminal
        .wait_for("stalled for 2.5 s: 3 backends at work, none commits; most wait for WALWrite");
    // 80 columns and 24 lines are enough, down to the last worker.
    let overview = terminal.wait_for("ckptflush flusher");
    assert!(overview.contains("25.0 %"), "{overview}");
    assert!(terminal.is_raw());
    terminal.type_in("2");
    terminal.wait_for("longest sync");
    terminal.type_in("\t");
    terminal.wait_for("files_total_estimate");
    terminal.type_in("\u{1b}[F");
    let last = terminal.wait_for("on_schedule");
    assert!(
        last.contains("elapsed_time") && !last.contains("checkpoint_id"),
        "{last}"
    );
    terminal.type_in("5");
    terminal.wait_for("mean: none");
    terminal.type_in("6");
    terminal.wait_for("LWLock/WALWrite");
    terminal.type_in("7");
    terminal.wait_for("p99 of transactions");
    terminal.type_in("8");
    terminal.wait_for("2.5 s");
    terminal.type_in("lllllll");
    terminal.wait_for("base/5/16384");
    terminal.type_in("9");
    terminal.wait_for("events_lost");
    terminal.type_in("?");
    terminal.wait_for("next page, former page");
    terminal.type_in("q");
    assert!(terminal.end().success());
}

#[test]
fn a_signal_ends_it_and_the_terminal_comes_back() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = Terminal::start(&["-D", dir.path().to_str().unwrap()]);
        terminal.wait_for("port 5432");
        let pid = Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(terminal.end().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn it_ends_when_its_terminal_is_gone() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    // Not for the child: it would keep the terminal alive.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let mut ours = openpt(flags).map(File::from).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = File::options().read(true).write(true).open(name).unwrap();
    let mut child = ckpttop(&["-D", dir.path().to_str().unwrap()])
        .env("TERM", "xterm-256color")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs)
        .spawn()
        .unwrap();
    // It has drawn something; then the window is closed.
    let mut buffer = [0; 4096];
    assert!(ours.read(&mut buffer).unwrap() > 0);
    std::thread::sleep(Duration::from_millis(300));
    drop(ours);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_error_is_readable_after_the_screen() {
    let mut terminal = Terminal::start(&["-D", "/nonexistent"]);
    terminal.wait_for("could not open directory \"/nonexistent\"");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(1));
    assert!(!terminal.is_raw());
}

#[test]
fn a_server_is_picked_from_a_list() {
    let dir = Dir::new();
    let _first = dir.server(5432, 1);
    let second = dir.server(5433, 1);
    alive(&second, now_us());
    let mut terminal = Terminal::start(&["-D", dir.path().to_str().unwrap()]);
    terminal.wait_for("port  5433");
    terminal.type_in("j\r");
    terminal.wait_for("PostgreSQL 17.11, port 5433, PID");
    terminal.type_in("\u{3}");
    assert!(terminal.end().success());
}
