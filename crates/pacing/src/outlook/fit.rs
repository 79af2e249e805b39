//! The WAL of a load by its age: a constant rate, and a surge that fades.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments only.
//! *Never:* has a rate or a surge below zero, whatever it is fitted to.

use super::Second;

/// Decays that are tried: evenly on a logarithmic scale, from a quarter of the longest age on.
const DECAYS: u32 = 64;
/// The shortest time constant of a surge, in seconds: the timeline sees no shorter one.
const SHORTEST: f64 = 1.0;
/// How far the surge may begin above the highest second: where no young second was seen, a fast
/// decay would make anything of it.
const STEEPEST: f64 = 2.0;
/// Where no older second was seen, a surge cannot be told from the rate: all is the rate then, which
/// is the most that it can be.
const OLD_ENOUGH: f64 = 10.0;
/// Fewer seconds say nothing.
const ENOUGH: usize = 10;

/// `rate + surge × e^(-decay × age)` bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) rate: f64,
    pub(super) surge: f64,
    /// Per second; above 0.
    pub(super) decay: f64,
}

impl Curve {
    /// The curve nearest to the seconds, by least squares.
    pub(super) fn fit(seconds: &[Second]) -> Option<Self> {
        if seconds.len() < ENOUGH {
            return None;
        }
        let longest = seconds.iter().fold(SHORTEST, |age, it| age.max(it.age));
        let most = seconds
            .iter()
            .fold(0.0_f64, |most, it| most.max(it.wal_bytes));
        let (slowest, fastest) = (0.25 / longest, 1.0 / SHORTEST);
        if longest < OLD_ENOUGH {
            #[allow(clippy::cast_precision_loss)]
            let rate = seconds.iter().map(|it| it.wal_bytes).sum::<f64>() / seconds.len() as f64;
            return Some(Self {
                rate,
                surge: 0.0,
                decay: fastest,
            });
        }
        (0..DECAYS)
            .map(|step| {
                let share = f64::from(step) / f64::from(DECAYS - 1);
                let decay = slowest * (fastest / slowest).powf(share);
                let curve = Self::with_decay(seconds, decay, STEEPEST * most);
                (curve.distance(seconds), curve)
            })
            .min_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, curve)| curve)
    }

    /// The nearest curve of that decay: a line over e^(-decay × age). Where one of its two
    /// parts would be negative, the best without that part; where the surge would be above the
    /// limit, what is left is the rate.
    fn with_decay(seconds: &[Second], decay: f64, limit: f64) -> Self {
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            let each = |it: &Second| of((-decay * it.age).exp(), it.wal_bytes);
            seconds.iter().map(each).sum()
        };
        let count = sum(|_, _| 1.0);
        let (x, y) = (sum(|x, _| x), sum(|_, y| y));
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let spread = count * xx - x * x;
        let surge = if spread > f64::EPSILON * count * xx {
            (count * xy - x * y) / spread
        } else {
            0.0
        };
        let rate = (y - surge * x) / count;
        let (rate, surge) = if surge < 0.0 {
            (y / count, 0.0)
        } else if rate < 0.0 {
            (0.0, if xx > 0.0 { xy / xx } else { 0.0 })
        } else {
            (rate, surge)
        };
        if surge > limit {
            let rate = ((y - limit * x) / count).max(0.0);
            return Self {
                rate,
                surge: limit,
                decay,
            };
        }
        Self { rate, surge, decay }
    }

    fn distance(&self, seconds: &[Second]) -> f64 {
        let error =
            |it: &Second| self.rate + self.surge * (-self.decay * it.age).exp() - it.wal_bytes;
        seconds.iter().map(|it| error(it).powi(2)).sum()
    }

    /// The share of the pages changed again that were seen in the first `t` seconds.
    pub(super) fn seen(&self, t: f64) -> f64 {
        -(-self.decay * t).exp_m1()
    }

    /// The same after `t` seconds, of pages that were last written at some time in the first
    /// `write` of these: the mean of `seen(t - x)` for x from 0 to `write`.
    pub(super) fn seen_since(&self, t: f64, write: f64) -> f64 {
        let span = self.decay * write;
        if span < 1e-6 {
            return self.seen(t);
        }
        // e^(-decay × (t - write)) - e^(-decay × t), without the overflow of e^span.
        let difference = (-self.decay * (t - write)).exp() * -(-span).exp_m1();
        1.0 - difference / span
    }

    /// What the surge holds in all.
    pub(super) fn surge_bytes(&self) -> f64 {
        self.surge / self.decay
    }

    /// Bytes in the first `t` seconds.
    pub(super) fn bytes(&self, t: f64) -> f64 {
        self.rate * t + self.surge_bytes() * self.seen(t)
    }

    /// The inverse of [`Curve::bytes`]; infinite where there is none.
    pub(super) fn reaches(&self, bytes: f64) -> f64 {
        if bytes <= 0.0 {
            return 0.0;
        }
        if self.rate <= 0.0 && bytes >= self.surge_bytes() {
            return f64::INFINITY;
        }
        // bytes() grows: first a time that is late enough, then halves.
        let mut late = 1.0;
        while self.bytes(late) < bytes && late < 1e12 {
            late *= 2.0;
        }
        if self.bytes(late) < bytes {
            return f64::INFINITY;
        }
        let mut early = 0.0;
        for _ in 0..60 {
            let middle = f64::midpoint(early, late);
            if self.bytes(middle) < bytes {
                early = middle;
            } else {
                late = middle;
            }
        }
        late
    }
}
