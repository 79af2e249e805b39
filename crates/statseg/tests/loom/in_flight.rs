//! Group commits under the model checker: two that commit, beside a reader that sees any of them.
//!
//! A commit gets its position in the WAL and becomes visible under locks of PostgreSQL, of which
//! the reader takes the second to get its snapshot: here an insert position and a word with the
//! visible commits, each a chain of read-modify-writes as the lock would make it.

use super::{beside, check};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;
use statseg::model;

/// What the server has, and the words of the segment.
struct Server {
    inserted: AtomicU64,
    /// A bit for each position whose commit is visible.
    visible: AtomicU64,
    words: Vec<AtomicU64>,
}

type Act = fn(&Server);
type Target = fn(&Server) -> u64;

/// Whatever the snapshot of a reader shows lies before what it is told to wait for.
fn nothing_is_told_too_early(commit: Act, target: Target) -> impl Fn() + Sync + Send + 'static {
    move || {
        let server = Arc::new(Server {
            inserted: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            words: model::words(16),
        });
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let server = server.clone();
                thread::spawn(move || commit(&server))
            })
            .collect();
        beside(&server, move |server| {
            let seen = newest(server.visible.load(Acquire));
            assert!(target(server) >= seen, "told of what is not flushed");
        });
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(model::in_flight(&server.words).target(|| 99) <= 2);
    }
}

/// The position of the last visible commit.
fn newest(visible: u64) -> u64 {
    u64::from(u64::BITS - visible.leading_zeros())
}

/// What PostgreSQL does: the record, then visibility. Gives the end of the record.
fn made_visible(server: &Server) -> u64 {
    let end = server.inserted.fetch_add(1, AcqRel) + 1;
    server.visible.fetch_or(1 << (end - 1), AcqRel);
    end
}

fn commit(server: &Server) {
    let commits = model::in_flight(&server.words);
    commits.announce();
    commits.publish(made_visible(server));
}

fn target(server: &Server) -> u64 {
    model::in_flight(&server.words).target(|| server.inserted.load(Acquire))
}

#[test]
fn a_reader_waits_for_all_it_has_seen() {
    check(nothing_is_told_too_early(commit, target));
}

#[test]
fn a_commit_that_fails_is_waited_for_by_nobody_for_ever() {
    fn fails(server: &Server) {
        let commits = model::in_flight(&server.words);
        commits.announce();
        commits.withdraw();
    }
    check(nothing_is_told_too_early(fails, target));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn a_commit_announced_when_it_is_visible_is_told_too_early() {
    fn late(server: &Server) {
        let end = made_visible(server);
        let commits = model::in_flight(&server.words);
        commits.announce();
        commits.publish(end);
    }
    check(nothing_is_told_too_early(late, target));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn a_position_published_after_the_announcement_ended_is_told_too_early() {
    fn early(server: &Server) {
        let (in_flight, newest) = (&server.words[0], &server.words[1]);
        in_flight.fetch_add(1, Relaxed);
        let end = made_visible(server);
        in_flight.fetch_sub(1, Release);
        newest.fetch_max(end, Relaxed);
    }
    check(nothing_is_told_too_early(early, target));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn without_the_release_of_the_announcement_positions_are_missed() {
    fn relaxed(server: &Server) {
        let (in_flight, newest) = (&server.words[0], &server.words[1]);
        in_flight.fetch_add(1, Relaxed);
        let end = made_visible(server);
        newest.fetch_max(end, Relaxed);
        in_flight.fetch_sub(1, Relaxed);
    }
    check(nothing_is_told_too_early(relaxed, target));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn without_the_acquire_of_the_reader_positions_are_missed() {
    fn relaxed(server: &Server) -> u64 {
        let (in_flight, newest) = (&server.words[0], &server.words[1]);
        if in_flight.load(Relaxed) == 0 {
            newest.load(Relaxed)
        } else {
            server.inserted.load(Acquire)
        }
    }
    check(nothing_is_told_too_early(commit, relaxed));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn a_reader_that_goes_by_the_newest_position_alone_is_told_too_early() {
    fn newest_only(server: &Server) -> u64 {
        server.words[1].load(Acquire)
    }
    check(nothing_is_told_too_early(commit, newest_only));
}

#[test]
#[should_panic(expected = "told of what is not flushed")]
fn a_reader_that_asks_before_its_snapshot_is_told_too_early() {
    // The other way round from the rest: the target first, then the snapshot.
    check(|| {
        let server = Arc::new(Server {
            inserted: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            words: model::words(16),
        });
        let writer = {
            let server = server.clone();
            thread::spawn(move || commit(&server))
        };
        beside(&server, |server| {
            let target = target(server);
            let seen = newest(server.visible.load(Acquire));
            assert!(target >= seen, "told of what is not flushed");
        });
        writer.join().unwrap();
    });
}
