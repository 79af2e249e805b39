//! Tests of the queue: order, merging, and sums that stay those of its windows.

use super::*;
use proptest::prelude::*;

const ANY: Limit = Limit {
    operations: 1e9,
    bytes: 1e12,
};

fn pages(limit_pages: u32) -> Limit {
    Limit {
        operations: 1.0,
        bytes: f64::from(limit_pages) * BLOCK,
    }
}

#[test]
fn neighbours_go_out_together() {
    let mut queue = Queue::new();
    for block in [70, 65, 66, 64, 63, 62, 10] {
        queue.mark(1, block, 5.5);
    }
    assert!(
        (queue.load().operations - 4.0).abs() < 1e-9,
        "a run ends with its window"
    );
    let first = queue.take(&ANY).unwrap();
    assert_eq!((first.first_block, first.blocks), (10, 1));
    let second = queue.take(&ANY).unwrap();
    assert_eq!((second.first_block, second.blocks), (62, 5));
    let third = queue.take(&ANY).unwrap();
    assert_eq!((third.first_block, third.blocks), (70, 1));
    assert_eq!(queue.take(&ANY), None);
    assert_eq!(queue.load(), Load::default());
}

#[test]
fn a_run_is_cut_to_the_limit() {
    let mut queue = Queue::new();
    for block in 0..100 {
        queue.mark(1, block, 1.0);
    }
    let mut next = 0;
    while let Some(issue) = queue.take(&pages(16)) {
        assert_eq!(issue.first_block, next);
        assert!(issue.blocks <= 16);
        next += issue.blocks;
    }
    assert_eq!(next, 100);
    queue.mark(1, 7, 1.0);
    assert_eq!(queue.take(&pages(0)).unwrap().blocks, 1, "at least a page");
}

#[test]
fn the_earliest_goes_first() {
    let mut queue = Queue::new();
    queue.mark(1, 0, 30.0);
    queue.mark(2, 0, 20.0);
    queue.mark(3, 0, 40.0);
    assert_eq!(queue.earliest(), Some(20.0));
    queue.hasten(3, 10.0);
    let order: Vec<u32> = std::iter::from_fn(|| queue.take(&ANY))
        .map(|issue| issue.file)
        .collect();
    assert_eq!(order, [3, 2, 1]);
}

#[test]
fn what_a_sweep_counts_waits_for_what_is_known() {
    let mut queue = Queue::new();
    queue.mark(1, 0, 30.0);
    queue.mark(1, 1, 30.0);
    queue.observe(1, 0, 10, 5.0);
    assert_eq!(queue.earliest(), Some(30.0), "a folio with both pages");
    assert_eq!(queue.bytes(), 2 * BLOCK_BYTES);
    assert_eq!(queue.take(&ANY).unwrap().blocks, 2);
    queue.observe(1, 0, 10, 5.0);
    assert_eq!(queue.earliest(), Some(5.0), "others");
    assert_eq!(queue.bytes(), 10 * BLOCK_BYTES);
    queue.mark(1, 40, 30.0);
    assert_eq!(queue.bytes(), 10 * BLOCK_BYTES, "it was one of them");
    let issue = queue.take(&pages(1)).unwrap();
    assert_eq!((issue.first_block, issue.blocks, issue.pages), (0, 64, 10));
    queue.observe(1, 3, 64, 5.0);
    assert!(
        (queue.load().operations - 1.0).abs() < 1e-9,
        "dense is one run"
    );
    queue.observe(1, 3, 0, 5.0);
    assert!(queue.is_empty(), "written by somebody else");
}

proptest! {
    #[test]
    fn sums_are_those_of_the_windows(
        steps in prop::collection::vec((0..4u32, 0..300u32, 0..20u8, 0..5u8), 1..300)
    ) {
        let mut queue = Queue::new();
        for (file, block, deadline, what) in steps {
            let deadline = f64::from(deadline);
            match what {
                0 => queue.observe(file, block / 64, block % 65, deadline),
                1 => { queue.take(&pages(block)); }
                2 if block % 16 == 0 => queue.forget(file),
                3 if block % 8 == 0 => queue.hasten(file, deadline),
                _ => queue.mark(file, block, deadline),
            }
            let sum = queue.windows.values().fold(Load::default(), |sum, w| sum + w.load());
            prop_assert!((queue.load().operations - sum.operations).abs() < 1e-6);
            prop_assert!((queue.load().bytes - sum.bytes).abs() < 1e-3);
            prop_assert_eq!(queue.order.len(), queue.windows.len());
            let due = queue.due().fold(Load::default(), |sum, (_, load)| sum + load);
            prop_assert!((due.operations - sum.operations).abs() < 1e-6);
        }
        let mut last = 0;
        while let Some(issue) = queue.take(&ANY) {
            prop_assert!(issue.pages > 0 && issue.pages <= issue.blocks);
            last += 1;
            prop_assert!(last < 2000);
        }
        prop_assert!(queue.is_empty() && queue.due.is_empty() && queue.order.is_empty());
    }
}
