//! The rules about the schedule, with numbers that trigger and numbers that do not.

use super::super::testing::{busy, checkpoint, load, statement};
use super::*;

/// The busy server with so much WAL per second and checkpoints every so many seconds, by WAL.
fn flooded(rate_mb: f64, interval: f64) -> Measured {
    let mut measured = busy();
    measured.load = load(rate_mb * MB, rate_mb * MB, 8000.0);
    measured.checkpoints = (0..8)
        .map(|place| checkpoint(place, interval, 8000.0))
        .collect();
    for checkpoint in &mut measured.checkpoints {
        checkpoint.cause = Some(Cause::Wal);
    }
    measured
}

#[test]
fn max_wal_size_follows_the_wal_rate() {
    let measured = flooded(10.0, 55.0);
    let advice = by_wal(&measured).unwrap();
    assert_eq!(advice.severity, Severity::Warning);
    assert!(advice.evidence.starts_with("8 of the last 8 checkpoints"));
    // (300 s + 30 s) × 10 MB × 1.25 × 1.9 = 7.7 GB
    assert_eq!(
        statement(Some(advice)),
        "ALTER SYSTEM SET max_wal_size = '8GB';"
    );
}

#[test]
fn checkpoints_by_wal_are_no_matter_when_they_are_rare_or_past() {
    let mut half = flooded(10.0, 55.0);
    for checkpoint in half.checkpoints.iter_mut().take(4) {
        checkpoint.cause = Some(Cause::Timed);
    }
    assert_eq!(by_wal(&half), None);
    let mut one = flooded(10.0, 55.0);
    one.checkpoints.truncate(1);
    assert_eq!(by_wal(&one), None);
    let mut followed = flooded(10.0, 55.0);
    followed.settings.max_wal_bytes = 8192.0 * MB;
    assert_eq!(by_wal(&followed), None, "the advice was followed");
    let mut unknown = flooded(10.0, 55.0);
    unknown.load = None;
    assert_eq!(by_wal(&unknown), None, "no evidence");
    let mut asked = flooded(10.0, 55.0);
    for checkpoint in &mut asked.checkpoints {
        checkpoint.cause = Some(Cause::Requested);
    }
    assert_eq!(by_wal(&asked), None);
}

#[test]
fn max_wal_size_is_bounded_by_the_disk() {
    let mut measured = flooded(10.0, 55.0);
    measured.wal_disk = Some((1000.0 * MB, 4000.0 * MB));
    assert_eq!(
        statement(by_wal(&measured)),
        "ALTER SYSTEM SET max_wal_size = '3000MB';"
    );
    measured.wal_disk = Some((1000.0 * MB, 800.0 * MB));
    let advice = by_wal(&measured).unwrap();
    assert_eq!(advice.suggestion(), None);
    assert!(advice.expected_effect.contains("no room"));
}

#[test]
fn a_low_target_crams_the_writes() {
    let mut measured = busy();
    measured.settings.target = 0.1;
    for checkpoint in &mut measured.checkpoints {
        checkpoint.write = Some(30.0);
        checkpoint.ended_at = checkpoint.started_at + 30.1;
    }
    let advice = low_target(&measured).unwrap();
    assert_eq!(advice.severity, Severity::Warning);
    assert!(
        advice
            .evidence
            .contains("wrote 62.5 MB in 30.0 s on average, of 5.0 min")
    );
    assert!(
        advice
            .expected_effect
            .starts_with("237 kB per second in the write phase instead of 2.1 MB")
    );
    assert_eq!(
        statement(Some(advice)),
        "ALTER SYSTEM SET checkpoint_completion_target = '0.9';"
    );
    measured.settings.target = 0.7;
    assert_eq!(low_target(&measured).unwrap().severity, Severity::Info);
    measured.settings.target = 0.8;
    assert_eq!(low_target(&measured), None);
    measured.settings.target = 0.1;
    measured
        .checkpoints
        .iter_mut()
        .for_each(|it| it.pages = 20.0);
    assert_eq!(low_target(&measured), None, "nothing to write");
}

/// Checkpoints that take that share of their interval.
fn taking(share: f64) -> Measured {
    let mut measured = busy();
    for checkpoint in &mut measured.checkpoints {
        checkpoint.ended_at = checkpoint.started_at + share * 300.0;
    }
    measured
}

#[test]
fn checkpoints_without_a_pause_are_back_to_back() {
    assert_eq!(back_to_back(&taking(0.91)), None);
    let advice = back_to_back(&taking(0.995));
    assert!(
        advice
            .as_ref()
            .unwrap()
            .evidence
            .starts_with("5 of the last 5")
    );
    assert_eq!(
        statement(advice),
        "ALTER SYSTEM SET checkpoint_timeout = '10min';"
    );
    let mut by_wal = taking(0.995);
    by_wal.load = load(10.0 * MB, 10.0 * MB, 8000.0);
    assert_eq!(
        statement(back_to_back(&by_wal)),
        "ALTER SYSTEM SET max_wal_size = '2048MB';"
    );
    by_wal.wal_disk = Some((1000.0 * MB, 2000.0 * MB));
    assert_eq!(back_to_back(&by_wal).unwrap().suggestion(), None, "no room");
    let mut few = taking(0.995);
    few.checkpoints.truncate(3);
    assert_eq!(back_to_back(&few), None);
    let mut small = taking(0.995);
    small.checkpoints.iter_mut().for_each(|it| it.pages = 20.0);
    assert_eq!(back_to_back(&small), None);
}

#[test]
fn a_target_of_one_leaves_nothing_for_fsyncs() {
    let mut measured = taking(1.0);
    assert_eq!(high_target(&measured), None, "0.9");
    measured.settings.target = 1.0;
    assert_eq!(
        statement(high_target(&measured)),
        "ALTER SYSTEM SET checkpoint_completion_target = '0.9';"
    );
    assert_eq!(
        statement(back_to_back(&measured)),
        "ALTER SYSTEM SET checkpoint_completion_target = '0.9';"
    );
    let mut enough = taking(0.9);
    enough.settings.target = 1.0;
    assert_eq!(
        high_target(&enough),
        None,
        "the WAL ends the write phase early"
    );
}

#[test]
fn pg_wal_must_fit_its_disk() {
    let mut measured = busy();
    assert_eq!(disk_too_small(&measured), None);
    measured.wal_disk = Some((300.0 * MB, 500.0 * MB));
    let advice = disk_too_small(&measured).unwrap();
    assert_eq!(
        advice.severity,
        Severity::Warning,
        "the setting allows it, the load does not need it"
    );
    assert_eq!(
        statement(Some(advice)),
        "ALTER SYSTEM SET max_wal_size = '480MB';"
    );
    let mut flooded = flooded(10.0, 55.0);
    flooded.wal_disk = Some((300.0 * MB, 500.0 * MB));
    assert_eq!(
        disk_too_small(&flooded).unwrap().severity,
        Severity::Critical
    );
    measured.wal_disk = Some((10.0 * MB, 20.0 * MB));
    assert_eq!(
        disk_too_small(&measured).unwrap().suggestion(),
        None,
        "no setting is small enough"
    );
    measured.wal_disk = None;
    assert_eq!(disk_too_small(&measured), None);
}

#[test]
fn long_recovery_is_said_with_its_price() {
    let mut measured = busy();
    assert_eq!(recovery(&measured), None);
    measured.load = load(20.0 * MB, 20.0 * MB, 8000.0);
    measured.settings.max_wal_bytes = 1e12;
    measured.settings.timeout = 1800.0;
    let advice = recovery(&measured).unwrap();
    assert_eq!(advice.severity, Severity::Info);
    assert_eq!(
        statement(Some(advice)),
        "ALTER SYSTEM SET checkpoint_timeout = '8min';"
    );
    measured.settings.max_wal_bytes = 50_000.0 * MB;
    let advice = statement(recovery(&measured));
    let size = advice
        .strip_prefix("ALTER SYSTEM SET max_wal_size = '")
        .and_then(|rest| rest.strip_suffix("MB';"));
    // Who has followed it hears of it no more.
    measured.settings.max_wal_bytes = size.unwrap().parse::<f64>().unwrap() * MB;
    assert_eq!(recovery(&measured), None);
}
