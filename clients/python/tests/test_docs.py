# SPDX-License-Identifier: MIT
"""The examples and the code on the pages run, and do what the pages say."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from service import Serve
from support import QUICK, Running, eventually

import weir

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "clients" / "python" / "examples"
SHOWN_URL = "http://127.0.0.1:8080"


def blocks(page, language="python"):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def block_with(page, words):
    found = [each for each in blocks(page) if words in each]
    assert len(found) == 1, (page, words, len(found))
    return found[0]


def code(path):
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^(#|//) SPDX.*\n", "", text)


class Pages(unittest.TestCase):
    def test_pages_show_the_example(self):
        for page in ("README.md", "docs/python.md"):
            self.assertEqual(blocks(page)[0], code(EXAMPLES / "greet.py"))
        node = code(ROOT / "clients/node/examples/greet.mjs")
        shown = blocks("docs/node.md", "js")[0]
        self.assertEqual(shown, re.sub(r'"../src/index.js"; // .*', '"weir";', node))

    def test_pages_show_the_background_tasks(self):
        example = code(EXAMPLES / "background.py")
        for part in re.split(r"\n\n\n", block_with("docs/python.md", '@app.task("crunch")')):
            if "@app.task" in part:
                self.assertIn(part, example)

    def test_every_block_is_python(self):
        for page in ("README.md", "docs/python.md"):
            for block in blocks(page):
                compile(block, page, "exec")

    def test_handlers_are_tested_as_shown(self):
        scope = {"__name__": "page"}
        exec(block_with("docs/python.md", 'return {"text"'), scope)
        exec(block_with("docs/python.md", "import weir.testing"), scope)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Serve(memory=True)
        cls.addClassCleanup(cls.service.close)
        cls.client = cls.service.client()
        cls.addClassCleanup(cls.client.close)

    def play(self, path, *command, arguments=()):
        """The example, with the address of the test's service, as a process in the background."""
        text = path.read_text(encoding="utf-8").replace(SHOWN_URL, self.service.url)
        text = text.replace("../src/", f"{path.parent.parent.as_uri()}/src/")
        with tempfile.NamedTemporaryFile("w", suffix=path.suffix, delete=False) as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)
        process = subprocess.Popen(
            [*command, file.name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def greeted(self):
        eventually(lambda: '"greet"' in self.service.ask("/workers"))
        return self.client.result(self.client.submit("greet", {"name": "Ada"}), 30)

    def test_greet(self):
        process = self.play(EXAMPLES / "greet.py", sys.executable)
        self.assertEqual(self.greeted(), {"text": "Hello, Ada!"})
        process.terminate()
        process.wait(10)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_greet_in_node(self):
        process = self.play(ROOT / "clients/node/examples/greet.mjs", "node")
        self.assertEqual(self.greeted(), {"text": "Hello, Ada!"})
        process.terminate()
        process.wait(10)

    def test_background(self):
        process = self.play(EXAMPLES / "background.py", sys.executable,
                            arguments=[self.service.url])
        self.assertEqual(process.communicate(timeout=30)[0].splitlines(), [
            "pending or running: True",
            "state: completed result: {'count': 3}",
            "times: True",
            "the same task: True result: 5",
            "error: process: argument 'data' is missing from the payload",
            "cancelled: True"])

    def test_submit_and_wait_as_shown(self):
        app = weir.Worker(self.service.url, timing=QUICK._replace(wait=1.0, read_margin=5.0))
        app.task("greet")(lambda name: f"Hello, {name}!")
        with Running(app):
            block = block_with("docs/python.md", "weir.Client(").replace(SHOWN_URL, self.service.url)
            exec(block, {"weir": weir})


if __name__ == "__main__":
    unittest.main()
