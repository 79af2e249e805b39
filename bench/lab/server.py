"""One server on one slow disk: made from a template, started, stopped, removed.

Reads and writes: its own directory and disk, template clusters in the work directory.
Never: touches a server that it has not started; stops by pid.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

from cases import CONF

HERE = Path(__file__).resolve().parent
USER = "ckptflush"


def run(command, **options):
    """Run a command, fail with what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, close_fds=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def as_user(command):
    return ["runuser", "-u", USER, "--", "env", "LC_ALL=C", *map(str, command)]


class Server:
    """A server in `directory`/disk/data; its socket is in `directory`.

    Each that runs beside others needs a port of its own, though none is opened: servers made from
    one template share a system identifier, and a segment is known by both.
    """

    def __init__(self, pg_config, directory, case, port=5432):
        self.port = port
        self.bin = Path(run([pg_config, "--bindir"]).strip())
        self.directory = Path(directory)
        self.disk = self.directory / "disk"
        self.data = self.disk / "data"
        self.log = self.directory / "server.log"
        self.case = case
        self.throttled = case.iops > 0 or case.bps != "0"

    def give(self, path):
        entry = pwd.getpwnam(USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)

    def slowdisk(self, *arguments):
        return run([HERE / "slowdisk", *map(str, arguments)])

    def up(self, template):
        """The disk, unthrottled, with a copy of the template."""
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o755)
        self.give(self.directory)
        self.slowdisk("up", self.disk, self.case.size_mb, 0, 0)
        self.give(self.disk)
        run(as_user(["cp", "-a", template, self.data]))

    def configure(self, lines):
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write(CONF)
            conf.write(f"unix_socket_directories = '{self.directory}'\nport = {self.port}\n")
            conf.writelines(line + "\n" for line in lines)

    def start(self, *environment):
        try:
            run(as_user([*environment, self.bin / "pg_ctl", "-D", self.data, "-l", self.log, "-w", "-t", "300", "start"]))
        except RuntimeError as error:
            tail = "\n".join(self.log.read_text().splitlines()[-10:]) if self.log.exists() else ""
            raise RuntimeError(f"{error}\n{tail}") from error

    def pid(self):
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n")[0])
        except (OSError, ValueError):
            return None

    def stop(self, how=signal.SIGINT):
        pid = self.pid()
        if pid is None:
            return
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return
        for _ in range(1200):
            if not Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.1)
        raise RuntimeError(f"server {pid} does not stop")

    def down(self):
        """Stop at once, and leave nothing."""
        if self.disk.exists():
            if self.throttled and os.path.ismount(self.disk):
                self.slowdisk("throttle", self.disk, 0, 0)
            self.stop(signal.SIGQUIT)
            self.slowdisk("down", self.disk)
        shutil.rmtree(self.directory, ignore_errors=True)

    def throttle(self):
        if self.throttled:
            run(["sync", "-f", self.disk])
            self.slowdisk("throttle", self.disk, self.case.bps, self.case.iops)

    def client(self, program, *arguments):
        """The command line of a client program."""
        return as_user([self.bin / program, "-h", self.directory, "-p", self.port, "-U", "postgres", *arguments])

    def psql(self, *arguments):
        return self.client("psql", "-d", "bench", "-XAtq", "-v", "ON_ERROR_STOP=1", *arguments)

    def sql(self, sql):
        return run(self.psql("-c", sql)).strip()

    def device(self):
        """MAJ:MIN of the file system's device."""
        number = os.stat(self.data).st_dev
        return f"{os.major(number)}:{os.minor(number)}"

    def device_counters(self):
        """Writes, sectors written, flushes since the device was made."""
        fields = Path(f"/sys/dev/block/{self.device()}/stat").read_text().split()
        return {"writes": int(fields[4]), "bytes": int(fields[6]) * 512, "flushes": int(fields[15])}


def template(pg_config, case, work):
    """A cluster with the case's tables, made once per version and kind."""
    name = f"template-{Path(run([pg_config, '--bindir']).strip()).parent.as_posix().replace('/', '_')}-{case.scale}-{case.prepare or 'plain'}"
    path = Path(work) / name
    if path.exists():
        return path
    making = Path(work) / (name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    server = Server(pg_config, making, case)
    making.mkdir()
    making.chmod(0o755)
    server.give(making)
    server.disk.mkdir()
    server.give(server.disk)
    run(as_user([server.bin / "initdb", "-D", server.data, "-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8"]))
    clean = (server.data / "postgresql.conf").read_text()
    server.configure(["fsync = off", "checkpoint_timeout = 1h", "max_wal_size = 20GB"])
    server.start()
    try:
        run(server.client("createdb", "bench"))
        run(server.client("pgbench", "-i", "-q", "-s", case.scale, "bench"))
        for sql in PREPARE.get(case.prepare, []):
            server.sql(sql)
        server.sql("VACUUM FREEZE")
        server.sql("CHECKPOINT")
    finally:
        server.stop()
    (server.data / "postgresql.conf").write_text(clean)
    # WAL segments to recycle: none is made, and filled with zeros, while it is measured.
    segments = sorted((server.data / "pg_wal").glob("[0-9A-F]" * 24))
    last = int(segments[-1].name, 16)
    timeline, low = last >> 64, last & ((1 << 64) - 1)
    position = (low >> 32) * 256 + (low & 0xFFFFFFFF)
    have = len(segments)
    for ahead in range(1, max(1, 33 - have) + 1):
        number = position + ahead
        target = server.data / "pg_wal" / f"{timeline:08X}{number // 256:08X}{number % 256:08X}"
        if not target.exists():
            with open(target, "wb") as segment:
                segment.write(bytes(16 << 20))
            target.chmod(0o600)
            server.give(target)
    os.rename(server.data, path)
    shutil.rmtree(making)
    return path


PREPARE = {
    # About 130 MB, and nothing of pgbench's.
    "side": [
        "CREATE TABLE side AS SELECT g AS id, md5(g::text) AS a, md5((g * 7)::text) AS b FROM generate_series(1, 1300000) g",
    ],
    "tables": [
        "DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE TABLE t_%s (id int PRIMARY KEY, n int)', i); "
        "EXECUTE format('INSERT INTO t_%s SELECT g, 0 FROM generate_series(1, 100) g', i); "
        "IF i % 100 = 0 THEN COMMIT; END IF; END LOOP; END $$",
        # A statement names one table; a function takes the number.
        "CREATE FUNCTION touch(t int, i int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
        "EXECUTE format('UPDATE t_%s SET n = n + 1 WHERE id = $1', t) USING i; END $$",
    ],
}
