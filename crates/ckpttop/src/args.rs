//! The command line.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing.
//! *Never:* opens anything: what was asked for is done in [`crate::main`].

use clap::{ArgGroup, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Show the statistics of ckptflush: how a PostgreSQL server's checkpoints run, and what they
/// cost.
///
/// Without options it shows the server that runs on this machine, reading its stats segment and
/// nothing else, so it works while the server hangs.
#[derive(Debug, Parser)]
#[command(
    name = "ckpttop",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
#[command(group = ArgGroup::new("output").args(["json", "batch", "openmetrics", "mmv"]))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) server: Server,

    /// Time from look to look, in seconds: 0.1 to 60
    #[arg(long, short = 'i', value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Look so many times, then end
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// Look once; the same as --count 1, with --batch unless another form is named
    #[arg(long, short = '1', conflicts_with = "count")]
    pub(crate) once: bool,

    /// Print each look as plain text
    #[arg(long, short = 'b')]
    pub(crate) batch: bool,

    /// Print each look as a JSON object in a line
    #[arg(long, short = 'j')]
    pub(crate) json: bool,

    /// Print the metrics once as OpenMetrics text
    #[arg(long, conflicts_with = "count")]
    pub(crate) openmetrics: bool,

    /// Keep the metrics in a file in DIR, for Performance Co-Pilot's mmv agent
    #[arg(long, value_name = "DIR")]
    pub(crate) mmv: Option<PathBuf>,
}

/// Which server.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("where").args(["segment", "dsn"]))]
pub(crate) struct Server {
    /// Read this stats segment
    #[arg(long, short = 's', value_name = "FILE", conflicts_with_all = ["directory", "port"])]
    pub(crate) segment: Option<PathBuf>,

    /// Look for stats segments here [default: /dev/shm]
    #[arg(long, short = 'D', value_name = "DIR", conflicts_with = "dsn")]
    pub(crate) directory: Option<PathBuf>,

    /// Show the server with this port
    #[arg(long, short = 'p', value_name = "N", conflicts_with = "dsn")]
    pub(crate) port: Option<u16>,

    /// Connect to a server, which may be a remote one, and read its views
    ///
    /// A connection string or URI as psql takes it; "" stands for what the environment (PGHOST,
    /// PGSERVICE and so on) says.
    #[arg(long, short = 'd', value_name = "CONNINFO")]
    pub(crate) dsn: Option<String>,
}

/// What to do but show.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Append to a file, second by second, what a report is made from
    Record(Record),
    /// Make a report of a recording: a page of HTML with plots, in one file
    Report(Report),
    /// Show what is in stats files, the files in which statistics survive a crash
    ///
    /// It needs no server. The exit code is 1 if a file is refused, which is told with the reason.
    #[command(name = "statsfile")]
    StatsFile(StatsFiles),
}

/// How to record.
#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// The recording; what it has already stays
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) server: Server,

    /// Time from look to look, in seconds: 0.1 to 60
    #[arg(long, short = 'i', value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,

    /// End after so many seconds; without it Ctrl-C ends it
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// Take so many seconds from before the start out of the server's timeline; without it all
    /// that it has
    #[arg(long, value_name = "SECONDS")]
    pub(crate) history: Option<u64>,
}

/// What to report.
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// The recording
    pub(crate) file: PathBuf,

    /// Write it to this file; without it to standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Which stats files, and how to show them.
#[derive(Debug, clap::Args)]
pub(crate) struct StatsFiles {
    /// The files: PGDATA/pg_stat_tmp/ckptflush/*.cks
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print each file as a JSON object in a line
    #[arg(long, short = 'j')]
    pub(crate) json: bool,

    /// Leave the entries out
    #[arg(long)]
    pub(crate) summary: bool,
}

impl Args {
    /// How often to look; `None`: until told to end.
    pub(crate) fn looks(&self) -> Option<u64> {
        if self.once || self.openmetrics {
            Some(1)
        } else {
            self.count
        }
    }

    /// Whether the terminal is used, and not only written to.
    pub(crate) fn interactive(&self) -> bool {
        !(self.once || self.batch || self.json || self.openmetrics || self.mmv.is_some())
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=60.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("outside the valid range (0.1 .. 60)".to_owned())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("not a length of time".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
        let parse = |args: &[&str]| Args::try_parse_from([&["ckpttop"], args].concat());
        assert!(parse(&["--interval", "0.05"]).is_err());
        assert!(parse(&["--interval", "61"]).is_err());
        assert!(parse(&["--interval", "NaN"]).is_err());
        assert!(parse(&["--json", "--batch"]).is_err());
        assert!(parse(&["--dsn", "", "--port", "1"]).is_err());
        assert!(parse(&["--once", "record", "f"]).is_err());
        assert!(parse(&["record", "f", "--dsn", "", "--port", "1"]).is_err());
        assert!(parse(&["record", "f", "--duration", "-1"]).is_err());
        assert!(parse(&["record", "f", "-p", "1", "--duration", "1.5"]).is_ok());
        assert!(parse(&["report", "f", "-o", "g"]).is_ok());
        assert!(parse(&["statsfile", "5.cks", "0.cks", "--json", "--summary"]).is_ok());
        assert!(parse(&["statsfile"]).is_err());
        let args = parse(&["--once", "-i", "0.1"]).unwrap();
        assert_eq!((args.looks(), args.interactive()), (Some(1), false));
        let args = parse(&["--count", "3"]).unwrap();
        assert_eq!((args.looks(), args.interactive()), (Some(3), true));
    }
}
