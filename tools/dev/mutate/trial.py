# SPDX-License-Identifier: MIT
"""Switches each fault on and runs the tests that reach it until one fails."""

import concurrent.futures
import dataclasses

import sandbox
from test_cases import distance

MOST_SECONDS = 40  # of tests for one fault
MOST_TESTS = 400


@dataclasses.dataclass
class Outcome:
    number: int
    fault: object
    reaching: int       # tests that reach it
    run: int = 0        # tests that ran with it
    seen_by: str = ""   # the test that failed


def in_order(fault, cases):
    """Of each area the tests that are about little else, and fast, come first. The areas take
    turns, the nearest more often: a fault in a driver is reached by every test of the loop, and
    seen by those of the sockets."""
    areas = {}
    for case in cases:
        areas.setdefault(case.area, []).append(case)
    turns = []
    for of_area in areas.values():
        of_area.sort(key=lambda case: (case.seconds + 0.02) * (len(case.reached) + 5))
        turns += [(place * (1 + distance(fault, case)), distance(fault, case), place, case)
                  for place, case in enumerate(of_area, 1)]
    return [case for *_, case in sorted(turns, key=lambda turn: turn[:3])]


def try_fault(number, fault, cases):
    reaching = [case for case in cases if number in case.reached]
    outcome = Outcome(number, fault, len(reaching))
    spent = 0.0
    for case in in_order(fault, reaching)[:MOST_TESTS]:
        limit = 5 * case.seconds + 3  # a test that hangs has seen the fault
        if spent + case.seconds > MOST_SECONDS:
            continue
        outcome.run += 1
        is_good, seconds = sandbox.run(case.arguments(), case.folder, {"WEIR_FAULT": str(number)},
                                       limit)
        spent += seconds
        if not is_good and sandbox.run(case.arguments(), case.folder, {}, 2 * limit)[0]:
            outcome.seen_by = case.full_name()
            break
    return outcome


def try_all(faults, cases, jobs, progress):
    """The outcomes, in the order of the faults, which are a dict: number to fault."""
    def try_one(task):
        place, (number, fault) = task
        outcome = try_fault(number, fault, cases)
        progress(place + 1, outcome)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(try_one, enumerate(faults.items())))
