#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what tests the commands on the pages: how they are found, checked and run."""

import argparse
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import check_commands
import command_reader
import commands
import run_commands

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A service with one task, which is pending when it is asked for the first time.
SERVICE = '''#!/usr/bin/env python3
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    reads = 0

    def answer(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        if self.path != "/tasks/0abcdefghijkl":
            return self.answer(404, "none")
        Handler.reads += 1
        state = "completed" if Handler.reads > 1 else "pending"
        self.answer(200, '{"id":"0abcdefghijkl","queue":"a","state":"%s"}' % state)

    def do_POST(self):
        self.answer(202, '{"id":"0abcdefghijkl","state":"pending"}')

http.server.HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
'''


def found_in(text):
    return [each for block in commands.blocks_of("page", textwrap.dedent(text)) for each in block]


class Extraction(unittest.TestCase):
    def test_commands_with_comments_and_output(self):
        found = found_in("""
            Text
            ```sh
            ./dev run      # a comment
            curl http://x \\
                 -d '{"a":
                      1}'
            # {"id":1}
            # {"more":2}
            ```
            ```cpp
            not_this();
            ```
            ```sh
            cat > file <<'END'
            text
            END
            ls
            ```
            """)
        self.assertEqual([each.line for each in found], [4, 5, 15, 18])
        self.assertEqual(found[0].simple(), [["./dev", "run"]])
        self.assertEqual(found[1].simple()[0][:3], ["curl", "http://x", "-d"])
        self.assertEqual(found[1].output, ['{"id":1}', '{"more":2}'])
        self.assertEqual(found[2].text, "cat > file <<'END'\ntext\nEND")

    def test_several_commands_in_a_line(self):
        found = found_in("```sh\ncd 'a b' && ls | wc -l\n```\n")
        self.assertEqual(found[0].simple(), [["cd", "a b"], ["ls"], ["wc", "-l"]])

    def test_commands_in_the_text(self):
        found = list(commands.inline_commands("page", "Run\n`./dev fuzz\n[SECONDS]` or `weir`."))
        self.assertEqual([(each.line, each.text) for each in found], [(2, "./dev fuzz  SECONDS ")])


class Check(unittest.TestCase):
    def expect(self, text, *expected):
        checker = check_commands.Checker(ROOT)
        self.assertEqual(list(checker.problems(commands.Command("page", 1, text))), list(expected))

    def test_right_commands(self):
        for text in ("./dev test --preset asan -R mutex", "WEIR_SCHEDULES=10 ctest", ".ci/run",
                     "./dev install-deps docs", "cmake --preset gcc-release -DWEIR_UNITY=OFF",
                     "curl -X POST http://127.0.0.1:8080/tasks/$ID/cancel",
                     "curl http://127.0.0.1:8080/tasks -d '{}'"):
            self.expect(text)

    def test_wrong_commands(self):
        self.expect("./dev fly", "./dev has no command 'fly'")
        self.expect("./dev test --preset none", "there is no preset 'none'")
        self.expect("./dev test --unheard-of", "./dev test has no option --unheard-of")
        self.expect("./dev docs --pdf", "./dev docs has no option --pdf")
        self.expect("./dev install-deps no-such", "./dev install-deps does not know 'no-such'")
        self.expect("cmake --preset=none", "there is no preset 'none'")
        self.expect("cmake -DWEIR_NO_SUCH=ON", "CMake has no variable WEIR_NO_SUCH")
        self.expect("curl http://127.0.0.1:8080/task", "the API has no GET /task")
        self.expect("curl -X DELETE http://127.0.0.1:8080/tasks",
                    "the API has no DELETE /tasks")
        self.expect("tools/no_such", "there is no tools/no_such")
        self.expect("reboot", "check_commands.py does not know the program 'reboot'")


class Services(unittest.TestCase):
    def test_where_they_answer(self):
        for text, port in (("./dev run", 8080), ("./dev run   # http://127.0.0.1:90", 90),
                           ("weir serve --port 81", 81), ("weir serve --listen 127.0.0.1:82", 82),
                           ("podman run -p 83:8080 weir", 83)):
            command = commands.Command("page", 1, text)
            self.assertEqual(command_reader.service_address(command), f"http://127.0.0.1:{port}/")
        for text in ("weir serve --check", "weir status", "./dev test"):
            self.assertIsNone(command_reader.service_address(commands.Command("page", 1, text)))

    def test_workers(self):
        for text, expected in (("PYTHONPATH=a python3 clients/python/examples/greet.py", True),
                               ("node clients/node/examples/greet.mjs", True),
                               ("python3 -V", False), ("WEIR=1 ./dev test", False), ("A=1", False)):
            command = commands.Command("page", 1, text)
            self.assertEqual(command_reader.is_worker(command), expected, text)


@unittest.skipUnless(shutil.which("curl") and shutil.which("git"), "curl or git is missing")
class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run_page(self, text):
        folder = pathlib.Path(self.folder.name)
        origin = folder / "origin"
        origin.mkdir()
        text = textwrap.dedent(text).replace("PORT", str(self.port))
        (origin / "page.md").write_text(f"```sh\n{text}```\n", encoding="utf-8")
        (origin / "dev").write_text(SERVICE.replace("PORT", str(self.port)), encoding="utf-8")
        (origin / "dev").chmod(0o755)
        git = ["git", "-C", origin, "-c", "user.name=test", "-c", "user.email=test@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "test"]):
            subprocess.run([*git, *words], check=True)
        clone = run_commands.clone_into(origin, folder)
        environment = run_commands.environment_of(folder, clone)
        options = argparse.Namespace(skip=None, machine=False)
        return run_commands.run_page("page.md", origin, clone, environment, options)

    def test_a_service_and_its_task(self):
        self.assertEqual(self.run_page("""\
            ./dev run      # http://127.0.0.1:PORT
            curl http://127.0.0.1:PORT/tasks -d '{}'
            # {"id":"38f1v02s00000",...}
            curl http://127.0.0.1:PORT/tasks/38f1v02s00000
            # {"id":"38f1v02s00000",...,"state":"completed"}
            test -e page.md
            sudo reboot
            """), [4, 0, 1])
        self.assertFalse(command_reader.answers(f"http://127.0.0.1:{self.port}/"))

    def test_failures(self):
        self.assertEqual(self.run_page("""\
            ./dev run      # http://127.0.0.1:PORT
            curl http://127.0.0.1:PORT/nothing
            curl http://127.0.0.1:PORT/tasks -d '{}'
            # {"id":"38f1v02s00000",...,"state":"failed"}
            false
            """), [1, 3, 0])


if __name__ == "__main__":
    sys.exit(unittest.main())
