#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures Weir, the floor and the peers in one run, and prints one table.

  python3 bench/run.py core [--quick] [--json FILE] [--svg FILE] [--build-dir DIR] [--only who,...]

A workload at a time, all participants after one another, several rounds: what the machine does
meanwhile then hits everybody alike. The best of all rounds counts, or their median: as the suite says.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import chart  # noqa: E402
import report  # noqa: E402
from participants import ROOT, Build, Missing  # noqa: E402
from suites import SUITES  # noqa: E402

LONGEST_S = 180  # a workload of a participant that takes longer hangs


def say(text):
    print(text, file=sys.stderr, flush=True)


def prepare(suite, build, only):
    """Commands by participant, and the reasons why some are missing."""
    commands, missing = {}, {}
    for who, program in suite.participants.items():
        if only and who not in only:
            continue
        say(f"preparing {who}")
        try:
            commands[who] = program.prepare(build)
        except (Missing, OSError) as problem:
            missing[who] = str(problem)
    return commands, missing


def measure(command, workload, options):
    """One measurement, None where the participant has no such workload, or a sentence on failure."""
    full = [*command, "--workload", workload.name, "--reps", str(options.reps)]
    if options.quick:
        full.append("--quick")
    try:
        done = subprocess.run(full, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return f"no result after {LONGEST_S} s"
    except OSError as problem:
        return str(problem)
    for line in done.stdout.splitlines():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        if isinstance(result, dict) and result.get("workload") == workload.name:
            return result
    # 64: no workload of that name, which is an answer and not a failure.
    if done.returncode in (0, 64):
        return None
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return f"exit status {done.returncode}: {last[:200]}"


def better(workload, new, old):
    if old is None:
        return True
    new_counts, old_counts = not new.get("unreliable"), not old.get("unreliable")
    if new_counts != old_counts:
        return new_counts
    if workload.higher_is_better:
        return new["value"] > old["value"]
    return new["value"] < old["value"]


def choose(suite, workload, results):
    """One result of those of all rounds, by round: the best, or the median of those that count."""
    if not suite.by_median:
        chosen = None
        for result in results.values():
            chosen = result if better(workload, result, chosen) else chosen
        return chosen
    good = {n: r for n, r in results.items() if not r.get("unreliable")}
    rounds = {n: r["value"] for n, r in (good or results).items()}
    # The rounds go along, so that ratios can be taken between measurements of the same minute.
    chosen = {**next(iter((good or results).values())), "value": statistics.median(rounds.values()), "rounds": rounds}
    if "cpu_ns" in chosen:
        chosen["cpu_rounds"] = {n: r["cpu_ns"] for n, r in results.items()}
    for share in ("busy", "load_busy", "cpu_ns", "own_ns", "cpu_us", "memory_mb", "written_bytes"):
        if share in chosen:
            chosen[share] = statistics.median(r[share] for r in (good or results).values())
    return chosen


def run_all(suite, commands, options):
    """Result by (workload, who), and failures by the same key."""
    chosen, failures = {}, {}
    for workload in suite.workloads:
        if options.workloads and workload.name not in options.workloads:
            continue
        measured = {who: {} for who in commands}
        for turn in range(1 if workload.unit == "bytes" or workload.is_long else options.rounds):
            for who, command in commands.items():
                if (workload.name, who) in failures:
                    continue
                result = measure(command, workload, options)
                if isinstance(result, str):
                    failures[workload.name, who] = result
                elif result is not None:
                    measured[who][turn] = result
        for who, results in measured.items():
            if results:
                chosen[workload.name, who] = choose(suite, workload, results)
        cells = [f"{who} {chosen[workload.name, who]['value']:.4g}" for who, results in measured.items() if results]
        say(f"{workload.name}: {', '.join(cells)}")
    return chosen, failures


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer repetitions, smaller counts")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--svg", metavar="FILE", help="write a chart")
    parser.add_argument("--build-dir", default=ROOT / "build" / "bench", metavar="DIR")
    parser.add_argument("--only", default="", metavar="WHO,...", help="these participants only")
    parser.add_argument("--workloads", default="", metavar="NAME,...", help="these workloads only")
    parser.add_argument("--rounds", type=int, help="default 3, quick 2; with medians 15, quick 7, or as the suite says")
    parser.add_argument("--reps", type=int, help="repetitions a round; default 3, quick 2; with medians 1")
    parser.add_argument("--check", action="store_true", help="exit status 1 where a bar is missed")
    options = parser.parse_args()
    options.only = [who for who in options.only.split(",") if who]
    options.workloads = [name for name in options.workloads.split(",") if name]
    suite = SUITES[options.suite]
    quick, full = (7, 15) if suite.by_median else (2, 3)
    rounds = suite.rounds or (quick, full)
    options.rounds = options.rounds or rounds[0 if options.quick else 1]
    options.reps = options.reps or (1 if suite.by_median else quick if options.quick else full)
    unknown = [who for who in options.only if who not in suite.participants]
    unknown += [name for name in options.workloads if name not in {w.name for w in suite.workloads}]
    if unknown:
        parser.error(f"not in suite {options.suite}: {', '.join(unknown)}")
    return options, suite


def main():
    options, suite = parse()
    commands, missing = prepare(suite, Build(options.build_dir), options.only)
    began = time.monotonic()
    best, failures = run_all(suite, commands, options)
    took = time.monotonic() - began

    bars = json.loads((ROOT / "bench" / "bars.json").read_text()).get(options.suite, {})
    rows = report.rows(suite, best, bars)
    print(report.table(rows, list(commands)))
    print(report.notes(suite, rows, missing, failures, took))
    results = [
        {"suite": options.suite, "workload": name, "who": who, "value": r["value"], "unit": r["unit"]}
        for (name, who), r in best.items()
    ]
    if options.json:
        Path(options.json).write_text("[\n" + ",\n".join(f"  {json.dumps(r)}" for r in results) + "\n]\n")
    if options.svg:
        Path(options.svg).write_text(chart.svg(suite, results))
    if not best:
        return 1
    return 1 if options.check and any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
