-- The SQL surface: columns, settings, errors, reset, and the extension as an extension.
CREATE EXTENSION ckptflush;

-- Columns of all views, and the functions beside those that the views stand over.
SELECT table_name, column_name, data_type
FROM information_schema.columns
WHERE table_name LIKE 'ckpt\_stats%'
ORDER BY table_name, ordinal_position;

SELECT p.oid::regprocedure AS function, pg_get_function_result(p.oid) AS result, provolatile, proparallel, proisstrict
FROM pg_proc p
WHERE proname LIKE 'ckpt\_stats%' AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relname = p.proname)
ORDER BY proname;

-- Each view has the columns of the function of its name.
SELECT c.relname, a.attname, p.proargnames[a.attnum]
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_proc p ON p.proname = c.relname
WHERE c.relname LIKE 'ckpt\_stats%' AND c.relkind = 'v'
    AND (a.attname, a.atttypid) IS DISTINCT FROM
        (p.proargnames[a.attnum]::name, p.proallargtypes[a.attnum]);

-- Settings.
SELECT name, setting, unit, vartype, min_val, max_val, boot_val, context
FROM pg_settings WHERE name LIKE 'ckptflush.%' ORDER BY name COLLATE "C";
SELECT name FROM pg_settings
WHERE name LIKE 'ckptflush.%' AND (short_desc IS NULL OR extra_desc IS NULL);
SET ckptflush.no_such_setting = 1;
SET ckptflush.history_size = 100;
SET ckptflush.enabled = off;
\set VERBOSITY sqlstate
ALTER SYSTEM SET ckptflush.sample_interval = '1ms';
\set VERBOSITY default

-- A checkpoint is counted, at the latest when the monitor looks again. It takes the progress away,
-- counts, and then writes the row of the history.
CREATE PROCEDURE wait_for_history() LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + interval '1 minute';
BEGIN
    WHILE NOT EXISTS (SELECT FROM ckpt_stats_history) LOOP
        IF clock_timestamp() > deadline THEN
            RAISE 'timed out waiting for the history';
        END IF;
    END LOOP;
END
$$;
CREATE TABLE something AS SELECT 1 AS a;
CHECKPOINT;
CALL wait_for_history();
SELECT num_done > 0 AS done, num_failed, buffers_written > 0 AS buffers, write_time > 0 AS time, stats_reset
FROM ckpt_stats;
SELECT kind, cause, result, buffers_written > 0 AS buffers, total_time >= write_time AS times,
    ended_at > started_at AS moments
FROM ckpt_stats_history;
SELECT name, state, restarts, last_error FROM ckpt_stats_workers;
SELECT layout_version, generation, segment_path = ckpt_stats_segment_path() AS path,
    segment_bytes > 0 AS bytes, stats_reset
FROM ckpt_stats_info;

-- Counters agree with each other, and with their histograms.
SELECT name, unit, min IS NULL AS is_counter FROM ckpt_stats_counters
WHERE name NOT LIKE 'restartpoints%' AND name !~ '_(none|writing|syncing)$' ORDER BY name COLLATE "C";
SELECT split_part(name, '_time_', 1) AS name, unit, string_agg(split_part(name, '_time_', 2), ', ' ORDER BY name) AS phases
FROM ckpt_stats_counters WHERE name ~ '_(none|writing|syncing)$' GROUP BY 1, 2 ORDER BY split_part(name, '_time_', 1) COLLATE "C";
SELECT name FROM ckpt_stats_counters
WHERE NOT (min <= p50 AND p50 <= p90 AND p90 <= p99 AND p99 <= p999 AND p999 <= max AND mean BETWEEN min AND max);
SELECT name FROM ckpt_stats_counters WHERE description IS NULL;
SELECT c.name
FROM ckpt_stats_counters c
LEFT JOIN (SELECT name, sum(count) AS count FROM ckpt_stats_histogram
    WHERE bucket_low <= bucket_high GROUP BY name) h USING (name)
WHERE c.mean IS NOT NULL AND c.name LIKE 'checkpoint%' AND c.count IS DISTINCT FROM h.count;

-- Reset.
SELECT ckpt_stats_reset('everything');
SELECT ckpt_stats_reset(NULL);
SELECT ckpt_stats_reset('history');
SELECT (SELECT count(*) FROM ckpt_stats_history) AS history, num_done > 0 AS done FROM ckpt_stats;
SELECT ckpt_stats_reset('files');
SELECT count(*) FROM ckpt_stats_files;
SELECT ckpt_stats_reset('waits');
SELECT ckpt_stats_reset('timeline');
SELECT count(*) FROM ckpt_stats_stalls;
SELECT ckpt_stats_reset();
SELECT num_timed, num_requested, num_done, write_time, sync_time, buffers_written, files_synced,
    longest_sync_time, stats_reset IS NOT NULL AS reset
FROM ckpt_stats;
SELECT name, count, total, min, max FROM ckpt_stats_counters
WHERE name LIKE 'checkpoint%' AND unit <> 'code' OR name = 'file_sync_time' ORDER BY name COLLATE "C";
SELECT count(*) FROM ckpt_stats_histogram WHERE name LIKE 'checkpoint%' OR name = 'file_sync_time';
SELECT stats_reset = (SELECT stats_reset FROM ckpt_stats) AS same FROM ckpt_stats_info;

-- And on from there.
INSERT INTO something VALUES (2);
CHECKPOINT;
CALL wait_for_history();
SELECT s.num_requested, s.num_done, s.buffers_written = h.buffers_written AS buffers,
    s.write_time = h.write_time AS time, h.checkpoint_id > 1 AS numbered_on
FROM ckpt_stats s, ckpt_stats_history h;

-- Advice and forecast: an idle server needs none, and where no checkpoint was begun by the server
-- itself there is nothing to forecast by. Values that no setting can have.
SELECT topic, evidence FROM ckpt_stats_advice;
SELECT * FROM ckpt_stats_forecast();
SELECT * FROM ckpt_stats_forecast(checkpoint_timeout => '10s');
SELECT * FROM ckpt_stats_forecast(completion_target => 1.5);
SELECT * FROM ckpt_stats_forecast(max_wal_size => 1000);

-- Relocatable; what it counts does not depend on it.
CREATE SCHEMA monitoring;
ALTER EXTENSION ckptflush SET SCHEMA monitoring;
SELECT num_done FROM monitoring.ckpt_stats;
DROP EXTENSION ckptflush;
CREATE EXTENSION ckptflush SCHEMA monitoring;
SELECT num_done FROM monitoring.ckpt_stats;
DROP EXTENSION ckptflush;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'ckpt\_stats%';
DROP SCHEMA monitoring;
DROP PROCEDURE wait_for_history;
DROP TABLE something;
