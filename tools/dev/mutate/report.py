# SPDX-License-Identifier: MIT
"""What ./dev mutate prints: survivors with place and change, and how many were seen."""

import collections

from accepted import identity


def area_of(fault):
    """src/service/engine; sources of other layers have the tests of the layer."""
    return "/".join(fault.file.split("/")[:3 if fault.file.startswith("src/service/") else 2])


def survivor(outcome):
    fault = outcome.fault
    file, _, rest = identity(fault).partition(" ")
    tests = ("no test reaches it" if not outcome.reaching else
             f"{outcome.run} of {outcome.reaching} tests that reach it ran")
    return f"{file}:{fault.line} {rest}\n    fault {outcome.number}: {tests}"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def lines(outcomes):
    """The lines of the report; the last one has the counts."""
    survivors = [outcome for outcome in outcomes if not outcome.seen_by]
    for outcome in sorted(survivors, key=lambda each: (each.fault.file, each.fault.line)):
        yield survivor(outcome)
    if survivors:
        yield ""
    total, seen = collections.Counter(), collections.Counter()
    for outcome in outcomes:
        for name in (area_of(outcome.fault), f"({outcome.fault.kind})"):
            total[name] += 1
            seen[name] += bool(outcome.seen_by)
    for name in sorted(total, key=lambda each: (each[0] == "(", each)):
        yield f"{name:24} {seen[name]:4} of {total[name]:4} seen  {percent(seen[name], total[name])}"
    count = len(outcomes) - len(survivors)
    yield f"{count} of {len(outcomes)} faults seen ({percent(count, len(outcomes))})"
