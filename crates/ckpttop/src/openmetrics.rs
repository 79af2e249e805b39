//! The metrics as OpenMetrics text, version 1.0.0.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes to what it is given.
//! *Never:* uses a type that the older Prometheus text format has not, so that the textfile
//! collector of node_exporter can take the same.
//!
//! Counters end in `_total`; a statistic is a summary with its quantiles, and two gauges for its
//! smallest and largest value. Times are in seconds, as the format wants it.

use crate::metrics::{self, Metric, Statistic, Unit, Value};
use crate::snapshot::{Seen, Snapshot};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes an exposition.
pub(crate) fn write(snapshot: &Snapshot, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(text(snapshot).as_bytes())
}

fn text(snapshot: &Snapshot) -> String {
    let seen = &snapshot.seen;
    let label = label(
        "port",
        &seen.port.map_or_else(String::new, |p| p.to_string()),
    );
    let mut out = Exposition {
        text: String::new(),
        label,
    };
    out.server(seen, snapshot);
    for metric in metrics::of(snapshot) {
        out.metric(&metric);
    }
    out.text.push_str("# EOF\n");
    out.text
}

struct Exposition {
    text: String,
    /// Tells servers apart whose expositions are gathered in one place.
    label: String,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, unit: Unit, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if let Some(unit) = suffix(unit) {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escape(help));
    }

    fn sample(&mut self, name: &str, more: &str, value: f64) {
        let label = &self.label;
        let _ = writeln!(self.text, "{name}{{{label}{more}}} {value}");
    }

    /// Which server, as labels.
    fn server(&mut self, seen: &Seen, snapshot: &Snapshot) {
        let name = "ckptflush_server_info";
        let generation = snapshot.views.as_ref().map(|views| views.info.generation);
        let text = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
        let labels = [
            (
                "system_identifier",
                seen.system_identifier.clone().unwrap_or_default(),
            ),
            ("server_version_num", text(seen.server_version_num)),
            ("generation", text(generation)),
        ];
        let labels: Vec<_> = labels.iter().map(|(n, v)| label(n, v)).collect();
        self.family(name, "gauge", Unit::Count, "The server, always 1");
        self.sample(name, &format!(",{}", labels.join(",")), 1.0);
    }

    fn metric(&mut self, metric: &Metric) {
        let Metric { unit, help, .. } = metric;
        let name = name(&metric.name, *unit);
        let scale = |number: f64| match unit {
            Unit::Time => number / 1e3,
            _ => number,
        };
        match metric.value {
            Value::Counter(value) => {
                self.family(&name, "counter", *unit, help);
                self.sample(&format!("{name}_total"), "", scale(value));
            }
            Value::Gauge(value) => self.gauge(&name, *unit, help, value.map(scale)),
            Value::Statistic(Statistic {
                count,
                total,
                min,
                max,
                quantiles,
            }) => {
                self.family(&name, "summary", *unit, help);
                for (q, value) in quantiles {
                    if let Some(value) = value {
                        self.sample(&name, &format!(",quantile=\"{q}\""), scale(value));
                    }
                }
                self.sample(&format!("{name}_sum"), "", scale(total));
                self.sample(&format!("{name}_count"), "", count as f64);
                for (what, value) in [("min", min), ("max", max)] {
                    let name = self::name(&format!("{}_{what}", metric.name), *unit);
                    self.gauge(&name, *unit, &format!("{help}: {what}"), value.map(scale));
                }
            }
        }
    }

    fn gauge(&mut self, name: &str, unit: Unit, help: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.family(name, "gauge", unit, help);
            self.sample(name, "", value);
        }
    }
}

fn suffix(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Count => None,
        Unit::Bytes => Some("bytes"),
        Unit::Time => Some("seconds"),
    }
}

/// The name of a family: with the unit at the end, and only characters that a name may have.
fn name(name: &str, unit: Unit) -> String {
    let clean = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
    let mut name = format!("ckptflush_{}", clean.trim_end_matches("_total"));
    if let Some(suffix) = suffix(unit)
        && !name.ends_with(suffix)
    {
        name = format!("{name}_{suffix}");
    }
    name
}

fn label(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", escape(value))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('"', "\\\"")
}
