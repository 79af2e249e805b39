//! How far the writing of a work list shall be, so that its cost for the device is even in time.
//!
//! *Runs in:* any process; the flusher makes one per checkpoint.
//! *Reads and writes:* its own memory.
//! *Never:* keeps a cost: it keeps loads, and what they cost is asked of the caller each time,
//! who learns it by and by.
//!
//! PostgreSQL spreads a checkpoint evenly by pages. But a lone page costs the device an operation,
//! and a page among its neighbours a sixty-fourth of one: the sparse part of the list is written
//! faster than a disk can take it, and waits in the kernel's page cache until the kernel loses
//! its patience. By cost, the sparse part is written slowly and the dense part fast.
//!
//! Tablespaces are written side by side, each at the same share of its pages
//! (bufmgr.c:BufferSync, `ts_heap`): hence the parts.

use crate::device::Load;

/// Loads are summed up at each so many items.
const STEP: usize = 32;

/// The items of one tablespace, all on one device.
#[derive(Clone, Debug)]
struct Part {
    lane: usize,
    items: usize,
    /// Sum of the loads up to each `STEP` items, beginning with none; the last one is the total.
    sums: Vec<Load>,
    sum: Load,
}

impl Part {
    /// Load of the first `share` of the items.
    fn load(&self, share: f64) -> Load {
        let items = share.clamp(0.0, 1.0) * self.items as f64;
        let step = (items as usize) / STEP;
        let begin = step * STEP;
        let end = (begin + STEP).min(self.items).max(begin + 1);
        let low = self.sums.get(step).copied().unwrap_or(self.sum);
        let high = self.sums.get(step + 1).copied().unwrap_or(self.sum);
        let part = (items - begin as f64) / (end - begin) as f64;
        Load {
            operations: low.operations + (high.operations - low.operations) * part,
            bytes: low.bytes + (high.bytes - low.bytes) * part,
        }
    }
}

/// A work list by its loads.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    parts: Vec<Part>,
}

impl Curve {
    /// The items that follow are of another tablespace, on the device `lane`.
    pub fn begin_part(&mut self, lane: usize) {
        self.parts.push(Part {
            lane,
            items: 0,
            sums: vec![Load::default()],
            sum: Load::default(),
        });
    }

    /// The next item of the last part; nothing if there is none.
    pub fn push(&mut self, load: Load) {
        if let Some(part) = self.parts.last_mut() {
            part.items += 1;
            part.sum += load;
            if part.items.is_multiple_of(STEP) {
                part.sums.push(part.sum);
            }
        }
    }

    /// The share of the items whose cost is `share` of the cost of all: both 0 to 1. `cost` is
    /// that of a load on a device, in seconds. Where nothing costs anything, `share` itself.
    #[must_use]
    pub fn items_at(&self, share: f64, cost: impl Fn(usize, Load) -> f64) -> f64 {
        let spent = |items: f64| -> f64 {
            let costs = self.parts.iter().map(|p| cost(p.lane, p.load(items)));
            costs.sum()
        };
        let total = spent(1.0);
        if total <= 0.0 {
            return share.clamp(0.0, 1.0);
        }
        let wanted = total * share;
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if spent(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// To a millionth of the list.
const BISECTIONS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: f64 = 8192.0;

    fn cost(_: usize, load: Load) -> f64 {
        load.operations / 400.0 + load.bytes / 20e6
    }

    /// `sparse` lone pages, then `dense` neighbours.
    fn part(curve: &mut Curve, lane: usize, sparse: usize, dense: usize) {
        curve.begin_part(lane);
        for item in 0..sparse + dense {
            let begins = item < sparse || item.is_multiple_of(64);
            curve.push(Load {
                operations: f64::from(u8::from(begins)),
                bytes: PAGE,
            });
        }
    }

    #[test]
    fn an_even_list_is_written_evenly() {
        let mut curve = Curve::default();
        part(&mut curve, 0, 10_000, 0);
        for share in [0.0, 0.1, 0.5, 0.93, 1.0] {
            assert!((curve.items_at(share, cost) - share).abs() < 1e-3);
        }
    }

    #[test]
    fn sparse_pages_take_their_time() {
        let mut curve = Curve::default();
        part(&mut curve, 0, 2000, 8000);
        let sparse = 2000.0 * (1.0 / 400.0 + PAGE / 20e6);
        let all = sparse + 8000.0 * PAGE / 20e6 + 8000.0 / 64.0 / 400.0;
        assert!((curve.items_at(sparse / all, cost) - 0.2).abs() < 1e-2);
        assert!(curve.items_at(0.3, cost) < 0.1);
        assert!((curve.items_at(1.0, cost) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn tablespaces_advance_side_by_side() {
        let mut curve = Curve::default();
        part(&mut curve, 0, 1000, 0);
        part(&mut curve, 1, 0, 1000);
        // Each at the same share of its own pages, which is even in both.
        assert!((curve.items_at(0.5, cost) - 0.5).abs() < 1e-2);
    }

    #[test]
    fn nothing_to_write_is_written_evenly() {
        assert!((Curve::default().items_at(0.4, cost) - 0.4).abs() < 1e-9);
        let mut curve = Curve::default();
        curve.push(Load::default());
        assert!((curve.items_at(0.4, cost) - 0.4).abs() < 1e-9);
    }
}
