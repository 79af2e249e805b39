//! A simulated checkpointer, followed by the frontier.

#![allow(clippy::unwrap_used)]

mod pool;

use pacing::frontier::{Frontier, LOOK_AHEAD, Pool, locate};
use pool::{Checkpointer, Fate, Shared, page_lists};
use proptest::prelude::*;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// Behind the list lies what longer ones left; some of its pages are already written when it
    /// is first looked at.
    #[test]
    fn the_length_is_exact_but_for_a_tail_already_written(
        (older, old, new) in page_lists(),
        written in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        uncounted in 0..20_usize,
    ) {
        let mut shared = Shared::new(1200);
        for pages in [&older, &old] {
            shared.checkpoint(pages);
        }
        let length = shared.begin(&new);
        shared.sort(length);
        let needed = shared.needed();
        prop_assert_eq!(locate(&shared, needed), Some(length));
        // Leftovers in the count make the walk go on into the stale tail.
        prop_assert_eq!(locate(&shared, needed + uncounted), Some(length));

        for index in &written {
            shared.clear(&shared.item(index.index(length)));
        }
        let last = (0..length).rev().find(|i| shared.is_needed(&shared.item(*i)));
        prop_assert_eq!(locate(&shared, needed), last.map(|i| i + 1));
    }

    /// A list that is still being filled, in buffer order.
    #[test]
    fn a_list_being_filled_is_refused_or_found_out(
        (_, old, new) in page_lists(),
        part in any::<prop::sample::Index>(),
        counted in any::<prop::sample::Index>(),
        in_page_order in any::<bool>(),
    ) {
        let mut shared = Shared::new(1200);
        shared.checkpoint(&old);
        let new = if in_page_order { pool::in_page_order(&new) } else { new };
        let some = 1 + part.index(new.len());
        shared.begin(&new[..some]);
        let needed = 1 + counted.index(shared.needed());
        let found = locate(&shared, needed);
        let sorted = (1..some).all(|i| shared.item(i - 1).page() <= shared.item(i).page());
        prop_assert!(found.is_none() || (sorted && found == Some(some)), "{:?} of {}", found, some);

        if let Some(length) = found {
            let frontier = Frontier::new(&shared, length);
            prop_assert!(frontier.list_stands(&shared));
            let whole = shared.append(&new[some..]);
            prop_assert_eq!(frontier.list_stands(&shared), whole == some);
            shared.sort(whole);
            prop_assert_eq!(frontier.list_stands(&shared), whole == some);
            prop_assert_eq!(locate(&shared, shared.needed()), Some(whole));
        }
    }

    /// A complete list in the middle of its sort.
    #[test]
    fn a_list_being_sorted_is_refused(
        (_, old, new) in page_lists(),
        swaps in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 1..9),
    ) {
        let mut shared = Shared::new(1200);
        shared.checkpoint(&old);
        let length = shared.begin(&new);
        shared.sort(length);
        for (one, other) in &swaps {
            shared.swap(one.index(length), other.index(length));
        }
        let sorted = (1..length).all(|i| shared.item(i - 1).page() <= shared.item(i).page());
        prop_assert_eq!(locate(&shared, shared.needed()), sorted.then_some(length));
    }
}

/// What a run of the simulation allows besides the plain write.
#[derive(Debug)]
struct Weather {
    fates: Vec<Fate>,
    /// One look in so many is answered "unknown"; 0: none.
    unknown_one_in: u64,
    budget: usize,
    /// Items that the checkpointer processes between two polls.
    stride: usize,
}

fn fates(kinds: impl Strategy<Value = Fate> + Clone) -> impl Strategy<Value = Vec<Fate>> {
    prop::collection::vec(kinds, 500)
}

/// Polls until no cursor can move, and checks what holds at every moment.
fn follow(new: &[pool::Page], weather: &Weather) -> Result<(), TestCaseError> {
    let mut shared = Shared::new(600);
    let length = shared.begin(new);
    shared.sort(length);
    shared.unknown_one_in = weather.unknown_one_in;
    let mut frontier = Frontier::new(&shared, length);
    let mut checkpointer = Checkpointer::new(&shared, length);
    let groups = checkpointer.groups();
    let mut delivered = vec![0_u32; length];
    let (mut clear_passed, mut calls, mut all_looks) = (0, 0, 0);
    let plain = weather.unknown_one_in == 0 && !weather.fates.contains(&Fate::Sticky);

    loop {
        let over = !checkpointer.step(&mut shared, weather.stride, &weather.fates);
        let mut idle = 0;
        loop {
            let before = frontier.done();
            shared.looks.set(0);
            let complete = frontier.advance(&shared, weather.budget, |index, item| {
                delivered[index] += 1;
                assert_eq!(*item, shared.item(index));
                clear_passed += usize::from(!shared.is_needed(item));
            });
            prop_assert!(shared.looks.get() <= weather.budget);
            all_looks += shared.looks.get();
            calls += 1;
            prop_assert!(frontier.done() >= before && frontier.done() <= frontier.total());
            // A budget short of all tablespaces takes turns; a whole round of them is complete.
            idle = if frontier.done() > before {
                0
            } else {
                idle + 1
            };
            if complete || idle == groups {
                break;
            }
        }
        prop_assert_eq!(
            frontier.done(),
            delivered.iter().filter(|n| **n == 1).count()
        );
        prop_assert!(delivered.iter().all(|n| *n <= 1));
        for group in checkpointer.states(&shared) {
            let passed = group.range.clone().filter(|i| delivered[*i] > 0).count();
            let early = passed.saturating_sub(group.processed);
            let allowed = group.ahead * 65 / 48 + usize::from(group.ahead > 0);
            prop_assert!(early <= allowed, "{} early, {} allowed", early, allowed);
            if plain {
                prop_assert!(passed >= group.processed);
            }
        }
        if over {
            break;
        }
    }
    let stepped = frontier.done() - clear_passed;
    let unknown = if weather.unknown_one_in > 0 {
        clear_passed
    } else {
        0
    };
    prop_assert!(
        all_looks <= clear_passed + (stepped + unknown + groups * calls) * (LOOK_AHEAD + 1)
    );
    if plain {
        prop_assert_eq!(frontier.done(), length);
    }
    frontier.finish(&shared, |index, _| delivered[index] += 1);
    prop_assert!(delivered.iter().all(|n| *n == 1));
    prop_assert_eq!(frontier.done(), length);
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn without_disturbance_done_is_what_the_checkpointer_has_processed(
        (_, _, new) in page_lists(),
        stride in 1..40_usize,
    ) {
        let mut shared = Shared::new(600);
        let length = shared.begin(&new);
        shared.sort(length);
        let mut frontier = Frontier::new(&shared, length);
        let mut checkpointer = Checkpointer::new(&shared, length);
        while checkpointer.step(&mut shared, stride, &[Fate::Plain]) {
            let complete = frontier.advance(&shared, usize::MAX, |_, _| {});
 prop_assert!(complete);
            prop_assert_eq!(frontier.done(), checkpointer.processed());
        }
    }

    #[test]
    fn whatever_happens_each_item_comes_once_and_done_keeps_its_bounds(
        (_, _, new) in page_lists(),
        fates in fates(prop_oneof![
            6 => Just(Fate::Plain),
            1 => Just(Fate::Sticky),
            1 => (0..400_usize).prop_map(Fate::WrittenByOthers),
            1 => (0..400_usize).prop_map(Fate::Evicted),
        ]),
        unknown_one_in in prop_oneof![Just(0), 2..20_u64],
        budget in (LOOK_AHEAD + 1)..500,
        stride in 1..40_usize,
    ) {
        follow(&new, &Weather { fates, unknown_one_in, budget, stride })?;
    }

    #[test]
    fn with_writes_by_others_only_done_reaches_the_total_by_itself(
        (_, _, new) in page_lists(),
        fates in fates(prop_oneof![
            1 => Just(Fate::Plain),
            1 => (0..400_usize).prop_map(Fate::WrittenByOthers),
            1 => (0..400_usize).prop_map(Fate::Evicted),
        ]),
        budget in (LOOK_AHEAD + 1)..200,
        stride in 1..40_usize,
    ) {
        follow(&new, &Weather { fates, unknown_one_in: 0, budget, stride })?;
    }

    #[test]
    fn scattered_sticky_flags_hold_it_up_by_the_look_ahead_at_most(
        (_, _, new) in page_lists(),
        phase in 0..8_usize,
        stride in 1..40_usize,
    ) {
        let mut shared = Shared::new(600);
        let length = shared.begin(&new);
        shared.sort(length);
        let mut frontier = Frontier::new(&shared, length);
        let mut checkpointer = Checkpointer::new(&shared, length);
        let fates: Vec<_> = (0..8)
            .map(|i| if i == phase { Fate::Sticky } else { Fate::Plain })
            .collect();
        let mut passed = vec![false; length];
        let mut going = true;
        while going {
            going = checkpointer.step(&mut shared, stride, &fates);
            let complete =
 frontier.advance(&shared, usize::MAX, |index, _| passed[index] = true);
 prop_assert!(complete);
            for group in checkpointer.states(&shared) {
                let done = group.range.clone().filter(|i| passed[*i]).count();
                prop_assert!(done + LOOK_AHEAD >= group.processed);
                let missing = group.range.len() - done;
                prop_assert!(going || missing <= 1, "{} missing", missing);
            }
        }
    }
}
