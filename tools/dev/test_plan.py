#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order of the tests of `./dev test`: those that failed last time, then those that are closest
to the files changed since they last passed (see changed_areas.py), then the rest.

LIST is the output of `ctest -N`.

  test_plan.py targets BUILD LIST REGEX          the targets that tests matching REGEX need
  test_plan.py first BUILD LIST                  the targets that the failed and affected tests need
  test_plan.py stage BUILD LIST JOBS WHICH DONE...
      writes the places of the tests of a stage into BUILD/test_stage.txt for `ctest -I` and says
      how many; prints nothing if there are none. WHICH is failed, affected, rest, or matching: the
      rest without programs that are not built. DONE are the JUnit files of the stages before.
  test_plan.py record BUILD STARTED RESULTS...   keeps what became of the tests
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

from changed_areas import Areas
from count_results import verdict
from test_history import History
from test_targets import EVERYTHING, NOT_BUILT, Table

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADLINES = {"failed": "that failed last time", "affected": "closest to the changes"}


def read_list(path):
    """A dict: the name of a test to its place in the list. That is what `ctest -I` goes by where
    other options choose as well, not the number in the list."""
    lines = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    names = re.findall(r"^ +Test +#\d+: (\S+)", lines, re.MULTILINE)
    return {name: place for place, name in enumerate(names, 1)}


def cases_of(path):
    try:
        return list(xml.parse(path).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        return []  # count_results.py reports it


class Plan:
    def __init__(self, build, tests):
        self.history = History(build)
        self.table = Table(build)
        self.tests = [name for name in tests if not name.endswith(NOT_BUILT)]
        # Tests that need everything built wait for the rest, and hold up no others.
        self.early = [name for name in self.tests
                      if EVERYTHING not in self.table.targets_for([name])]

    def failed(self):
        return [name for name in self.early if self.history.has_failed(name)]

    def affected(self):
        """Without a history there is nothing to compare with."""
        if not self.history.tests:
            return []
        changed_at = Areas(ROOT, self.table).changed_at()
        return [name for name in self.early if not self.history.has_failed(name) and
                changed_at.get(name.partition(".")[0], 0) > self.history.passed_at(name)]


def duration(seconds):
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"


def print_targets(build, listing, regex):
    print(*Table(build).targets_matching(regex, read_list(listing)))


def print_first(build, listing):
    plan = Plan(build, read_list(listing))
    print(*plan.table.targets_for(plan.failed() + plan.affected()))


def print_stage(build, listing, jobs, which, *done):
    places = read_list(listing)
    plan = Plan(build, places)
    names = (plan.failed() if which == "failed" else
             plan.affected() if which == "affected" else
             plan.tests if which == "matching" else list(places))
    over = {case.get("name") for path in done for case in cases_of(path)}
    names = [name for name in names if name not in over]
    if not names:
        return
    # The three zeros: no range of numbers. ctest reads up to the end of the line.
    chosen = ",".join(str(places[name]) for name in names)
    (pathlib.Path(build) / "test_stage.txt").write_text(f"0,0,0,{chosen}\n", encoding="utf-8")
    headline = HEADLINES.get(which, "that remain" if over else "")
    seconds = plan.history.seconds(names, int(jobs))
    words = [f"{len(names)} test{'' if len(names) == 1 else 's'}", headline]
    print(" ".join(word for word in words if word) +
          ("" if seconds is None else f", {duration(seconds)}"))


def record(build, started, *results):
    history = History(build)
    for path in results:
        for case in cases_of(path):
            history.record(case.get("name"), verdict(case), float(case.get("time") or 0),
                           float(started))
    history.save()


if __name__ == "__main__":
    {"targets": print_targets, "first": print_first, "stage": print_stage,
     "record": record}[sys.argv[1]](*sys.argv[2:])
