//! What was waited for since the last look: differences of the table of waits.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* makes a difference across a reset or a restart: what stands in the table then is all
//! new.

use crate::snapshot::Views;
use crate::value::At;
use crate::views::{self, PHASES};
use std::collections::HashMap;

/// Who waits for what: type of backend, type of wait, wait.
pub(crate) type Key = (String, Option<String>, Option<String>);

/// One wait of one type of backend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) key: Key,
    /// Samples by phase, since the last reset.
    pub(crate) samples: [u64; PHASES],
    /// Samples since the last look; `None` at the first.
    pub(crate) grown: Option<u64>,
    /// Share of the samples of this type of backend since the last look, or of all at the first.
    pub(crate) share: Option<f64>,
}

impl Found {
    /// Samples in all phases.
    pub(crate) fn all(&self) -> u64 {
        self.samples.iter().sum()
    }

    fn recent(&self) -> u64 {
        self.grown.unwrap_or_else(|| self.all())
    }
}

/// Differences of successive looks.
#[derive(Debug, Default)]
pub(crate) struct WaitRates {
    /// When the segment was made, and what its table said.
    before: Option<(At, HashMap<Key, u64>)>,
    rows: Vec<Found>,
}

impl WaitRates {
    /// Takes in the table as it is now.
    pub(crate) fn push(&mut self, views: &Views) {
        let mut samples: HashMap<Key, [u64; PHASES]> = HashMap::new();
        for wait in &views.waits {
            let key = (
                wait.backend_type.clone(),
                wait.wait_event_type.clone(),
                wait.wait_event.clone(),
            );
            if let Some(phase) = views::phase(&wait.checkpoint_phase) {
                samples.entry(key).or_default()[phase] += wait.samples;
            }
        }
        let made_at = views.info.started_at;
        let former = self.before.take();
        let rows = samples.into_iter().map(|(key, samples)| {
            let all: u64 = samples.iter().sum();
            let grown = former.as_ref().map(|(made, before)| {
                let before = before.get(&key).filter(|_| *made == made_at);
                let before = before.copied().unwrap_or(0);
                all.checked_sub(before).unwrap_or(all)
            });
            Found {
                key,
                samples,
                grown,
                share: None,
            }
        });
        self.rows = rows.collect();
        let all = self.rows.iter().map(|row| (row.key.clone(), row.all()));
        self.before = Some((made_at, all.collect()));
        self.divide();
    }

    /// Fills in the shares, and puts what was found most first.
    fn divide(&mut self) {
        let mut whole: HashMap<String, u64> = HashMap::new();
        for row in &self.rows {
            *whole.entry(row.key.0.clone()).or_default() += row.recent();
        }
        for row in &mut self.rows {
            let whole = whole.get(&row.key.0).copied().unwrap_or(0);
            row.share = (whole > 0).then(|| row.recent() as f64 / whole as f64);
        }
        self.rows.sort_by(|a, b| {
            let by = |row: &Found| std::cmp::Reverse((row.recent(), row.all()));
            by(a).cmp(&by(b)).then_with(|| a.key.cmp(&b.key))
        });
    }

    /// What was found, most of it since the last look first.
    pub(crate) fn rows(&self) -> &[Found] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::info::Info;
    use crate::views::waits::Wait;

    fn table(made: i64, rows: &[(&str, &str, u64)]) -> Views {
        let waits = rows.iter().map(|(event, phase, samples)| Wait {
            backend_type: "client backend".to_owned(),
            wait_event: Some((*event).to_owned()),
            checkpoint_phase: (*phase).to_owned(),
            samples: *samples,
            ..Wait::default()
        });
        let started_at = At(made);
        Views {
            info: Info {
                started_at,
                ..Info::default()
            },
            waits: waits.collect(),
            ..Views::default()
        }
    }

    fn seen(rates: &WaitRates) -> Vec<(String, Option<u64>, Option<f64>)> {
        let rows = rates.rows().iter();
        rows.map(|row| (row.key.2.clone().unwrap_or_default(), row.grown, row.share))
            .collect()
    }

    #[test]
    fn what_grew_most_comes_first() {
        let mut rates = WaitRates::default();
        rates.push(&table(1, &[("a", "none", 60), ("b", "none", 40)]));
        let first = [("a", None, 0.6), ("b", None, 0.4)];
        let named =
            |(name, grown, share): (&str, Option<u64>, f64)| (name.to_owned(), grown, Some(share));
        assert_eq!(seen(&rates), first.map(named));
        rates.push(&table(
            1,
            &[("a", "none", 61), ("b", "none", 40), ("b", "syncing", 3)],
        ));
        let second = [("b", Some(3), 0.75), ("a", Some(1), 0.25)];
        assert_eq!(seen(&rates), second.map(named));
        assert_eq!(rates.rows()[0].samples, [40, 0, 3]);
        // A reset, and another segment: all that is there is new.
        rates.push(&table(1, &[("a", "none", 5)]));
        assert_eq!(seen(&rates), [("a", Some(5), 1.0)].map(named));
        rates.push(&table(2, &[("a", "none", 7)]));
        assert_eq!(seen(&rates), [("a", Some(7), 1.0)].map(named));
        // Nothing new is no share.
        rates.push(&table(2, &[("a", "none", 7)]));
        assert_eq!(seen(&rates), [("a".to_owned(), Some(0), None)]);
    }
}
