# SPDX-License-Identifier: MIT
"""./dev mutate: puts faults into the sources and prints those that no test sees."""

import argparse
import pathlib
import random
import re
import sys
import time

import recording
import report
import sandbox
import selection
import test_cases
import trial
from accepted import Accepted, identity
from faulty_build import FaultyBuild

ROOT = pathlib.Path(__file__).resolve().parents[3]


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def counter(what, total):
    """Says now and then how far it got."""
    def progress(done):
        if done == total or done % max(1, total // 10) == 0:
            say(f"{what}: {done} of {total}")
    return progress


def progress_of_trial(total):
    """Prints survivors at once: a run takes long, and work on them can begin."""
    progress = counter("faults tried", total)

    def tell(done, outcome):
        if not outcome.seen_by:
            say(f"survives: {report.survivor(outcome)}")
        progress(done)
    return tell


def arguments():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("places", nargs="*", metavar="FOLDER",
                        help="folders or files below src/; default: core, flow, io and service")
    parser.add_argument("--count", type=int, default=300, help="number of faults (%(default)s)")
    parser.add_argument("--seed", type=int, help="repeats the faults of an earlier run")
    parser.add_argument("--only", metavar="REGEX", default="",
                        help="only faults whose line in the report matches")
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT",
                        help="fail if fewer faults are seen")
    parser.add_argument("--list", action="store_true", help="only list the faults that there are")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/gcc-release",
                        help="a finished build with tests")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def collected(options):
    """The sources and the faults that they can have, without the accepted ones."""
    sources = list(selection.sources_in(ROOT, options.places or selection.FOLDERS))
    if not sources:
        sys.exit("mutate: there is no source there.")
    accepted = Accepted.read()
    everything = [fault for source in sources for fault in source.faults]
    for entry in accepted.stale(everything, {source.path for source in sources}):
        say(f"accepted.txt has an entry that fits no source any more: {entry}")
    return sources, [fault for fault in everything
                     if not accepted.covers(fault) and re.search(options.only, identity(fault))]


def main():
    options = arguments()
    sources, faults = collected(options)
    if options.list:
        print(*(f"{fault.file}:{fault.line} {fault.region.function}: {fault.change}"
                for fault in faults), sep="\n")
        return 0
    if not sandbox.is_available():
        sys.exit("mutate: `unshare --pid` does not work here; without it a fault could end"
                 " processes of yours.")
    if not faults:
        sys.exit("mutate: there is no such fault.")
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    say(f"seed {seed}: {options.count} of {len(faults)} possible faults")
    chosen = selection.choose(faults, options.count, seed)
    numbered = dict(enumerate((fault for kind in chosen.values() for fault in kind), 1))
    build = FaultyBuild(ROOT, options.build, ROOT / "build/mutate", sources, dict(numbered),
                        options.jobs)
    build.compile()
    compiled = {id(fault) for fault in build.faults.values()}
    tried = {id(fault) for fault in
             selection.first_usable(chosen, options.count, lambda fault: id(fault) in compiled)}
    tried = {number: fault for number, fault in numbered.items() if id(fault) in tried}
    say(f"{len(compiled)} of {len(numbered)} faults compile; {len(tried)} are tried")
    outcomes = trial.try_all(tried, recorded_cases(options, build, tried), options.jobs,
                             progress_of_trial(len(tried)))
    print(*report.lines(outcomes), sep="\n", end=f", seed {seed}\n")
    seen = sum(bool(outcome.seen_by) for outcome in outcomes)
    return int(100 * seen < options.at_least * len(outcomes))


def recorded_cases(options, build, tried):
    layers = test_cases.layers_of(tried.values())
    programs = {area: path for area, path in test_cases.programs(options.build).items()
                if test_cases.concerns(area, layers)}
    linked = build.link(list(programs.values()))
    say(f"{len(linked)} test programs linked")
    cases = []
    for area, path in programs.items():
        folder = (options.build / path).parent
        cases += test_cases.cases_in(area, linked[path], folder)
    found, failed = recording.record(cases, set(tried), options.jobs,
                                     counter("tests recorded", len(cases)))
    for case in failed:
        say(f"left out, since it fails or takes long without a fault: {case.full_name()}")
    say(f"{len(found)} of {len(cases)} tests reach a fault")
    return found


if __name__ == "__main__":
    sys.exit(main())
