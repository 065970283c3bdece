# SPDX-License-Identifier: MIT
"""How payloads become arguments, and the outcomes of runs, with weir.testing."""

import asyncio
import random
import time
import unittest
from typing import List, Optional, Union

from support import QUICK

import weir
import weir.testing


def app():
    return weir.Worker("http://127.0.0.1:9", timing=QUICK)


class Arguments(unittest.TestCase):
    def setUp(self):
        self.app = app()

    def run_(self, function, payload, **more):
        self.app.task("kind")(function)
        outcome = weir.testing.run(self.app, "kind", payload, **more)
        del self.app.handlers["kind"]
        return outcome

    def refusal(self, function, payload):
        outcome = self.run_(function, payload)
        self.assertEqual(outcome.state, "failed", outcome)
        self.assertTrue(outcome.is_permanent)
        return outcome.error

    def test_object_becomes_keyword_arguments(self):
        async def resize(job: weir.Job, path: str, width: int = 100):
            return [job.kind, path, width]
        self.assertEqual(self.run_(resize, {"path": "a"}).result, ["kind", "a", 100])
        self.assertEqual(self.run_(resize, {"width": 3, "path": "a"}).result, ["kind", "a", 3])

    def test_other_payloads_are_the_only_argument(self):
        def only(value):
            return value
        for payload in (1, "text", [1, 2], True, 0.5):
            self.assertEqual(self.run_(only, payload).result, payload)

    def test_whole_objects(self):
        def named(payload):
            return payload

        def rest(job, **members):
            return members
        for function in (named, rest):
            self.assertEqual(self.run_(function, {"a": 1}).result, {"a": 1})

    def test_no_payload(self):
        self.assertEqual(self.run_(lambda: "done", None).result, "done")
        self.assertEqual(self.run_(lambda value=3: value, None).result, 3)
        self.assertIsNone(self.run_(lambda value: value, None).result)

    def test_refusals_name_the_argument(self):
        async def resize(job: weir.Job, path: str, width: int = 100):
            return None
        for payload, expected in (
                ({}, "kind: argument 'path' is missing from the payload"),
                ({"path": "a", "hight": 1},
                 "kind: the payload has 'hight', which is no argument; expected path, width"),
                ({"path": 5}, "kind: argument 'path' is the number 5, expected a text"),
                ({"path": "a", "width": True},
                 "kind: argument 'width' is true, expected a whole number"),
                ({"path": "a", "width": None},
                 "kind: argument 'width' is null, expected a whole number"),
                ([1], "kind: the payload is an array, expected an object with path, width")):
            self.assertEqual(self.refusal(resize, payload), expected)

    def test_unions(self):
        def either(a: Optional[int] = None, b: Union[str, float] = "", c: Optional[List[int]] = None):
            return True
        for good in ({"a": None}, {"a": 1}, {"b": 1}, {"b": 1.5}, {"b": "x"}, {"c": [1]}):
            self.assertTrue(self.run_(either, good).result)
        self.assertIn("argument 'a'", self.refusal(either, {"a": "x"}))
        self.assertIn("a text or a number", self.refusal(either, {"b": []}))

    def test_random_signatures(self):
        """A payload is refused exactly if Python would refuse the call."""
        rng = random.Random(7)
        for _ in range(300):
            names = rng.sample("abcdef", rng.randint(2, 5))
            required = rng.randint(0, len(names))
            text = ", ".join(names[:required] + [f"{name}=0" for name in names[required:]])
            if rng.random() < 0.2:
                text += ", **rest"
            scope = {}
            exec(f"def handler({text}): return sorted(locals().items(), key=repr)", scope)
            payload = {name: 1 for name in rng.sample("abcdefg", rng.randint(0, 7))}
            try:
                expected = scope["handler"](**payload)
            except TypeError:
                self.refusal(scope["handler"], payload)
            else:
                outcome = self.run_(scope["handler"], payload)
                self.assertEqual([tuple(each) for each in outcome.result], expected)

    def test_registration_errors(self):
        for wrong in (lambda: self.app.task(""), lambda: self.app.task("a", timeout=0),
                      lambda: self.app.task("a", concurrency=0),
                      lambda: weir.Worker("127.0.0.1:80"),
                      lambda: weir.Worker("http://h", token="a b"),
                      lambda: weir.Worker("http://h", concurrency=0),
                      lambda: weir.RetryLater(-1), lambda: weir.Postpone("x", float("nan"))):
            with self.assertRaises(ValueError):
                wrong()
        self.app.task("kind")(lambda: None)
        with self.assertRaisesRegex(ValueError, "has a handler already"):
            self.app.task("kind")(lambda: None)
        with self.assertRaisesRegex(TypeError, "positional-only"):
            self.app.task("other")(eval("lambda a, /: a"))

        async def coroutine():
            return None
        with self.assertRaisesRegex(ValueError, "plain functions"):
            self.app.task("third", processes=2)(coroutine)


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.app = app()

    def outcome(self, error):
        """The same from a coroutine and a plain function."""
        @self.app.task("plain")
        def plain():
            raise error

        @self.app.task("coroutine")
        async def coroutine():
            raise error
        both = [weir.testing.run(self.app, kind) for kind in ("plain", "coroutine")]
        self.app.handlers.clear()
        self.assertEqual(both[0].state, both[1].state)
        return both[0]

    def test_exceptions(self):
        failed = self.outcome(ValueError("bad size"))
        self.assertEqual((failed.state, failed.is_permanent), ("failed", False))
        self.assertTrue(failed.error.startswith("ValueError: bad size\n"), failed.error)
        self.assertIn("in plain", failed.error)
        self.assertNotIn("src/weir", failed.error)
        self.assertTrue(self.outcome(weir.Permanent("no such file")).is_permanent)
        self.assertEqual(self.outcome(weir.RetryLater(30)).retry_after, 30)
        postponed = self.outcome(weir.Postpone("busy", 5))
        self.assertEqual((postponed.state, postponed.reason, postponed.by), ("postponed", "busy", 5))
        self.assertEqual(self.outcome(asyncio.CancelledError()).state, "failed")
        self.assertLess(len(self.outcome(ValueError("é" * 9000)).error.encode()), 4000)

    def test_cancel(self):
        @self.app.task("coroutine")
        async def coroutine(job, answer: bool):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if answer:
                    return "all the same"
                raise

        @self.app.task("plain")
        def plain(job, answer: bool):
            while not job.is_cancelled:
                time.sleep(0.001)
            if answer:
                return "all the same"
            job.check()
        for kind in ("coroutine", "plain"):
            stopped = weir.testing.run(self.app, kind, {"answer": False}, cancel_after=0.02)
            self.assertEqual(stopped.state, "cancelled")
            done = weir.testing.run(self.app, kind, {"answer": True}, cancel_after=0.02)
            self.assertEqual(done.result, "all the same")

    def test_timeout(self):
        @self.app.task("slow", timeout=0.02)
        async def slow():
            await asyncio.sleep(60)
        outcome = weir.testing.run(self.app, "slow")
        self.assertEqual((outcome.state, outcome.error), ("failed", "timed out after 0.02 s"))

    def test_steps_and_progress(self):
        calls = []

        @self.app.task("order")
        async def order(job: weir.Job):
            await job.progress(0.5, "half")
            first = await job.step("first", lambda: calls.append("first") or (1, 2))

            async def charge(amount):
                calls.append("charge")
                return amount
            return [first, await job.step("charge", charge, 5), await job.step("charge", charge, 6)]

        @self.app.task("plain")
        def plain(job: weir.Job):
            job.progress(1.5)
            return job.step("first", lambda: calls.append("first") or 1)
        outcome = weir.testing.run(self.app, "order")
        self.assertEqual(outcome.result, [[1, 2], 5, 5])   # a tuple is a list, as in a later run
        self.assertEqual((calls, outcome.progress), (["first", "charge"], [(0.5, "half")]))
        again = weir.testing.run(self.app, "order", steps=outcome.steps)
        self.assertEqual((again.result, calls), ([[1, 2], 5, 5], ["first", "charge"]))
        self.assertEqual(weir.testing.run(self.app, "plain", steps={"first": None}).result, None)
        self.assertEqual(weir.testing.run(self.app, "plain").progress, [(1.0, "")])

    def test_in_a_loop(self):
        self.app.task("plain")(lambda value: value)
        outcome = asyncio.run(weir.testing.run_async(self.app, "plain", {"value": 2}))
        self.assertEqual(outcome.result, 2)
        with self.assertRaisesRegex(KeyError, "no handler for 'other'; there are plain"):
            weir.testing.run(self.app, "other")


if __name__ == "__main__":
    unittest.main()
