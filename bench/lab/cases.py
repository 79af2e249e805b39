"""The cases and the variants of the lab: what is run, with which settings.

Reads and writes: nothing. Never: measures.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A load on a disk of a certain speed."""

    name: str
    title: str
    iops: int = 400
    bps: str = "20M"
    scale: int = 10
    rate: int | None = 100
    clients: int = 4
    seconds: int = 116
    size_mb: int = 3000
    conf: tuple = ()
    # What runs beside pgbench: copy, index; and what is made before it: side, tables.
    beside: str | None = None
    # The last COPY begins at this second.
    copy_to: int = 66
    # Set in the middle of the run, with a reload.
    midway: str | None = None
    prepare: str | None = None
    script: str | None = None


CASES = {
    case.name: case
    for case in [
        Case("plain1000", "pgbench, 1000 operations/s", iops=1000),
        Case("plain400", "pgbench, 400 operations/s"),
        Case("plain300", "pgbench, 300 operations/s", iops=300),
        Case("copy400", "COPY beside pgbench, 400 operations/s", beside="copy"),
        Case("index400", "CREATE INDEX beside pgbench, 400 operations/s", beside="index", prepare="side"),
        Case("tables400", "2000 small tables, 400 operations/s", prepare="tables", script="tables"),
        Case("small400", "shared_buffers 32MB, 400 operations/s", scale=30, conf=("shared_buffers = 32MB",)),
        Case("full400", "full speed, 8 clients, 400 operations/s", rate=None, clients=8),
        Case("fast", "full speed, 8 clients, no limit", iops=0, bps="0", rate=None, clients=8, size_mb=6000),
        # Autovacuum comes once a minute: to one of the halves more often than to the other.
        Case("report", "copy400, with the flusher turned on in the middle", beside="copy", copy_to=168, seconds=172,
             size_mb=4000, midway="ckptflush.flush = on", conf=("autovacuum = off",)),
        Case("smoke", "a short run, with one checkpoint", scale=1, seconds=62, size_mb=1500),
    ]
}
for target in ("0", "0.3", "0.6", "0.9", "1"):
    CASES[f"target{target}"] = Case(
        f"target{target}",
        f"completion target {target}, 400 operations/s",
        conf=(f"checkpoint_completion_target = {target}",),
    )


@dataclass(frozen=True)
class Variant:
    """Settings of the server, or of the kernel."""

    name: str
    title: str
    conf: tuple = ()
    # vm.*: of the whole machine, so nothing else runs meanwhile.
    sysctl: dict = field(default_factory=dict)


OURS = "shared_preload_libraries = 'ckptflush'"
VARIANTS = {
    variant.name: variant
    for variant in [
        Variant("stock", "PostgreSQL as it is"),
        Variant("off", "PostgreSQL, watched (flush off)", (OURS, "ckptflush.flush = off")),
        Variant(
            "off0",
            "PostgreSQL with flush_after 0, watched",
            (OURS, "ckptflush.flush = off", "checkpoint_flush_after = 0", "bgwriter_flush_after = 0"),
        ),
        Variant(
            "flush64",
            "flush_after 64kB everywhere",
            ("checkpoint_flush_after = 64kB", "bgwriter_flush_after = 64kB", "backend_flush_after = 64kB"),
        ),
        Variant("flush0", "flush_after 0", ("checkpoint_flush_after = 0", "bgwriter_flush_after = 0")),
        Variant("dirty16", "vm.dirty_background_bytes 16MB", (), {"vm.dirty_background_bytes": "16777216"}),
        Variant("ours", "ckptflush", (OURS, "ckptflush.flush = on")),
    ]
}

# What all servers have in common.
CONF = """
listen_addresses = ''
shared_buffers = 1GB
checkpoint_timeout = 30s
checkpoint_completion_target = 0.8
max_wal_size = 8GB
min_wal_size = 512MB
log_checkpoints = on
log_line_prefix = '%m [%p] %b '
log_min_messages = warning
"""
