//! A server that is asked through libpq, which may be anywhere.
//!
//! *Runs in:* the viewer: a thread asks, so that the screen goes on while the server does not
//! answer.
//! *Reads and writes:* reads the SQL views; one connection, opened anew when it is lost.
//! *Never:* interprets a connection string: that is libpq's work, with all that belongs to it
//! (PG* variables, service files, .pgpass, TLS).
//!
//! The views come as one JSON object, in the form that they have in [`crate::snapshot`]: a column
//! that this version does not know is ignored, one that the server has not is not known.

use crate::failure::{Failure, Result};
use crate::signals::{SLICE, Signals};
use crate::snapshot::{Seen, Snapshot, Source, State, Views, Wants};
use crate::value::At;
use libpq::connection::Status;
use libpq::result::ErrorField;
use libpq::{Connection, PQResult};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A look takes no longer; what comes later is shown at the next.
const PATIENCE: Duration = Duration::from_secs(1);
/// But the first that is printed had better have everything: it may be the only one.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// As of a segment: when no worker has moved for longer, none moves. In milliseconds.
const STILL_MS: f64 = 3000.0;

/// What the thread brings.
type Answer = std::result::Result<Box<Told>, Away>;

/// Why there is no answer.
struct Away {
    why: Failure,
    /// It may be there again later: a restart, or a network that is down.
    wait: bool,
}

/// What the server tells.
#[derive(Deserialize)]
struct Told {
    now: At,
    port: u64,
    server_version_num: u64,
    #[serde(flatten)]
    views: Views,
}

/// A server asked through libpq.
pub(crate) struct Remote<'a> {
    signals: &'a Signals,
    /// The last answer is one that can be shown: on the screen any, else not that of `new`.
    complete: bool,
    source: String,
    ask: Sender<Wants>,
    answers: Receiver<Answer>,
    /// Since when an answer is awaited.
    asked: Option<Instant>,
    last: Option<Snapshot>,
    /// When the last answer came, on this machine.
    answered: Instant,
}

impl<'a> Remote<'a> {
    /// Connects, and looks for the first time; `None` when a signal came meanwhile.
    pub(crate) fn new(
        conninfo: &str,
        interactive: bool,
        signals: &'a Signals,
    ) -> Result<Option<Self>> {
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let owned = conninfo.to_owned();
        std::thread::spawn(move || serve(&owned, &asked, &answer));
        let mut remote = Self {
            signals,
            complete: interactive,
            source: String::new(),
            ask,
            answers,
            asked: None,
            last: None,
            answered: Instant::now(),
        };
        remote.send(Wants::LITTLE)?;
        while !signals.came() {
            match remote.answer(SLICE)? {
                Some(Ok(told)) => {
                    remote.take(*told);
                    return Ok(Some(remote));
                }
                Some(Err(away)) => return Err(away.why),
                None => {}
            }
        }
        Ok(None)
    }

    /// The thread's answer, if it comes in this time and before a signal.
    fn answer(&self, patience: Duration) -> Result<Option<Answer>> {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(SLICE)) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Timeout) if left > SLICE && !self.signals.came() => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }

    fn send(&mut self, wants: Wants) -> Result<()> {
        self.asked = Some(Instant::now());
        self.ask.send(wants).map_err(|_| ended())
    }

    /// Makes a snapshot of an answer.
    fn take(&mut self, told: Told) {
        self.asked = None;
        self.answered = Instant::now();
        let Told { now, views, .. } = told;
        self.source = format!("{} on port {}", views.info.segment_path, told.port);
        let moved = views.workers.iter().filter_map(|row| row.last_active_at);
        let moved = moved.max().unwrap_or_default().max(views.info.started_at);
        let still = now.ms_since(moved);
        let at_work = |state: &str| matches!(state, "running" | "starting");
        let server_state = if still <= STILL_MS {
            State::Running
        } else if views.workers.iter().any(|row| at_work(&row.state)) {
            State::Still
        } else {
            State::Unwatched
        };
        let running = views.progress.as_ref();
        let seen = Seen {
            version: env!("CARGO_PKG_VERSION"),
            source: self.source.clone(),
            taken_at: now,
            server_state,
            port: Some(told.port),
            server_version_num: Some(told.server_version_num),
            moved_at: Some(moved),
            still_time: Some(still),
            os_dirty_bytes: running.and_then(|row| row.os_dirty_bytes),
            ..Seen::default()
        };
        let views = Some(views);
        self.last = Some(Snapshot { seen, views });
    }

    /// The last answer, of a server that does not give another.
    fn silent(&self) -> Snapshot {
        let mut snapshot = self.last.clone().unwrap_or_default();
        let silent = self.answered.elapsed().as_secs_f64() * 1e3;
        let seen = &mut snapshot.seen;
        seen.taken_at = At(seen.taken_at.0 + (silent * 1e3) as i64);
        seen.still_time = seen.moved_at.map(|moved| seen.taken_at.ms_since(moved));
        seen.server_state = State::Still;
        snapshot
    }

    /// No views, of a server that is away.
    fn away(&self, why: &Failure) -> Snapshot {
        let seen = Seen {
            version: env!("CARGO_PKG_VERSION"),
            source: self.source.clone(),
            taken_at: At::now(),
            waiting_for: Some(why.message().to_owned()),
            ..Seen::default()
        };
        Snapshot { seen, views: None }
    }
}

impl Source for Remote<'_> {
    fn look(&mut self, wants: Wants) -> Result<Snapshot> {
        if self.asked.is_none() {
            self.send(wants)?;
        }
        let patience = if self.complete {
            PATIENCE
        } else {
            FIRST_PATIENCE
        };
        match self.answer(patience)? {
            Some(Ok(told)) => {
                self.take(*told);
                self.complete = true;
                Ok(self.last.clone().unwrap_or_default())
            }
            Some(Err(away)) => {
                self.asked = None;
                if away.wait {
                    Ok(self.away(&away.why))
                } else {
                    Err(away.why)
                }
            }
            None => Ok(self.silent()),
        }
    }
}

fn ended() -> Failure {
    Failure::new("the connection's thread has ended")
}

/// The thread: an answer for each question, as long as somebody asks.
fn serve(conninfo: &str, asked: &Receiver<Wants>, answer: &Sender<Answer>) {
    let mut session = None;
    while let Ok(wants) = asked.recv() {
        let told = session_of(&mut session, conninfo).and_then(|session| session.tell(wants));
        if told.is_err() {
            session = None;
        }
        if answer.send(told).is_err() {
            return;
        }
    }
}

/// The session there is, or a new one.
fn session_of<'a>(
    session: &'a mut Option<Session>,
    conninfo: &str,
) -> std::result::Result<&'a Session, Away> {
    let fresh = match session.take() {
        Some(session) => session,
        None => Session::open(conninfo)?,
    };
    Ok(session.insert(fresh))
}

/// A connection, and where the extension is.
struct Session {
    connection: Connection,
    /// The schema of the extension, quoted.
    schema: String,
}

impl Session {
    fn open(conninfo: &str) -> std::result::Result<Self, Away> {
        let parameters = HashMap::from([
            ("dbname", conninfo),
            ("fallback_application_name", "ckpttop"),
        ]);
        let connection = Connection::with_params(&parameters, true).map_err(|error| Away {
            why: Failure::of_libpq(&error.to_string()),
            wait: true,
        })?;
        let session = Self {
            connection,
            schema: String::new(),
        };
        // Names are looked up nowhere else, and moments are written in one way.
        session.exec(
            "SET search_path = pg_catalog; SET client_encoding = 'UTF8'; SET timezone = 'UTC'; \
             SET datestyle = 'ISO'; SET client_min_messages = error",
        )?;
        let schema = session.value(
            "SELECT quote_ident(n.nspname) FROM pg_extension e \
             JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'ckptflush'",
        )?;
        let Some(schema) = schema else {
            let database = session.connection.db().unwrap_or_default();
            return Err(Away {
                why: Failure::new(format!(
                    "extension \"ckptflush\" is not installed in database \"{database}\""
                ))
                .hint("Run CREATE EXTENSION ckptflush there, or connect to another database."),
                wait: false,
            });
        };
        Ok(Self { schema, ..session })
    }

    /// Asks for the views.
    fn tell(&self, wants: Wants) -> Answer {
        let told = self.value(&self.query(wants))?.unwrap_or_default();
        serde_json::from_str(&told).map_err(|error| Away {
            why: Failure::new("the server's views have a form that is not known")
                .detail(format!("{error}."))
                .hint("Use the viewer that was installed with the server's extension."),
            wait: false,
        })
    }

    fn query(&self, wants: Wants) -> String {
        let schema = &self.schema;
        let row = |view: &str| format!("'{view}', (SELECT row_to_json(v) FROM {schema}.{view} v)");
        let rows = |view: &str, more: &str| {
            format!(
                "'{view}', (SELECT coalesce(json_agg(v), '[]') \
                 FROM (SELECT * FROM {schema}.{view}{more}) v)"
            )
        };
        let all = |wanted: bool| if wanted { "" } else { " LIMIT 0" };
        let newest = |by: &str, most: usize| match i64::try_from(most) {
            Ok(most) => format!(" ORDER BY {by} DESC LIMIT {most}"),
            Err(_) => format!(" ORDER BY {by} DESC"),
        };
        let stalls = match i64::try_from(wants.stalls) {
            Ok(0) => " WHERE ongoing".to_owned(),
            _ => newest("ongoing DESC, started_at", wants.stalls.saturating_add(1)),
        };
        let transactions = format!(
            " WHERE starts_with(name, 'transaction_time_'){}",
            all(wants.histogram)
        );
        let files = format!(
            " ORDER BY sync_time DESC, buffers_written DESC, writeback_bytes DESC, path COLLATE \"C\"{}",
            all(wants.files)
        );
        let views = [
            row("ckpt_stats_info"),
            row("ckpt_stats"),
            row("ckpt_stats_progress"),
            row("ckpt_stats_flush"),
            rows("ckpt_stats_workers", ""),
            rows(
                "ckpt_stats_history",
                &newest("checkpoint_id", wants.history),
            ),
            rows("ckpt_stats_commands", all(wants.commands)),
            rows("ckpt_stats_waits", all(wants.waits)),
            rows("ckpt_stats_timeline", &newest("at", wants.timeline)),
            rows("ckpt_stats_stalls", &stalls),
            rows("ckpt_stats_histogram", &transactions),
            rows("ckpt_stats_files", &files),
            rows("ckpt_stats_counters", all(wants.counters)),
        ];
        format!(
            "SELECT json_build_object('now', clock_timestamp(), \
             'port', current_setting('port')::int, \
             'server_version_num', current_setting('server_version_num')::int, {})",
            views.join(", ")
        )
    }

    /// The first value of the first row, if there is one.
    fn value(&self, sql: &str) -> std::result::Result<Option<String>, Away> {
        let result = self.exec(sql)?;
        let value = (result.ntuples() > 0).then(|| result.value(0, 0));
        Ok(value
            .flatten()
            .map(|v| String::from_utf8_lossy(v).into_owned()))
    }

    fn exec(&self, sql: &str) -> std::result::Result<PQResult, Away> {
        let result = self.connection.exec(sql);
        match result.status() {
            libpq::Status::TuplesOk | libpq::Status::CommandOk => Ok(result),
            _ => Err(self.failed(&result)),
        }
    }

    fn failed(&self, result: &PQResult) -> Away {
        const INSUFFICIENT_PRIVILEGE: &str = "42501";
        let text = result.error_message().ok().flatten().unwrap_or_default();
        let code = result.error_field(ErrorField::Sqlstate).ok().flatten();
        let why = Failure::of_libpq(&text);
        Away {
            why: if code == Some(INSUFFICIENT_PRIVILEGE) {
                why.hint("Connect as a member of the role pg_monitor.")
            } else {
                why
            },
            wait: self.connection.status() == Status::Bad,
        }
    }
}
