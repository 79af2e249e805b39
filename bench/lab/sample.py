"""One sample: a case under one variant, and what it came to.

Reads and writes: a server of its own; returns plain data, which goes to JSON.
Never: leaves a server or a disk behind.
"""

import calendar
import csv
import io
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from server import Server, run

LATE_US = 100_000
# Before the first checkpoint there is nothing to see.
FROM = 28
COPY_FROM, COPY_EVERY = 5, 3
INDEX_AT = 34
SCRIPTS = {
    "tables": "\\set t random(1, 2000)\n\\set i random(1, 100)\nSELECT touch(:t, :i);\n",
    # About ten pages of accounts in a row, and as many for the new rows.
    "ranges": "\\set a random(1, 99000 * :scale)\nUPDATE pgbench_accounts SET abalance = abalance + 1 "
              "WHERE aid BETWEEN :a AND :a + 600;\n",
}


class Clock(threading.Thread):
    """Looks at the server and its disk once a second."""

    def __init__(self, server, views):
        super().__init__(daemon=True)
        self.server, self.views = server, views
        self.began = time.time()
        self.over = threading.Event()
        self.rows = []

    def run(self):
        psql = None
        if self.views:
            psql = subprocess.Popen(
                self.server.client("psql", "-d", "bench", "-XAtq"),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, close_fds=True)
        while not self.over.wait(max(0.0, self.began + len(self.rows) - time.time())):
            row = {"t": time.time() - self.began, **self.server.device_counters(), **memory()}
            if psql:
                row["flush"] = ask(psql, "SELECT row_to_json(f) FROM ckpt_stats_flush f")
            self.rows.append(row)
        if psql:
            psql.stdin.close()
            psql.wait(timeout=30)


def ask(psql, sql):
    try:
        psql.stdin.write(sql + ";\n\\echo .\n")
        psql.stdin.flush()
        lines = []
        for line in psql.stdout:
            if line == ".\n":
                break
            lines.append(line.strip())
        return lines[0] if lines else None
    except OSError:
        return None


def memory():
    """Dirty and writeback of the whole machine: other samples are in it."""
    found = dict(re.findall(r"^(Dirty|Writeback):\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.M))
    return {"dirty_kb": int(found["Dirty"]), "writeback_kb": int(found["Writeback"])}


def beside(server, case, stop):
    """What runs beside pgbench."""
    began = time.time()
    if case.beside == "copy":
        rows = server.directory / "rows"
        server.sql("CREATE TABLE copied (id int, t text)")
        rows.write_text("".join(f"{i}\t{'x' * 70}\n" for i in range(80000)))
        at = COPY_FROM
        while at <= case.copy_to and not stop.wait(max(0.0, began + at - time.time())):
            server.sql(f"\\copy copied FROM '{rows}'")
            at += COPY_EVERY
    elif case.beside == "index" and not stop.wait(INDEX_AT):
        run(server.psql("-c", "SET maintenance_work_mem = '512MB'", "-c", "CREATE INDEX side_index ON side (a, b)"))


def turn(server, case, seconds, stop):
    """Change a setting in the middle."""
    if case.midway and not stop.wait(seconds / 2):
        server.sql(f"ALTER SYSTEM SET {case.midway}")
        server.sql("SELECT pg_reload_conf()")


class Recorder:
    """ckpttop record beside the load, into a file that is not on the slow disk."""

    def __init__(self, server):
        self.file = server.directory / "recording"
        segment = server.sql("SELECT ckpt_stats_segment_path()")
        # As root: who starts it through runuser cannot interrupt it.
        self.process = subprocess.Popen(
            [server.bin / "ckpttop", "record", self.file, "--segment", segment, "--history", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=True)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)

    def keep(self, path):
        """End it, and keep the recording and its report."""
        time.sleep(2)  # for the last second of the timeline
        self.stop()
        shutil.copyfile(self.file, path)
        run([self.process.args[0], "report", path, "-o", path.with_suffix(".html")])


def pgbench_command(server, case, seconds):
    options = ["-n", "-M", "prepared", "-c", case.clients, "-j", "2", "-T", seconds,
               "-l", "--log-prefix", server.directory / "tx"]
    if case.rate:
        options += ["-R", case.rate, "-L", LATE_US // 1000]
    if case.script:
        (server.directory / "script").write_text(SCRIPTS[case.script])
        options += ["-f", server.directory / "script", "-s", case.scale]
    else:
        options += ["-N"]
    return server.client("pgbench", *options, "bench")


def pgbench(server, case, seconds):
    return run(pgbench_command(server, case, seconds))


def measure(pg_config, case, variant, template, directory, port, extra=(), seconds=None, running=None, recording=None):
    """Run one sample and return its record."""
    server = Server(pg_config, directory, case, port)
    if running is not None:
        running.append(server)
    seconds = seconds or case.seconds
    stop = threading.Event()
    clock = recorder = None
    try:
        server.up(template)
        server.configure([*case.conf, *variant.conf, *extra])
        server.start()
        ours = any("ckptflush" in line for line in variant.conf)
        if ours:
            server.sql("CREATE EXTENSION ckptflush")
        server.sql("CHECKPOINT")
        log_from = server.log.stat().st_size
        server.throttle()
        if recording and ours:
            recorder = Recorder(server)
        # A session that asks would be in the recording.
        clock = Clock(server, ours and not recorder)
        clock.start()
        began = time.time()
        threading.Thread(target=beside, args=(server, case, stop), daemon=True).start()
        threading.Thread(target=turn, args=(server, case, seconds, stop), daemon=True).start()
        printed = pgbench(server, case, seconds)
        if recorder:
            recorder.keep(recording)
        clock.over.set()
        clock.join(timeout=60)
        log = server.log.read_text()[log_from:]
        record = {
            "case": case.name, "variant": variant.name, "seconds": seconds, "began": began,
            "version": server.sql("SHOW server_version"),
            "clock": clock.rows, "checkpoints": checkpoints(log, began), "pgbench": printed,
            "log": [line for line in log.splitlines() if re.search(r"WARNING|ERROR|FATAL|PANIC|ckptflush", line)][:50],
        }
        record.update(transactions(server.directory, began, case, seconds))
        if recorder:
            record["commands"] = commands(recording)
        if ours:
            record["stats"] = server.sql("SELECT row_to_json(c) FROM ckpt_stats c")
        return record
    finally:
        stop.set()
        if clock:
            clock.over.set()
        if recorder and recorder.process.poll() is None:
            recorder.stop()
        server.down()
        if running is not None:
            running.remove(server)


def commands(recording):
    """Milliseconds of client backends by command and by phase of the checkpoint."""
    found = {}
    for line in recording.read_text().splitlines()[1:]:
        for command, phase, _, ms in json.loads(line).get("commands", []):
            phases = found.setdefault(command, {})
            phases[phase] = phases.get(phase, 0) + ms
    return found


def checkpoints(log, began):
    """Start, and lengths of write and sync phase, in seconds since the beginning."""
    found = []
    start = None
    for line in log.splitlines():
        moment = re.match(r"(\d+-\d+-\d+ \d+:\d+:\d+)(\.\d+) UTC", line)
        if not moment:
            continue
        at = time.strptime(moment[1], "%Y-%m-%d %H:%M:%S")
        at = calendar.timegm(at) + float(moment[2]) - began
        if "checkpoint starting" in line:
            start = at
        complete = re.search(r"write=([\d.]+) s, sync=([\d.]+) s, total=([\d.]+) s; sync files=(\d+), longest=([\d.]+)", line)
        if complete:
            write, sync, total, longest = (float(complete[i]) for i in (1, 2, 3, 5))
            found.append({"start": start if start is not None else at - total, "write": write, "sync": sync,
                          "total": total, "files": int(complete[4]), "longest": longest})
            start = None
    if start is not None:
        found.append({"start": start, "write": None, "sync": None, "total": None, "files": None, "longest": None})
    return found


def transactions(directory, began, case, seconds):
    """By second of the schedule: done, late, skipped; latencies of the window."""
    per_second = [{"done": 0, "late": 0, "skipped": 0, "max": 0} for _ in range(seconds + 60)]
    by_second = [[] for _ in range(seconds + 60)]
    ends, latencies = [], []
    start = FROM if seconds > 2 * FROM else 0
    for path in Path(directory).glob("tx.*"):
        for fields in csv.reader(io.StringIO(path.read_text()), delimiter=" "):
            end = int(fields[4]) + int(fields[5]) / 1e6 - began
            skipped = fields[2] == "skipped"
            latency = 0 if skipped else int(fields[2])
            second = int(max(0.0, end - latency / 1e6))
            if second >= len(per_second):
                continue
            cell = per_second[second]
            if skipped:
                cell["skipped"] += 1
                continue
            by_second[second].append(latency)
            if latency > LATE_US:
                cell["late"] += 1
            cell["max"] = max(cell["max"], latency)
            done = int(end)
            if done < len(per_second):
                per_second[done]["done"] += 1
            ends.append(end)
            if second >= start:
                latencies.append(latency)
    for cell, values in zip(per_second, by_second):
        values.sort()
        cell["p99"] = values[int(len(values) * 0.99)] if values else None
    return {"per_second": per_second[:seconds], **summary(per_second[start:seconds], sorted(ends), latencies, case, start)}


def summary(window, ends, latencies, case, start):
    latencies.sort()
    late = sum(cell["late"] for cell in window)
    skipped = sum(cell["skipped"] for cell in window)
    done = [cell["done"] for cell in window]
    mean = sum(done) / max(1, len(done))
    target = case.rate or sorted(done)[len(done) // 2] or 1
    inside = [end for end in ends if end >= start]
    gaps = [b - a for a, b in zip(inside, inside[1:])]
    share = lambda q: latencies[min(len(latencies) - 1, int(len(latencies) * q))] / 1000 if latencies else None
    return {
        "late_percent": 100 * (late + skipped) / max(1, len(latencies) + skipped),
        "late": late, "skipped": skipped, "scheduled": len(latencies) + skipped,
        "over": {str(ms): sum(1 for l in latencies if l > ms * 1000) + skipped for ms in (100, 200, 300, 400, 500)},
        "tps": mean, "tps_sd": (sum((d - mean) ** 2 for d in done) / max(1, len(done))) ** 0.5,
        "stalled_seconds": sum(1 for d in done if d < 0.1 * target),
        "slow_seconds": sum(1 for d in done if d < 0.5 * target),
        "longest_gap": max(gaps, default=None), "window": len(window),
        "p99_ms": share(0.99), "p999_ms": share(0.999), "max_ms": latencies[-1] / 1000 if latencies else None,
    }
