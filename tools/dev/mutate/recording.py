# SPDX-License-Identifier: MIT
"""Runs each test once without a fault and notes which faults it reaches and how long it takes. Tests
that fail or take long are left out: they say nothing about a fault."""

import concurrent.futures
import os
import tempfile

import sandbox

LONGEST = 20  # seconds


def record(cases, numbers, jobs, progress):
    """The tests that reach a fault, and those that are left out because they fail. Progress is
    called with the number of tests that are done."""
    with tempfile.TemporaryDirectory(prefix="weir_mutate_") as folder:
        def record_one(task):
            place, case = task
            file = os.path.join(folder, str(place))
            with open(file, "wb") as empty:
                empty.truncate(max(numbers) + 1)
            is_good, case.seconds = sandbox.run(case.arguments(), case.folder,
                                                {"WEIR_FAULT_RECORD": file}, LONGEST)
            with open(file, "rb") as marks:
                reached = marks.read()
            os.remove(file)
            case.reached = frozenset(number for number in numbers if reached[number])
            progress(place + 1)
            return is_good

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            are_good = list(pool.map(record_one, enumerate(cases)))
    return ([case for case, is_good in zip(cases, are_good) if is_good and case.reached],
            [case for case, is_good in zip(cases, are_good) if not is_good])
