# SPDX-License-Identifier: MIT
"""The table: a row per workload, a column per participant, ratios and bars at the end."""
import statistics
from dataclasses import dataclass
from typing import Optional

OURS = "weir"
FLOOR = "floor"


@dataclass
class Row:
    workload: str
    unit: str
    cells: dict  # who -> result
    to_floor: Optional[float]
    to_peer: Optional[float]
    best_peer: str
    bar: str
    met: Optional[bool]  # None: not to be told from this run


def ratio(a, b):
    """a/b; where both have rounds, the median of the rounds' ratios, which what the machine does meanwhile
    changes least. By CPU time where the rates cannot be trusted and it was measured."""
    if a is None or b is None or not b["value"]:
        return None
    if (a.get("unreliable") or b.get("unreliable")) and "cpu_ns" in a and "cpu_ns" in b:
        # Others had the processors: what each operation took of them still tells.
        common = a["cpu_rounds"].keys() & b["cpu_rounds"].keys()
        return statistics.median(b["cpu_rounds"][n] / a["cpu_rounds"][n] for n in common)
    common = a.get("rounds", {}).keys() & b.get("rounds", {}).keys()
    if len(common) > 2:
        return statistics.median(a["rounds"][n] / b["rounds"][n] for n in common)
    return a["value"] / b["value"]


def judge(bar, cells):
    """The bar as text, and whether it is met. A list of bars is met when all are; 'who' is whom it is for, 'what' a
    member of the result other than its value."""
    if isinstance(bar, list):
        judged = [judge(one, cells) for one in bar]
        verdicts = [met for _, met in judged]
        met = False if False in verdicts else None if None in verdicts else True
        return ", ".join(text for text, _ in judged), met
    result = cells.get(bar.get("who", OURS))
    name = f"{bar['who']} " if "who" in bar else ""
    other = bar.get("of", FLOOR)
    if "at_most_times" in bar:
        limit, reached = bar["at_most_times"], ratio(result, cells.get(other))
        return f"{name}<= {limit:g} x {other}", None if reached is None else reached <= limit
    if "at_least_times" in bar:
        limit, reached = bar["at_least_times"], ratio(result, cells.get(other))
        return f"{name}>= {limit:g} x {other}", None if reached is None else reached >= limit
    reached = None if result is None else result.get(bar.get("what", "value"))
    if "what" in bar:
        name += f"{bar['what']} "
    if "at_most" in bar:
        return f"{name}<= {bar['at_most']:g}", None if reached is None else reached <= bar["at_most"]
    if "at_least" in bar:
        return f"{name}>= {bar['at_least']:g}", None if reached is None else reached >= bar["at_least"]
    return "", None


def rows(suite, best, bars):
    made = []
    for workload in suite.workloads:
        cells = {who: best[workload.name, who] for who in suite.participants if (workload.name, who) in best}
        if not cells:
            continue
        # Variants of ours and of the floor (weir_epoll, floor_uring) are no peers.
        peers = {who: r["value"] for who, r in cells.items() if not who.startswith((OURS, FLOOR))}
        pick = max if workload.higher_is_better else min
        best_peer = pick(peers, key=peers.get) if peers else ""
        bar, met = judge(bars.get(workload.name, {}), cells)
        made.append(
            Row(
                workload.name,
                workload.unit,
                cells,
                ratio(cells.get(OURS), cells.get(FLOOR)),
                ratio(cells.get(OURS), cells.get(best_peer)),
                best_peer,
                bar,
                met,
            )
        )
    return made


def number(value):
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(made, who):
    header = ["workload", "unit", *who, "weir/floor", "weir/best peer", "bar", "met"]
    lines = [header]
    for row in made:
        line = [row.workload, row.unit]
        for name in who:
            result = row.cells.get(name)
            mark = "~" if result and result.get("unreliable") else ""
            line.append(mark + number(result["value"]) if result else "-")
        line.append(f"{row.to_floor:.2f}" if row.to_floor is not None else "-")
        line.append(f"{row.to_peer:.2f} ({row.best_peer})" if row.to_peer is not None else "-")
        line.append(row.bar or "-")
        line.append({True: "yes", False: "NO", None: "-"}[row.met])
        lines.append(line)
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def show(line):
        # Text to the left, numbers to the right.
        left = {0, 1, len(header) - 2, len(header) - 1}
        return "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()

    return "\n".join([show(lines[0]), "  ".join("-" * w for w in widths), *map(show, lines[1:])])


def notes(suite, made, missing, failures, took):
    lines = []
    if any(result.get("unreliable") for row in made for result in row.cells.values()):
        lines.append("~  the process never got 95 % of a core: do not trust this number")
        if any("cpu_ns" in result for row in made for result in row.cells.values()):
            lines.append("~  ratios and bars are then by the CPU time of each operation")
    for row in made:
        shares = [f"{who} {r['busy']:.0%}/{r['load_busy']:.0%}" for who, r in row.cells.items() if "busy" in r]
        if shares:
            lines.append(f"{row.workload}: busy, what is measured/its counterpart: {', '.join(shares)}")
            # own_ns: the rates count all the same, since the counterpart is often the bottleneck.
            spent = {who: r.get("cpu_ns", r.get("own_ns")) for who, r in row.cells.items()}
            times = [f"{who} {ns / 1000:.2f}" for who, ns in spent.items() if ns is not None]
            lines.append(f"{row.workload}: CPU time of what is measured, µs each: {', '.join(times)}")
        for what in suite.notes:
            shown = [f"{who} {r[what]:g}" for who, r in row.cells.items() if what in r]
            if shown:
                lines.append(f"{row.workload}: {what}: {', '.join(shown)}")
    lines += [f"missing: {who}: {why}" for who, why in missing.items()]
    lines += [f"failed: {who}, {name}: {why}" for (name, who), why in failures.items()]
    judged = [row for row in made if row.met is not None]
    if judged:
        missed = [row.workload for row in judged if not row.met]
        lines.append(f"bars met: {len(judged) - len(missed)} of {len(judged)}" + (f"; missed: {', '.join(missed)}" if missed else ""))
    lines.append(f"measured in {took:.0f} s")
    return "\n".join(lines)
