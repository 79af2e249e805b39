/* ckptflush--1.0.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ckptflush" to load this file. \quit

-- Each view stands over the function of its name. Views that name relations, databases or files
-- are for pg_monitor; the others are for everybody, as PostgreSQL's own pg_stat_checkpointer is.
-- A view's functions run with the rights of whoever queries it, so both get the same grants.

CREATE FUNCTION ckpt_stats(
    OUT num_timed bigint,
    OUT num_requested bigint,
    OUT num_done bigint,
    OUT num_failed bigint,
    OUT restartpoints_timed bigint,
    OUT restartpoints_req bigint,
    OUT restartpoints_done bigint,
    OUT write_time double precision,
    OUT sync_time double precision,
    OUT buffers_written bigint,
    OUT slru_written bigint,
    OUT files_synced bigint,
    OUT longest_sync_time double precision,
    OUT writeback_bytes bigint,
    OUT writeback_calls bigint,
    OUT sync_pause_time double precision,
    OUT stalls bigint,
    OUT stalled_time double precision,
    OUT stats_reset timestamp with time zone
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats AS
SELECT
    s.num_timed,
    s.num_requested,
    s.num_done,
    s.num_failed,
    s.restartpoints_timed,
    s.restartpoints_req,
    s.restartpoints_done,
    s.write_time,
    s.sync_time,
    s.buffers_written,
    s.slru_written,
    s.files_synced,
    s.longest_sync_time,
    s.writeback_bytes,
    s.writeback_calls,
    s.sync_pause_time,
    s.stalls,
    s.stalled_time,
    s.stats_reset
FROM ckpt_stats() AS s;

GRANT SELECT ON ckpt_stats TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats() IS
    'Rows of the view ckpt_stats.';
COMMENT ON VIEW ckpt_stats IS
    'Totals over all checkpoints and restartpoints since the last reset; one row.';
COMMENT ON COLUMN ckpt_stats.num_timed IS
    'Checkpoints completed that checkpoint_timeout had begun. Unlike in pg_stat_checkpointer, skipped ones are not counted.';
COMMENT ON COLUMN ckpt_stats.num_requested IS
    'Checkpoints completed that WAL volume, a command, or the end of recovery had begun.';
COMMENT ON COLUMN ckpt_stats.num_done IS
    'Checkpoints completed; also those whose cause is not known.';
COMMENT ON COLUMN ckpt_stats.num_failed IS
    'Checkpoints and restartpoints that ended with an error.';
COMMENT ON COLUMN ckpt_stats.restartpoints_timed IS
    'Restartpoints completed that checkpoint_timeout had begun.';
COMMENT ON COLUMN ckpt_stats.restartpoints_req IS
    'Restartpoints completed that were begun for another reason.';
COMMENT ON COLUMN ckpt_stats.restartpoints_done IS
    'Restartpoints completed; also those whose cause is not known.';
COMMENT ON COLUMN ckpt_stats.write_time IS
    'Time spent in write phases, in milliseconds.';
COMMENT ON COLUMN ckpt_stats.sync_time IS
    'Time spent in sync phases, in milliseconds.';
COMMENT ON COLUMN ckpt_stats.buffers_written IS
    'Buffers written by checkpoints. Before PostgreSQL 18 SLRU pages are included, as in the server log.';
COMMENT ON COLUMN ckpt_stats.slru_written IS
    'SLRU pages written by checkpoints. NULL before PostgreSQL 18, which does not count them apart.';
COMMENT ON COLUMN ckpt_stats.files_synced IS
    'Files fsynced by checkpoints that were logged.';
COMMENT ON COLUMN ckpt_stats.longest_sync_time IS
    'Longest fsync of one file, in milliseconds; NULL before the first.';
COMMENT ON COLUMN ckpt_stats.writeback_bytes IS
    'Bytes whose writeback the flusher started.';
COMMENT ON COLUMN ckpt_stats.writeback_calls IS
    'Calls that started writeback.';
COMMENT ON COLUMN ckpt_stats.sync_pause_time IS
    'Time the checkpointer paused between fsyncs, in milliseconds.';
COMMENT ON COLUMN ckpt_stats.stalls IS
    'Stalls: times in which client backends were at work and none committed.';
COMMENT ON COLUMN ckpt_stats.stalled_time IS
    'Length of these times, in milliseconds.';
COMMENT ON COLUMN ckpt_stats.stats_reset IS
    'Time of the last reset; NULL if never reset.';

CREATE FUNCTION ckpt_stats_progress(
    OUT checkpoint_id bigint,
    OUT pid integer,
    OUT kind text,
    OUT cause text,
    OUT phase text,
    OUT started_at timestamp with time zone,
    OUT elapsed_time double precision,
    OUT redo_lsn pg_lsn,
    OUT buffers_total bigint,
    OUT buffers_done bigint,
    OUT bytes_total bigint,
    OUT bytes_done bigint,
    OUT files_total_estimate bigint,
    OUT files_done bigint,
    OUT current_file text,
    OUT write_rate_bytes bigint,
    OUT queue_bytes bigint,
    OUT os_dirty_bytes bigint,
    OUT os_writeback_bytes bigint,
    OUT sync_forecast_time double precision,
    OUT scheduled_end_at timestamp with time zone,
    OUT eta_at timestamp with time zone,
    OUT on_schedule boolean
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_progress'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_progress AS
SELECT
    s.checkpoint_id,
    s.pid,
    s.kind,
    s.cause,
    s.phase,
    s.started_at,
    s.elapsed_time,
    s.redo_lsn,
    s.buffers_total,
    s.buffers_done,
    s.bytes_total,
    s.bytes_done,
    s.files_total_estimate,
    s.files_done,
    s.current_file,
    s.write_rate_bytes,
    s.queue_bytes,
    s.os_dirty_bytes,
    s.os_writeback_bytes,
    s.sync_forecast_time,
    s.scheduled_end_at,
    s.eta_at,
    s.on_schedule
FROM ckpt_stats_progress() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_progress() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_progress() TO pg_monitor;
GRANT SELECT ON ckpt_stats_progress TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_progress() IS
    'Rows of the view ckpt_stats_progress.';
COMMENT ON VIEW ckpt_stats_progress IS
    'The running checkpoint or restartpoint; no row when none is running.';
COMMENT ON COLUMN ckpt_stats_progress.checkpoint_id IS
    'Number it will have in ckpt_stats_history.';
COMMENT ON COLUMN ckpt_stats_progress.pid IS
    'Process ID of the checkpointer.';
COMMENT ON COLUMN ckpt_stats_progress.kind IS
    'checkpoint or restartpoint.';
COMMENT ON COLUMN ckpt_stats_progress.cause IS
    'timed, wal, requested or end-of-recovery; NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_progress.phase IS
    'preparing, writing buffers, syncing files or finishing.';
COMMENT ON COLUMN ckpt_stats_progress.started_at IS
    'Time it began; when log_checkpoints is off, to the precision of ckptflush.sample_interval.';
COMMENT ON COLUMN ckpt_stats_progress.elapsed_time IS
    'Time since then, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_progress.redo_lsn IS
    'WAL position from which recovery would start once it is complete.';
COMMENT ON COLUMN ckpt_stats_progress.buffers_total IS
    'Buffers on the checkpointer''s work list; NULL until the list is made.';
COMMENT ON COLUMN ckpt_stats_progress.buffers_done IS
    'Buffers of the list that have been written, by whomever.';
COMMENT ON COLUMN ckpt_stats_progress.bytes_total IS
    'buffers_total in bytes.';
COMMENT ON COLUMN ckpt_stats_progress.bytes_done IS
    'buffers_done in bytes.';
COMMENT ON COLUMN ckpt_stats_progress.files_total_estimate IS
    'Files to fsync: those on the work list, and as many others as the checkpoint before had. An estimate: the checkpointer''s own list is private to it.';
COMMENT ON COLUMN ckpt_stats_progress.files_done IS
    'Files fsynced so far; NULL when they are not tracked (ckptflush.track_sync, log_checkpoints).';
COMMENT ON COLUMN ckpt_stats_progress.current_file IS
    'File whose fsync ended last; the one after it is being synced. NULL before the sync phase.';
COMMENT ON COLUMN ckpt_stats_progress.write_rate_bytes IS
    'Bytes written per second over the last ten seconds.';
COMMENT ON COLUMN ckpt_stats_progress.queue_bytes IS
    'Bytes written and waiting for the flusher; NULL when it is off or away.';
COMMENT ON COLUMN ckpt_stats_progress.os_dirty_bytes IS
    'Dirty bytes of all files of relations in the kernel''s page cache, as the sweep saw them last; NULL when there is no sweep (ckptflush.flush_sweep, cachestat).';
COMMENT ON COLUMN ckpt_stats_progress.os_writeback_bytes IS
    'Bytes of these files that the kernel was writing; likewise.';
COMMENT ON COLUMN ckpt_stats_progress.sync_forecast_time IS
    'Expected length of what is left of the sync phase, in milliseconds, by the average fsync of the last checkpoint; NULL when that is not known (log_checkpoints).';
COMMENT ON COLUMN ckpt_stats_progress.scheduled_end_at IS
    'When the write phase ends by checkpoint_completion_target and the present WAL rate; NULL when it is known not to be spread.';
COMMENT ON COLUMN ckpt_stats_progress.eta_at IS
    'When the whole checkpoint is expected to end; NULL when nothing can be said yet.';
COMMENT ON COLUMN ckpt_stats_progress.on_schedule IS
    'Whether it keeps to its schedule, but for the naps of the checkpointer; NULL when it is known not to be spread.';

CREATE FUNCTION ckpt_stats_history(
    OUT checkpoint_id bigint,
    OUT kind text,
    OUT cause text,
    OUT result text,
    OUT started_at timestamp with time zone,
    OUT ended_at timestamp with time zone,
    OUT redo_lsn pg_lsn,
    OUT buffers_written bigint,
    OUT slru_written bigint,
    OUT write_time double precision,
    OUT sync_time double precision,
    OUT total_time double precision,
    OUT files_synced bigint,
    OUT longest_sync_time double precision,
    OUT longest_sync_file text,
    OUT average_sync_time double precision,
    OUT wal_added bigint,
    OUT wal_removed bigint,
    OUT wal_recycled bigint,
    OUT distance_bytes bigint,
    OUT estimate_bytes bigint,
    OUT writeback_bytes bigint,
    OUT sync_pause_time double precision,
    OUT commits bigint,
    OUT stalled_time double precision,
    OUT longest_transaction_time double precision,
    OUT transaction_p99_time double precision,
    OUT transaction_p999_time double precision,
    OUT outside_p99_time double precision,
    OUT outside_p999_time double precision
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_history'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_history AS
SELECT
    s.checkpoint_id,
    s.kind,
    s.cause,
    s.result,
    s.started_at,
    s.ended_at,
    s.redo_lsn,
    s.buffers_written,
    s.slru_written,
    s.write_time,
    s.sync_time,
    s.total_time,
    s.files_synced,
    s.longest_sync_time,
    s.longest_sync_file,
    s.average_sync_time,
    s.wal_added,
    s.wal_removed,
    s.wal_recycled,
    s.distance_bytes,
    s.estimate_bytes,
    s.writeback_bytes,
    s.sync_pause_time,
    s.commits,
    s.stalled_time,
    s.longest_transaction_time,
    s.transaction_p99_time,
    s.transaction_p999_time,
    s.outside_p99_time,
    s.outside_p999_time
FROM ckpt_stats_history() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_history() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_history() TO pg_monitor;
GRANT SELECT ON ckpt_stats_history TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_history() IS
    'Rows of the view ckpt_stats_history.';
COMMENT ON VIEW ckpt_stats_history IS
    'One row per finished checkpoint or restartpoint, as many as ckptflush.history_size. Not filled for a checkpoint that was not logged: see each column.';
COMMENT ON COLUMN ckpt_stats_history.checkpoint_id IS
    'Number of the checkpoint, from 1 when the segment was created: at the start of the server, and after the crash of a backend.';
COMMENT ON COLUMN ckpt_stats_history.kind IS
    'checkpoint or restartpoint.';
COMMENT ON COLUMN ckpt_stats_history.cause IS
    'timed, wal, requested or end-of-recovery; without log_checkpoints only timed or requested, or NULL.';
COMMENT ON COLUMN ckpt_stats_history.result IS
    'completed or failed.';
COMMENT ON COLUMN ckpt_stats_history.started_at IS
    'Time it began; when log_checkpoints is off, to the precision of ckptflush.sample_interval.';
COMMENT ON COLUMN ckpt_stats_history.ended_at IS
    'Time it ended.';
COMMENT ON COLUMN ckpt_stats_history.redo_lsn IS
    'WAL position from which recovery starts after it.';
COMMENT ON COLUMN ckpt_stats_history.buffers_written IS
    'Buffers written. Before PostgreSQL 18 SLRU pages are included in a logged checkpoint, as in the server log.';
COMMENT ON COLUMN ckpt_stats_history.slru_written IS
    'SLRU pages written. NULL before PostgreSQL 18.';
COMMENT ON COLUMN ckpt_stats_history.write_time IS
    'Length of the write phase, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_history.sync_time IS
    'Length of the sync phase, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_history.total_time IS
    'Length of the whole, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_history.files_synced IS
    'Files fsynced. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.longest_sync_time IS
    'Longest fsync of one file, in milliseconds. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.longest_sync_file IS
    'The file it was. NULL when it was not tracked (ckptflush.track_sync, log_checkpoints).';
COMMENT ON COLUMN ckpt_stats_history.average_sync_time IS
    'Average fsync of one file, in milliseconds. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.wal_added IS
    'WAL files added. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.wal_removed IS
    'WAL files removed. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.wal_recycled IS
    'WAL files recycled. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.distance_bytes IS
    'WAL between the redo position before and this one; of a logged checkpoint in whole kilobytes, as the log has it.';
COMMENT ON COLUMN ckpt_stats_history.estimate_bytes IS
    'PostgreSQL''s estimate of the next distance. NULL when log_checkpoints is off.';
COMMENT ON COLUMN ckpt_stats_history.writeback_bytes IS
    'Bytes whose writeback the flusher started meanwhile.';
COMMENT ON COLUMN ckpt_stats_history.sync_pause_time IS
    'Time the checkpointer paused between fsyncs, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_history.commits IS
    'Transactions of clients committed meanwhile. NULL here and in the next columns when its begin was not seen: the monitor was started in the middle of it.';
COMMENT ON COLUMN ckpt_stats_history.stalled_time IS
    'Time of stalls meanwhile, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_history.longest_transaction_time IS
    'Longest transaction that ended meanwhile, in milliseconds, counted by whole seconds; NULL when none ended.';
COMMENT ON COLUMN ckpt_stats_history.transaction_p99_time IS
    '99th percentile of the transactions that ended meanwhile, in milliseconds, within 6.25 percent; NULL when none ended.';
COMMENT ON COLUMN ckpt_stats_history.transaction_p999_time IS
    '99.9th percentile of the same; likewise.';
COMMENT ON COLUMN ckpt_stats_history.outside_p99_time IS
    '99th percentile of the transactions that ended between the checkpoint before and this one, in milliseconds; likewise.';
COMMENT ON COLUMN ckpt_stats_history.outside_p999_time IS
    '99.9th percentile of the same; likewise.';

CREATE FUNCTION ckpt_stats_files(
    OUT database oid,
    OUT tablespace oid,
    OUT relfilenode oid,
    OUT fork text,
    OUT segment integer,
    OUT path text,
    OUT buffers_written bigint,
    OUT writeback_bytes bigint,
    OUT syncs bigint,
    OUT sync_time double precision,
    OUT min_sync_time double precision,
    OUT max_sync_time double precision,
    OUT last_sync_time double precision,
    OUT os_dirty_bytes bigint
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_files'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_files AS
SELECT
    s.database,
    s.tablespace,
    s.relfilenode,
    s.fork,
    s.segment,
    s.path,
    s.buffers_written,
    s.writeback_bytes,
    s.syncs,
    s.sync_time,
    s.min_sync_time,
    s.max_sync_time,
    s.last_sync_time,
    s.os_dirty_bytes
FROM ckpt_stats_files() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_files() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_files() TO pg_monitor;
GRANT SELECT ON ckpt_stats_files TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_files() IS
    'Rows of the view ckpt_stats_files.';
COMMENT ON VIEW ckpt_stats_files IS
    'One row per file that checkpoints have written or fsynced, or whose writeback the flusher started, as many as ckptflush.files_size.';
COMMENT ON COLUMN ckpt_stats_files.database IS
    'OID of the database; NULL for a shared relation and for a file of no relation.';
COMMENT ON COLUMN ckpt_stats_files.tablespace IS
    'OID of the tablespace; NULL for a file of no relation.';
COMMENT ON COLUMN ckpt_stats_files.relfilenode IS
    'File number of the relation (pg_class.relfilenode); NULL for a file of no relation.';
COMMENT ON COLUMN ckpt_stats_files.fork IS
    'main, fsm, vm or init; NULL for a file of no relation.';
COMMENT ON COLUMN ckpt_stats_files.segment IS
    'Number of the one-gigabyte piece; NULL for a file of no relation.';
COMMENT ON COLUMN ckpt_stats_files.path IS
    'Path below the data directory.';
COMMENT ON COLUMN ckpt_stats_files.buffers_written IS
    'Buffers that checkpoints have written to it.';
COMMENT ON COLUMN ckpt_stats_files.writeback_bytes IS
    'Bytes whose writeback the flusher started.';
COMMENT ON COLUMN ckpt_stats_files.syncs IS
    'Times that checkpoints have fsynced it.';
COMMENT ON COLUMN ckpt_stats_files.sync_time IS
    'Time of all these fsyncs, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_files.min_sync_time IS
    'Shortest of them, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_files.max_sync_time IS
    'Longest of them, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_files.last_sync_time IS
    'Last of them, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_files.os_dirty_bytes IS
    'Dirty bytes in the kernel''s page cache, as the sweep saw them last; NULL when it did not (ckptflush.flush_sweep, cachestat).';

CREATE FUNCTION ckpt_stats_flush(
    OUT state text,
    OUT takeover boolean,
    OUT queue_bytes bigint,
    OUT queue_cost_time double precision,
    OUT in_flight_bytes bigint,
    OUT device_ops_per_second bigint,
    OUT device_bytes_per_second bigint,
    OUT rate_bytes bigint,
    OUT target_delay_time double precision,
    OUT commit_mean_time double precision,
    OUT deadline_at timestamp with time zone,
    OUT deadlines_missed bigint,
    OUT sweep_files bigint,
    OUT sweep_time double precision
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_flush'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_flush AS
SELECT
    s.state,
    s.takeover,
    s.queue_bytes,
    s.queue_cost_time,
    s.in_flight_bytes,
    s.device_ops_per_second,
    s.device_bytes_per_second,
    s.rate_bytes,
    s.target_delay_time,
    s.commit_mean_time,
    s.deadline_at,
    s.deadlines_missed,
    s.sweep_files,
    s.sweep_time
FROM ckpt_stats_flush() AS s;

GRANT SELECT ON ckpt_stats_flush TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_flush() IS
    'Rows of the view ckpt_stats_flush.';
COMMENT ON VIEW ckpt_stats_flush IS
    'What the flusher is doing; one row.';
COMMENT ON COLUMN ckpt_stats_flush.state IS
    'off, idle, draining (there is something to write back), or following (and a checkpoint''s writeback was left to it).';
COMMENT ON COLUMN ckpt_stats_flush.takeover IS
    'The checkpointer has left the writeback of the running checkpoint to the flusher.';
COMMENT ON COLUMN ckpt_stats_flush.queue_bytes IS
    'Bytes known to be dirty in the kernel''s page cache and waiting for their time.';
COMMENT ON COLUMN ckpt_stats_flush.queue_cost_time IS
    'Time that the device needs for them, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_flush.in_flight_bytes IS
    'Bytes whose writeback was started and is not known to be done.';
COMMENT ON COLUMN ckpt_stats_flush.device_ops_per_second IS
    'Operations per second that the device of the data directory was seen to be capable of; NULL until it showed a limit.';
COMMENT ON COLUMN ckpt_stats_flush.device_bytes_per_second IS
    'Bytes per second; likewise.';
COMMENT ON COLUMN ckpt_stats_flush.rate_bytes IS
    'Bytes whose writeback was started in the last second.';
COMMENT ON COLUMN ckpt_stats_flush.target_delay_time IS
    'ckptflush.target_delay, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_flush.commit_mean_time IS
    'Mean commit of the last tenth of a second, in milliseconds; NULL if there was none.';
COMMENT ON COLUMN ckpt_stats_flush.deadline_at IS
    'When the next of what waits must be on its way; NULL when nothing waits.';
COMMENT ON COLUMN ckpt_stats_flush.deadlines_missed IS
    'Times that the flusher came to be late by more than two seconds.';
COMMENT ON COLUMN ckpt_stats_flush.sweep_files IS
    'Files that the sweep knows.';
COMMENT ON COLUMN ckpt_stats_flush.sweep_time IS
    'Time that its last round worked, in milliseconds.';

CREATE FUNCTION ckpt_stats_counters(
    OUT name text,
    OUT unit text,
    OUT count bigint,
    OUT total double precision,
    OUT min double precision,
    OUT max double precision,
    OUT mean double precision,
    OUT p50 double precision,
    OUT p90 double precision,
    OUT p99 double precision,
    OUT p999 double precision,
    OUT description text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_counters'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_counters AS
SELECT
    s.name,
    s.unit,
    s.count,
    s.total,
    s.min,
    s.max,
    s.mean,
    s.p50,
    s.p90,
    s.p99,
    s.p999,
    s.description
FROM ckpt_stats_counters() AS s;

GRANT SELECT ON ckpt_stats_counters TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_counters() IS
    'Rows of the view ckpt_stats_counters.';
COMMENT ON VIEW ckpt_stats_counters IS
    'Every counter and statistic of the stats segment.';
COMMENT ON COLUMN ckpt_stats_counters.name IS
    'Name of the statistic.';
COMMENT ON COLUMN ckpt_stats_counters.unit IS
    'count, bytes, ms (milliseconds), or code (a number that stands for a word).';
COMMENT ON COLUMN ckpt_stats_counters.count IS
    'How often it was recorded; the value itself of a counter that counts; NULL of a counter that sums up time.';
COMMENT ON COLUMN ckpt_stats_counters.total IS
    'Sum of what was recorded.';
COMMENT ON COLUMN ckpt_stats_counters.min IS
    'Smallest value; NULL of a counter, and when nothing was recorded.';
COMMENT ON COLUMN ckpt_stats_counters.max IS
    'Largest value; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.mean IS
    'Mean value; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.p50 IS
    'Median, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.p90 IS
    '90th percentile, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.p99 IS
    '99th percentile, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.p999 IS
    '99.9th percentile, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_counters.description IS
    'What it says.';

CREATE FUNCTION ckpt_stats_histogram(
    OUT name text,
    OUT bucket_low double precision,
    OUT bucket_high double precision,
    OUT count bigint
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_histogram'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_histogram AS
SELECT
    s.name,
    s.bucket_low,
    s.bucket_high,
    s.count
FROM ckpt_stats_histogram() AS s;

GRANT SELECT ON ckpt_stats_histogram TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_histogram() IS
    'Rows of the view ckpt_stats_histogram.';
COMMENT ON VIEW ckpt_stats_histogram IS
    'Filled buckets of the histogram of every statistic.';
COMMENT ON COLUMN ckpt_stats_histogram.name IS
    'Name of the statistic, as in ckpt_stats_counters.';
COMMENT ON COLUMN ckpt_stats_histogram.bucket_low IS
    'Smallest value of the bucket, in the unit of the statistic.';
COMMENT ON COLUMN ckpt_stats_histogram.bucket_high IS
    'Largest value of the bucket.';
COMMENT ON COLUMN ckpt_stats_histogram.count IS
    'Values recorded in it.';

CREATE FUNCTION ckpt_stats_commands(
    OUT command text,
    OUT checkpoint_phase text,
    OUT count bigint,
    OUT total_time double precision,
    OUT min_time double precision,
    OUT max_time double precision,
    OUT mean_time double precision,
    OUT p50_time double precision,
    OUT p90_time double precision,
    OUT p99_time double precision,
    OUT p999_time double precision
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_commands'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_commands AS
SELECT
    s.command,
    s.checkpoint_phase,
    s.count,
    s.total_time,
    s.min_time,
    s.max_time,
    s.mean_time,
    s.p50_time,
    s.p90_time,
    s.p99_time,
    s.p999_time
FROM ckpt_stats_commands() AS s;

GRANT SELECT ON ckpt_stats_commands TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_commands() IS
    'Rows of the view ckpt_stats_commands.';
COMMENT ON VIEW ckpt_stats_commands IS
    'Time that client backends spent on each kind of command, by the phase of the checkpoints; one row for each pair.';
COMMENT ON COLUMN ckpt_stats_commands.command IS
    'parse, plan, bind, execute, utility, commit, wal_flush (a commits wait for its WAL flush, and for the synchronous standby), or idle (waiting for the client).';
COMMENT ON COLUMN ckpt_stats_commands.checkpoint_phase IS
    'none, writing or syncing: where the checkpoints were when it ended, or if nowhere, when it began.';
COMMENT ON COLUMN ckpt_stats_commands.count IS
    'How often it was done.';
COMMENT ON COLUMN ckpt_stats_commands.total_time IS
    'Time it took all together, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_commands.min_time IS
    'Shortest, in milliseconds; NULL when there was none.';
COMMENT ON COLUMN ckpt_stats_commands.max_time IS
    'Longest; likewise.';
COMMENT ON COLUMN ckpt_stats_commands.mean_time IS
    'Mean; likewise.';
COMMENT ON COLUMN ckpt_stats_commands.p50_time IS
    'Median, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_commands.p90_time IS
    '90th percentile, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_commands.p99_time IS
    '99th percentile, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_commands.p999_time IS
    '99.9th percentile, within 6.25 percent; likewise.';

CREATE FUNCTION ckpt_stats_waits(
    OUT backend_type text,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT checkpoint_phase text,
    OUT samples bigint,
    OUT share double precision
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_waits'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_waits AS
SELECT
    s.backend_type,
    s.wait_event_type,
    s.wait_event,
    s.checkpoint_phase,
    s.samples,
    s.share
FROM ckpt_stats_waits() AS s;

GRANT SELECT ON ckpt_stats_waits TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_waits() IS
    'Rows of the view ckpt_stats_waits.';
COMMENT ON VIEW ckpt_stats_waits IS
    'What the processes of the server were found waiting for, sampled every ckptflush.wait_sample_interval; one row for each wait of a type of process in a phase.';
COMMENT ON COLUMN ckpt_stats_waits.backend_type IS
    'Type of the process, as in pg_stat_activity.';
COMMENT ON COLUMN ckpt_stats_waits.wait_event_type IS
    'Type of the wait, as in pg_stat_activity; NULL when it was not waiting.';
COMMENT ON COLUMN ckpt_stats_waits.wait_event IS
    'The wait; NULL when it was not waiting.';
COMMENT ON COLUMN ckpt_stats_waits.checkpoint_phase IS
    'none, writing or syncing.';
COMMENT ON COLUMN ckpt_stats_waits.samples IS
    'How often a process was found so.';
COMMENT ON COLUMN ckpt_stats_waits.share IS
    'Share of the samples of that type of process in that phase, between 0 and 1: of its time.';

CREATE FUNCTION ckpt_stats_timeline(
    OUT at timestamp with time zone,
    OUT checkpoint_id bigint,
    OUT checkpoint_phase text,
    OUT commits bigint,
    OUT rollbacks bigint,
    OUT active_backends bigint,
    OUT stalled_time double precision,
    OUT longest_transaction_time double precision,
    OUT transaction_p99_time double precision,
    OUT buffers_written bigint,
    OUT writeback_bytes bigint,
    OUT os_dirty_bytes bigint,
    OUT os_writeback_bytes bigint,
    OUT wal_bytes bigint,
    OUT device_write_ops bigint,
    OUT device_write_bytes bigint,
    OUT device_in_flight bigint
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_timeline'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_timeline AS
SELECT
    s.at,
    s.checkpoint_id,
    s.checkpoint_phase,
    s.commits,
    s.rollbacks,
    s.active_backends,
    s.stalled_time,
    s.longest_transaction_time,
    s.transaction_p99_time,
    s.buffers_written,
    s.writeback_bytes,
    s.os_dirty_bytes,
    s.os_writeback_bytes,
    s.wal_bytes,
    s.device_write_ops,
    s.device_write_bytes,
    s.device_in_flight
FROM ckpt_stats_timeline() AS s;

GRANT SELECT ON ckpt_stats_timeline TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_timeline() IS
    'Rows of the view ckpt_stats_timeline.';
COMMENT ON VIEW ckpt_stats_timeline IS
    'One row for each of the last ckptflush.timeline_size seconds, the newest first.';
COMMENT ON COLUMN ckpt_stats_timeline.at IS
    'Begin of the second.';
COMMENT ON COLUMN ckpt_stats_timeline.checkpoint_id IS
    'Number of the checkpoint that was running at its end; NULL when none was.';
COMMENT ON COLUMN ckpt_stats_timeline.checkpoint_phase IS
    'none, writing or syncing, at its end.';
COMMENT ON COLUMN ckpt_stats_timeline.commits IS
    'Transactions of clients committed.';
COMMENT ON COLUMN ckpt_stats_timeline.rollbacks IS
    'Transactions of clients rolled back.';
COMMENT ON COLUMN ckpt_stats_timeline.active_backends IS
    'Client backends that were not waiting for their client: mean of all looks, rounded up.';
COMMENT ON COLUMN ckpt_stats_timeline.stalled_time IS
    'Time in it that belongs to stalls, in milliseconds; a stall that turns out to be one is counted where it is found.';
COMMENT ON COLUMN ckpt_stats_timeline.longest_transaction_time IS
    'Longest transaction that ended, in milliseconds; NULL when none did.';
COMMENT ON COLUMN ckpt_stats_timeline.transaction_p99_time IS
    '99th percentile of the transactions that ended, in milliseconds, within 6.25 percent; likewise.';
COMMENT ON COLUMN ckpt_stats_timeline.buffers_written IS
    'Buffers that the running checkpoint wrote; NULL without one.';
COMMENT ON COLUMN ckpt_stats_timeline.writeback_bytes IS
    'Bytes whose writeback the flusher started.';
COMMENT ON COLUMN ckpt_stats_timeline.os_dirty_bytes IS
    'Dirty bytes of files of relations in the kernels page cache, as the sweep saw them last; NULL when there is no sweep.';
COMMENT ON COLUMN ckpt_stats_timeline.os_writeback_bytes IS
    'Bytes of them that the kernel was writing; likewise.';
COMMENT ON COLUMN ckpt_stats_timeline.wal_bytes IS
    'WAL written, on a standby replayed.';
COMMENT ON COLUMN ckpt_stats_timeline.device_write_ops IS
    'Writes that the device of the data directory finished; NULL when the kernel does not count them.';
COMMENT ON COLUMN ckpt_stats_timeline.device_write_bytes IS
    'Bytes of these writes; likewise.';
COMMENT ON COLUMN ckpt_stats_timeline.device_in_flight IS
    'Requests in flight on that device at the end; likewise.';

CREATE FUNCTION ckpt_stats_stalls(
    OUT started_at timestamp with time zone,
    OUT stalled_time double precision,
    OUT ongoing boolean,
    OUT checkpoint_id bigint,
    OUT checkpoint_phase text,
    OUT current_file text,
    OUT active_backends bigint,
    OUT commits_before bigint,
    OUT top_wait_event_type text,
    OUT top_wait_event text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_stalls'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_stalls AS
SELECT
    s.started_at,
    s.stalled_time,
    s.ongoing,
    s.checkpoint_id,
    s.checkpoint_phase,
    s.current_file,
    s.active_backends,
    s.commits_before,
    s.top_wait_event_type,
    s.top_wait_event
FROM ckpt_stats_stalls() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_stalls() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_stalls() TO pg_monitor;
GRANT SELECT ON ckpt_stats_stalls TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_stalls() IS
    'Rows of the view ckpt_stats_stalls.';
COMMENT ON VIEW ckpt_stats_stalls IS
    'Stalls: times in which client backends were at work and none committed, long for this server; the newest first.';
COMMENT ON COLUMN ckpt_stats_stalls.started_at IS
    'Begin: the last commit before it, to the precision of ckptflush.wait_sample_interval.';
COMMENT ON COLUMN ckpt_stats_stalls.stalled_time IS
    'How long it took, or has taken so far, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_stalls.ongoing IS
    'It is not over yet.';
COMMENT ON COLUMN ckpt_stats_stalls.checkpoint_id IS
    'Number of the checkpoint that was running; NULL when none was.';
COMMENT ON COLUMN ckpt_stats_stalls.checkpoint_phase IS
    'none, writing or syncing, when it began.';
COMMENT ON COLUMN ckpt_stats_stalls.current_file IS
    'File whose fsync had ended last; NULL when the checkpoint was not in its sync phase.';
COMMENT ON COLUMN ckpt_stats_stalls.active_backends IS
    'Client backends that were not waiting for their client, at most.';
COMMENT ON COLUMN ckpt_stats_stalls.commits_before IS
    'Commits per second in the ten seconds before.';
COMMENT ON COLUMN ckpt_stats_stalls.top_wait_event_type IS
    'Type of the wait in which client backends were found most; NULL when they were not waiting.';
COMMENT ON COLUMN ckpt_stats_stalls.top_wait_event IS
    'That wait; likewise.';

CREATE FUNCTION ckpt_stats_group_commit(
    OUT engaged bigint,
    OUT skipped_asynchronous bigint,
    OUT skipped_remote_apply bigint,
    OUT skipped_standby bigint,
    OUT skipped_two_phase bigint,
    OUT skipped_unlogged bigint,
    OUT skipped_background bigint,
    OUT skipped_fsync bigint,
    OUT flushes_led bigint,
    OUT flushes_followed bigint,
    OUT flushed_before bigint,
    OUT group_size_mean double precision,
    OUT group_size_p50 bigint,
    OUT group_size_max bigint,
    OUT flush_time double precision,
    OUT wait_time double precision,
    OUT wait_max_time double precision,
    OUT reader_waits bigint,
    OUT reader_wait_time double precision,
    OUT predicted_gain_time double precision,
    OUT stats_reset timestamp with time zone
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_group_commit'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_group_commit AS
SELECT
    s.engaged,
    s.skipped_asynchronous,
    s.skipped_remote_apply,
    s.skipped_standby,
    s.skipped_two_phase,
    s.skipped_unlogged,
    s.skipped_background,
    s.skipped_fsync,
    s.flushes_led,
    s.flushes_followed,
    s.flushed_before,
    s.group_size_mean,
    s.group_size_p50,
    s.group_size_max,
    s.flush_time,
    s.wait_time,
    s.wait_max_time,
    s.reader_waits,
    s.reader_wait_time,
    s.predicted_gain_time,
    s.stats_reset
FROM ckpt_stats_group_commit() AS s;

GRANT SELECT ON ckpt_stats_group_commit TO PUBLIC;

COMMENT ON FUNCTION ckpt_stats_group_commit() IS
    'Rows of the view ckpt_stats_group_commit.';
COMMENT ON VIEW ckpt_stats_group_commit IS
    'What group commits and readers did; one row.';
COMMENT ON COLUMN ckpt_stats_group_commit.engaged IS
    'Commits that released their locks before their record was flushed.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_asynchronous IS
    'Commits that wait for no flush anyway: synchronous_commit is off.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_remote_apply IS
    'Commits that kept their locks: synchronous_commit is remote_apply.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_standby IS
    'Commits that kept their locks: they wait for a synchronous standby, and ckptflush.group_commit_sync_rep is off.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_two_phase IS
    'Transactions that were prepared for a two-phase commit.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_unlogged IS
    'Commits that wait for no flush anyway: they wrote to temporary or unlogged tables only.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_background IS
    'Commits of processes that serve no client, such as autovacuum and apply workers.';
COMMENT ON COLUMN ckpt_stats_group_commit.skipped_fsync IS
    'Commits that wait for no flush anyway: fsync is off.';
COMMENT ON COLUMN ckpt_stats_group_commit.flushes_led IS
    'Flushes that a group commit has waited for: each counted by the first that came back from it.';
COMMENT ON COLUMN ckpt_stats_group_commit.flushes_followed IS
    'Group commits that were served by a flush which another one came back from first.';
COMMENT ON COLUMN ckpt_stats_group_commit.flushed_before IS
    'Group commits that were flushed already when they were to wait.';
COMMENT ON COLUMN ckpt_stats_group_commit.group_size_mean IS
    'Group commits served by a flush, on average; NULL before the second flush.';
COMMENT ON COLUMN ckpt_stats_group_commit.group_size_p50 IS
    'The same: half of the flushes have served so many, or fewer.';
COMMENT ON COLUMN ckpt_stats_group_commit.group_size_max IS
    'The same: the most.';
COMMENT ON COLUMN ckpt_stats_group_commit.flush_time IS
    'Time of these flushes, in milliseconds, each as long as the first that came back from it has waited.';
COMMENT ON COLUMN ckpt_stats_group_commit.wait_time IS
    'Time that group commits have waited without their locks, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_group_commit.wait_max_time IS
    'The longest such wait, in milliseconds; NULL if there was none.';
COMMENT ON COLUMN ckpt_stats_group_commit.reader_waits IS
    'Times that a reader waited until what it had seen was durable.';
COMMENT ON COLUMN ckpt_stats_group_commit.reader_wait_time IS
    'Time of these waits, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_group_commit.predicted_gain_time IS
    'Time that processes were found waiting for a row whose owner had only its flush or its standby to wait for, in milliseconds: what group commit would save. Sampled, whether it is on or off.';
COMMENT ON COLUMN ckpt_stats_group_commit.stats_reset IS
    'When these figures were reset; NULL if never since the server started.';

CREATE FUNCTION ckpt_stats_databases(
    OUT datid oid,
    OUT datname text,
    OUT file text,
    OUT size_bytes bigint,
    OUT entries bigint,
    OUT last_write_at timestamp with time zone,
    OUT last_request_at timestamp with time zone,
    OUT requests bigint,
    OUT writes bigint,
    OUT written_bytes bigint,
    OUT pending boolean,
    OUT restored_at timestamp with time zone,
    OUT restored_entries bigint,
    OUT dropped_entries bigint,
    OUT restored_age_time double precision,
    OUT refused_reason text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_databases'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_databases AS
SELECT
    s.datid,
    s.datname,
    s.file,
    s.size_bytes,
    s.entries,
    s.last_write_at,
    s.last_request_at,
    s.requests,
    s.writes,
    s.written_bytes,
    s.pending,
    s.restored_at,
    s.restored_entries,
    s.dropped_entries,
    s.restored_age_time,
    s.refused_reason
FROM ckpt_stats_databases() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_databases() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_databases() TO pg_monitor;
GRANT SELECT ON ckpt_stats_databases TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_databases() IS
    'Rows of the view ckpt_stats_databases.';
COMMENT ON VIEW ckpt_stats_databases IS
    'Databases whose cumulative statistics are kept in files, and what was restored from these.';
COMMENT ON COLUMN ckpt_stats_databases.datid IS
    'OID of the database; 0 for the relations that all databases share.';
COMMENT ON COLUMN ckpt_stats_databases.datname IS
    'Name of the database; NULL for shared relations.';
COMMENT ON COLUMN ckpt_stats_databases.file IS
    'Name of its file below pg_stat_tmp/ckptflush; NULL when none was written yet.';
COMMENT ON COLUMN ckpt_stats_databases.size_bytes IS
    'Size of that file.';
COMMENT ON COLUMN ckpt_stats_databases.entries IS
    'Relations, functions and the like of which the file has statistics.';
COMMENT ON COLUMN ckpt_stats_databases.last_write_at IS
    'When it was last written.';
COMMENT ON COLUMN ckpt_stats_databases.last_request_at IS
    'When ckpt_stats_write_database was last called for it; NULL: never.';
COMMENT ON COLUMN ckpt_stats_databases.requests IS
    'Calls of ckpt_stats_write_database for it since the server started.';
COMMENT ON COLUMN ckpt_stats_databases.writes IS
    'Times the file was written since the server started.';
COMMENT ON COLUMN ckpt_stats_databases.written_bytes IS
    'Bytes that were.';
COMMENT ON COLUMN ckpt_stats_databases.pending IS
    'Something has changed that is not in the file.';
COMMENT ON COLUMN ckpt_stats_databases.restored_at IS
    'When statistics were restored or imported from a file; NULL: not since the server started.';
COMMENT ON COLUMN ckpt_stats_databases.restored_entries IS
    'How many.';
COMMENT ON COLUMN ckpt_stats_databases.dropped_entries IS
    'Of them dropped again, because their object does not exist; NULL while that is being looked up.';
COMMENT ON COLUMN ckpt_stats_databases.restored_age_time IS
    'Age of the file when it was restored, in milliseconds.';
COMMENT ON COLUMN ckpt_stats_databases.refused_reason IS
    'Why its file was not restored; NULL if it was, or there was none.';

CREATE FUNCTION ckpt_stats_workers(
    OUT name text,
    OUT pid integer,
    OUT state text,
    OUT restarts bigint,
    OUT last_error text,
    OUT last_error_at timestamp with time zone,
    OUT last_active_at timestamp with time zone
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_workers'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_workers AS
SELECT
    s.name,
    s.pid,
    s.state,
    s.restarts,
    s.last_error,
    s.last_error_at,
    s.last_active_at
FROM ckpt_stats_workers() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_workers() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_workers() TO pg_monitor;
GRANT SELECT ON ckpt_stats_workers TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_workers() IS
    'Rows of the view ckpt_stats_workers.';
COMMENT ON VIEW ckpt_stats_workers IS
    'The background workers of ckptflush.';
COMMENT ON COLUMN ckpt_stats_workers.name IS
    'Name of the worker, as ps shows it.';
COMMENT ON COLUMN ckpt_stats_workers.pid IS
    'Process ID; NULL when it is not running.';
COMMENT ON COLUMN ckpt_stats_workers.state IS
    'starting, running, disabled, stopped or failed.';
COMMENT ON COLUMN ckpt_stats_workers.restarts IS
    'Times it was started again since the segment was created.';
COMMENT ON COLUMN ckpt_stats_workers.last_error IS
    'Last error; NULL if there was none.';
COMMENT ON COLUMN ckpt_stats_workers.last_error_at IS
    'When that was.';
COMMENT ON COLUMN ckpt_stats_workers.last_active_at IS
    'When it last did its work.';

CREATE FUNCTION ckpt_stats_info(
    OUT version text,
    OUT layout_version bigint,
    OUT generation bigint,
    OUT segment_path text,
    OUT segment_bytes bigint,
    OUT started_at timestamp with time zone,
    OUT stats_reset timestamp with time zone,
    OUT cachestat boolean,
    OUT sync_file_range boolean,
    OUT device_counters boolean
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_info'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_info AS
SELECT
    s.version,
    s.layout_version,
    s.generation,
    s.segment_path,
    s.segment_bytes,
    s.started_at,
    s.stats_reset,
    s.cachestat,
    s.sync_file_range,
    s.device_counters
FROM ckpt_stats_info() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_info() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_info() TO pg_monitor;
GRANT SELECT ON ckpt_stats_info TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_info() IS
    'Rows of the view ckpt_stats_info.';
COMMENT ON VIEW ckpt_stats_info IS
    'The library, its stats segment, and what it found on this machine; one row.';
COMMENT ON COLUMN ckpt_stats_info.version IS
    'Version of the loaded library.';
COMMENT ON COLUMN ckpt_stats_info.layout_version IS
    'Version of the layout of the stats segment.';
COMMENT ON COLUMN ckpt_stats_info.generation IS
    'Times the segment was created since the start of the server: 1, and one more after each crash of a backend.';
COMMENT ON COLUMN ckpt_stats_info.segment_path IS
    'The file that other programs can map.';
COMMENT ON COLUMN ckpt_stats_info.segment_bytes IS
    'Its size.';
COMMENT ON COLUMN ckpt_stats_info.started_at IS
    'When it was created.';
COMMENT ON COLUMN ckpt_stats_info.stats_reset IS
    'Time of the last reset of the counters; NULL if never reset.';
COMMENT ON COLUMN ckpt_stats_info.cachestat IS
    'The kernel answers cachestat (Linux 6.5 and later).';
COMMENT ON COLUMN ckpt_stats_info.sync_file_range IS
    'The kernel answers sync_file_range.';
COMMENT ON COLUMN ckpt_stats_info.device_counters IS
    'The kernel counts the writes of the device that the data directory is on.';

CREATE FUNCTION ckpt_stats_advice(
    OUT topic text,
    OUT severity text,
    OUT finding text,
    OUT evidence text,
    OUT suggestion text,
    OUT expected_effect text,
    OUT docs text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_advice'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW ckpt_stats_advice AS
SELECT
    s.topic,
    s.severity,
    s.finding,
    s.evidence,
    s.suggestion,
    s.expected_effect,
    s.docs
FROM ckpt_stats_advice() AS s;

REVOKE ALL ON FUNCTION ckpt_stats_advice() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_advice() TO pg_monitor;
GRANT SELECT ON ckpt_stats_advice TO pg_monitor;

COMMENT ON FUNCTION ckpt_stats_advice() IS
    'Rows of the view ckpt_stats_advice.';
COMMENT ON VIEW ckpt_stats_advice IS
    'What the measurements say to change; no row when there is nothing.';
COMMENT ON COLUMN ckpt_stats_advice.topic IS
    'What it is about: a setting, or a heading of docs/advice.md.';
COMMENT ON COLUMN ckpt_stats_advice.severity IS
    'info (something to gain), warning (it hurts, or is bound to), or critical (the server may stop).';
COMMENT ON COLUMN ckpt_stats_advice.finding IS
    'What is the matter.';
COMMENT ON COLUMN ckpt_stats_advice.evidence IS
    'The measured numbers and the settings it is known by.';
COMMENT ON COLUMN ckpt_stats_advice.suggestion IS
    'A statement that can be pasted; NULL when no setting cures it.';
COMMENT ON COLUMN ckpt_stats_advice.expected_effect IS
    'What that would do, by the forecast where there is one, or what else helps.';
COMMENT ON COLUMN ckpt_stats_advice.docs IS
    'Where it is explained.';

-- Not STRICT: NULL is the present value.
CREATE FUNCTION ckpt_stats_forecast(
    INOUT checkpoint_timeout interval DEFAULT NULL,
    INOUT completion_target double precision DEFAULT NULL,
    INOUT max_wal_size bigint DEFAULT NULL,
    OUT present boolean,
    OUT cause text,
    OUT checkpoints_per_hour double precision,
    OUT interval_time double precision,
    OUT write_time double precision,
    OUT buffers_written bigint,
    OUT write_rate_bytes bigint,
    OUT device_share double precision,
    OUT wal_rate_bytes bigint,
    OUT wal_disk_bytes bigint,
    OUT redo_bytes bigint,
    OUT recovery_time double precision
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ckpt_stats_forecast'
LANGUAGE C VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION ckpt_stats_forecast(interval, double precision, bigint) IS
    'What checkpoints of the measured load would be under other settings: five around the present ones without arguments, max_wal_size in bytes, NULL for the present value.';

CREATE FUNCTION ckpt_stats_reset(target text DEFAULT 'all')
RETURNS void
AS 'MODULE_PATHNAME', 'ckpt_stats_reset'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION ckpt_stats_reset(text) FROM PUBLIC;
COMMENT ON FUNCTION ckpt_stats_reset(text) IS
    'Starts to count anew: all, counters, history, files, waits or timeline (with the stalls). Privileged users only, unless EXECUTE is granted.';

CREATE FUNCTION ckpt_stats_write_database(dboid oid, force boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'ckpt_stats_write_database'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION ckpt_stats_write_database(oid, boolean) FROM PUBLIC;
COMMENT ON FUNCTION ckpt_stats_write_database(oid, boolean) IS
    'Has the collector write the statistics of a database to its file, if they have changed or force is true, and waits until that is done. Database 0 stands for all. Privileged users only, unless EXECUTE is granted.';

CREATE FUNCTION ckpt_stats_restore_database(dboid oid, file text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'ckpt_stats_restore_database'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION ckpt_stats_restore_database(oid, text) FROM PUBLIC;
COMMENT ON FUNCTION ckpt_stats_restore_database(oid, text) IS
    'Adds the statistics in a file of any server to those of a database, by the OIDs of its objects; returns the number of entries. Superusers only.';

CREATE FUNCTION ckpt_stats_segment_path()
RETURNS text
AS 'MODULE_PATHNAME', 'ckpt_stats_segment_path'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

REVOKE ALL ON FUNCTION ckpt_stats_segment_path() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckpt_stats_segment_path() TO pg_monitor;
COMMENT ON FUNCTION ckpt_stats_segment_path() IS
    'File of the stats segment, which other programs can map.';
