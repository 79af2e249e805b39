"""Records of samples into tables and plots.

Reads and writes: records; SVG files in the output directory.
Never: leaves a sample out.
"""

from statistics import median


def by_case(records):
    groups = {}
    for record in records:
        groups.setdefault((record["case"], record["variant"]), []).append(record)
    return groups


def spread(values, digits=1):
    """The values in the order of the repeats, the median first."""
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    shown = " · ".join(f"{v:.{digits}f}" for v in values)
    return f"**{median(values):.{digits}f}** ({shown})" if len(values) > 1 else shown


def syncs(record):
    return max((c["sync"] for c in record["checkpoints"] if c["sync"] is not None), default=None)


def written(record):
    rows = record["clock"]
    return (rows[-1]["bytes"] - rows[0]["bytes"]) / 1e6 if len(rows) > 1 else None


def line(record):
    return (f"{record['case']} {record['variant']} {record['version']}: late {record['late_percent']:.2f} %, "
            f"stalled {record['stalled_seconds']} s, gap {record['longest_gap']:.2f} s, "
            f"p99 {record['p99_ms']:.0f} p99.9 {record['p999_ms']:.0f} max {record['max_ms']:.0f} ms, "
            f"tps {record['tps']:.1f} sd {record['tps_sd']:.1f}, sync {syncs(record)} s, {written(record):.0f} MB")


COLUMNS = [
    ("late %", lambda r: r["late_percent"], 1),
    ("longest time without a commit, s", lambda r: r["longest_gap"], 1),
    ("seconds with less than a tenth", lambda r: r["stalled_seconds"], 0),
    ("p99.9, ms", lambda r: r["p999_ms"], 0),
    ("tps", lambda r: r["tps"], 0),
    ("sd of tps", lambda r: r["tps_sd"], 0),
    ("longest sync phase, s", syncs, 1),
    ("MB written", written, 0),
]


def table(records):
    lines = ["| case | variant | " + " | ".join(name for name, _, _ in COLUMNS) + " |",
             "|---" * (len(COLUMNS) + 2) + "|"]
    for (case, variant), group in sorted(by_case(records).items()):
        group.sort(key=lambda r: r["repeat"])
        cells = [spread([value(r) for r in group], digits) for _, value, digits in COLUMNS]
        lines.append(f"| {case} | {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


LIMITS = ("100", "200", "300", "400", "500")


def over(records):
    """Transactions over 100 to 500 ms, in percent of all scheduled, medians, by completion target and variant."""
    groups = {key: group for key, group in by_case(records).items() if key[0].startswith("target")}
    return {(case.removeprefix("target"), variant): [median(100 * r["over"][ms] / r["scheduled"] for r in group)
                                                     for ms in LIMITS]
            for (case, variant), group in sorted(groups.items())}


def over_table(records):
    """That as a table; None if no case is of that experiment."""
    found = over(records)
    if not found:
        return None
    lines = ["| completion target | variant | " + " | ".join(f"over {ms} ms, %" for ms in LIMITS) + " |",
             "|---" * (len(LIMITS) + 2) + "|"]
    for (target, variant), shares in found.items():
        lines.append(f"| {target} | {variant} | " + " | ".join(f"{s:.1f}" for s in shares) + " |")
    return "\n".join(lines) + "\n"


def commands_table(records):
    """Where the time of client backends went, as the report draws it; None if nothing was recorded."""
    lines = ["| case | variant | reading, % | handling, % | nothingness, % | nothingness in write and sync phases, % |",
             "|---" * 6 + "|"]
    for (case, variant), group in sorted(by_case(records).items()):
        group = sorted((r for r in group if "commands" in r), key=lambda r: r["repeat"])
        if not group:
            continue
        cells = zip(*map(kinds, group))
        lines.append(f"| {case} | {variant} | " + " | ".join(spread(list(values)) for values in cells) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else None


def kinds(record):
    """Shares of waiting for the client, of commands, of waiting for the WAL; of the last one in checkpoints."""
    def share(wanted, inside):
        found = {command: sum(ms for phase, ms in phases.items() if inside is None or phase in inside)
                 for command, phases in record["commands"].items()}
        total = sum(found.values())
        return 100 * sum(ms for command, ms in found.items() if wanted(command)) / total if total else None

    nothing = lambda command: command == "wal_flush"
    return (share(lambda command: command == "idle", None),
            share(lambda command: command not in ("idle", "wal_flush"), None),
            share(nothing, None), share(nothing, ("writing", "syncing")))


def over_plot(records, out, plt):
    """And as a picture: for each target a group of bars, from 100 to 500 ms."""
    found = over(records)
    targets, variants = ([*dict.fromkeys(key[i] for key in found)] for i in (0, 1))
    if not found:
        return
    figure, axis = plt.subplots(figsize=(9, 4))
    width = 0.9 / (len(variants) * len(LIMITS))
    for v, variant in enumerate(variants):
        for i, ms in enumerate(LIMITS):
            at = [t + (v * len(LIMITS) + i) * width - 0.45 for t in range(len(targets))]
            axis.bar(at, [found.get((target, variant), [0] * len(LIMITS))[i] for target in targets], width * 0.9,
                     align="edge", color=f"C{v}", alpha=1 - 0.17 * i, label=f"{variant}, over {ms} ms")
    axis.set_xticks(range(len(targets)), targets)
    axis.set_xlabel("checkpoint_completion_target")
    axis.set_ylabel("transactions, %")
    axis.legend(fontsize="small", ncols=len(variants))
    figure.tight_layout()
    figure.savefig(out / "targets.svg")
    plt.close(figure)


def plots(records, out):
    """One picture per case: a column per variant, its first repeat."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is missing (Debian: python3-matplotlib)")
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    groups = by_case(records)
    for case in sorted({case for case, _ in groups}):
        variants = [variant for c, variant in groups if c == case]
        figure, axes = plt.subplots(3, len(variants), figsize=(6 * len(variants), 8), sharex=True, sharey="row", squeeze=False)
        for column, variant in enumerate(variants):
            draw(axes[:, column], min(groups[case, variant], key=lambda r: r["repeat"]))
        figure.suptitle(case)
        figure.tight_layout()
        figure.savefig(out / f"{case}.svg")
        plt.close(figure)
    over_plot(records, out, plt)


def draw(axes, record):
    seconds = range(len(record["per_second"]))
    cells = record["per_second"]
    for axis in axes:
        for checkpoint in record["checkpoints"]:
            begin, write = checkpoint["start"], checkpoint["write"]
            if write is None:
                axis.axvspan(begin, record["seconds"], color="tab:blue", alpha=0.10, lw=0)
                continue
            axis.axvspan(begin, begin + write, color="tab:blue", alpha=0.10, lw=0)
            axis.axvspan(begin + write, begin + write + checkpoint["sync"], color="tab:red", alpha=0.3, lw=0)
        axis.set_xlim(0, record["seconds"])
    axes[0].plot(seconds, [cell["done"] for cell in cells], color="black", lw=1)
    axes[0].set_ylabel("transactions per second")
    axes[0].set_title(f"{record['variant']}, PostgreSQL {record['version'].split(' ')[0]}: {record['late_percent']:.1f} % late")
    axes[0].set_ylim(bottom=0)
    axes[1].semilogy(seconds, [max(cell["max"], 100) / 1000 for cell in cells], color="tab:red", lw=1, label="max")
    axes[1].semilogy(seconds, [max(cell["p99"] or 100, 100) / 1000 for cell in cells], color="tab:orange", lw=1, label="p99")
    axes[1].axhline(100, color="grey", lw=0.5)
    axes[1].set_ylabel("latency, ms")
    axes[1].legend(loc="upper left")
    rows = record["clock"]
    steps = list(zip(rows, rows[1:]))
    times = [row["t"] for row in rows[1:]]
    axes[2].plot(times, [(b["bytes"] - a["bytes"]) / 1e6 for a, b in steps], color="tab:blue", lw=1, label="MB/s written")
    axes[2].plot(times, [(b["writes"] + b["flushes"] - a["writes"] - a["flushes"]) / 20 for a, b in steps],
                 color="tab:green", lw=1, label="operations/s / 20")
    axes[2].legend(loc="upper left")
    axes[2].set_ylabel("device")
    axes[2].set_xlabel("seconds")
