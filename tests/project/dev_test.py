#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev says what it does and, in one sentence, why it cannot: tried on a copy of the script in an
empty folder, with programs that stand in for apt-get, the compiler, CMake and others."""

import os
import pathlib
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()

CMAKE = '''\
    case "$*" in
        --version) echo "cmake version 3.25.1" ;;
        *--build*)
            mkdir -p build/gcc-release/tools/weir
            cp weir build/gcc-release/tools/weir/weir
            echo "[1/4 0.4] Building a.o"
            echo "[2/4 4.0] Building b.o"
            echo "[3/4 9.0] Building c.o"
            echo "[4/4 12.5] Linking weir"
            ;;
        *) echo "-- weir: configured"; echo "-- other" ;;
    esac
'''
APT_OFFLINE = '''\
    case "$*" in
        *update*)
            echo "W: Failed to fetch http://packages.invalid/  Temporary failure resolving"
            ;;
        *) echo "E: Unable to locate package ninja-build"; exit 100 ;;
    esac
'''


# What ./dev may use without installing it.
TOOLS = ("awk", "bash", "cat", "cp", "date", "df", "dirname", "env", "grep", "head", "id", "mkdir",
         "nproc", "python3", "rm", "sed", "sort", "tail", "timeout", "touch")


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "weir"
        shutil.copytree(ROOT / "tools/dev", self.root / "tools/dev",
                        ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "dev", self.root / "dev")
        self.bin = pathlib.Path(folder.name) / "bin"
        self.bin.mkdir()
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))
        # What a build needs is there, whatever this machine has.
        for packages in (self.root / "tools/dev/packages").glob("*.txt"):
            packages.write_text("ninja-build ninja\ng++ g++\n", encoding="utf-8")
        for name in ("ninja", "sudo", "apt-get"):
            self.stand_in(name, "true")
        self.stand_in("g++", "echo 12.2.0")
        self.stand_in("cmake", CMAKE)
        self.stand_in("df", self.disk(50_000_000))

    @staticmethod
    def disk(free):
        return f'echo "Filesystem"; echo "/dev/disk 90000000 1 {free} 1% /"'

    def stand_in(self, name, script):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text("#!/bin/bash\n" + textwrap.dedent(script) + "\n", encoding="utf-8")
        path.chmod(0o755)

    def hide(self, name):
        (self.bin / name).unlink(missing_ok=True)

    def environment(self):
        return {"PATH": str(self.bin), "HOME": str(self.root), "TERM": "xterm", "WEIR_JOBS": "2"}

    def dev(self, *words):
        return subprocess.run([self.root / "dev", *words], cwd=self.root, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=50, check=False)

    def refuses(self, sentence, *words):
        """./dev fails, and its last line is the sentence, or has all of them if it is a list."""
        done = self.dev(*words)
        self.assertNotEqual(done.returncode, 0)
        last = done.stderr.strip().splitlines()[-1]
        for part in [sentence] if isinstance(sentence, str) else sentence:
            self.assertIn(part, last, done.stderr)
        return done

    def serve_nothing(self):
        (self.root / "weir").write_text("#!/bin/bash\necho \"weir $*\"\n", encoding="utf-8")
        (self.root / "weir").chmod(0o755)

    def test_run_says_what_it_does(self):
        self.serve_nothing()
        done = self.dev("run", "--port", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), [
            "[1/4] Packages",
            "[2/4] Configuring",
            "-- weir: configured",
            "[3/4] Building the program, about 2 min from nothing",
            "[1/4] Building a.o",
            "[2/4] Building b.o",
            "[3/4] Building c.o",
            "[4/4] Linking weir",
            "[4/4] Starting the service; ^C stops it, and its tasks stay in build/run/tasks.db",
        ])
        self.assertEqual(done.stdout, "weir serve --database build/run/tasks.db --port 0\n")
        self.assertNotIn("from nothing", self.dev("run", "--port", "0").stderr)

    def test_a_terminal_shows_the_time_left(self):
        self.serve_nothing()
        ours, theirs = pty.openpty()
        with subprocess.Popen([self.root / "dev", "run", "--port", "0"], cwd=self.root,
                              env=self.environment(), stdin=theirs, stdout=theirs,
                              stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            try:
                while more := os.read(ours, 4096):
                    shown += more
            except OSError:
                pass  # the other end is closed
            process.wait(timeout=50)
        os.close(ours)
        self.assertIn("75 % (3 of 4), about 3 s left: Building c.o", shown.decode())

    def test_a_busy_port(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
            for words in (["--port", port], ["-l", f"localhost:{port}"], [f"--listen={port}"]):
                self.refuses(f"another program uses port {port}", "run", *words)

    def test_a_full_disk(self):
        self.stand_in("df", self.disk(5 * 1024))
        self.refuses("the disk is too full: 5 MB are free", "run", "--port", "0")

    def test_a_disk_that_gets_full(self):
        self.stand_in("cmake", CMAKE.replace(
            'echo "[1/4 0.4] Building a.o"',
            'echo "cc1plus: fatal error: a.o: No space left on device"; exit 1'))
        done = self.dev("run", "--port", "0")
        self.assertIn("dev: the disk is full: make room on / and run the command again",
                      done.stderr)

    def test_no_compiler(self):
        self.hide("g++")
        self.hide("apt-get")
        self.refuses(["there is no apt-get here", "g++"], "run", "--port", "0")

    def test_an_old_compiler(self):
        self.stand_in("g++", "echo 10.2.1")
        self.refuses("the compiler is too old: g++ is version 10.2.1, and Weir needs 12 or newer",
                     "run", "--port", "0")

    def test_an_old_cmake(self):
        self.stand_in("cmake", 'echo "cmake version 3.18.4"')
        self.refuses("CMake is too old: it is version 3.18.4", "test")

    def test_no_root_and_no_sudo(self):
        self.hide("ninja")
        self.hide("sudo")
        self.stand_in("id", "echo 1000")
        self.refuses(["installing needs root", "apt-get install ninja-build"], "run", "--yes",
                     "--port", "0")

    def test_sudo_refuses(self):
        self.hide("ninja")
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", 'echo "sudo: a password is required" >&2; exit 1')
        self.refuses(["installing needs root", "apt-get install ninja-build"], "run", "--yes",
                     "--port", "0")

    def test_no_network(self):
        self.hide("ninja")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", APT_OFFLINE)
        self.refuses(["no network: apt-get cannot reach the package sources", "ninja-build"],
                     "run", "--yes", "--port", "0")

    def test_other_troubles_of_apt(self):
        self.hide("ninja")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "echo 'E: Unable to locate package ninja-build'; exit 100")
        self.refuses("the package sources do not have all packages", "run", "--yes", "--port", "0")
        self.stand_in("apt-get", "echo 'E: write: No space left on device'; exit 100")
        self.refuses("the disk is full", "run", "--yes", "--port", "0")
        self.stand_in("apt-get", "echo 'E: something else'; exit 100")
        done = self.refuses("apt-get failed", "run", "--yes", "--port", "0")
        self.assertIn("something else", done.stderr)

    def test_installs_only_after_an_answer(self):
        self.hide("ninja")
        self.stand_in("apt-get", "touch called")
        self.refuses("nothing installed; missing: ninja-build", "run", "--port", "0")
        self.assertFalse((self.root / "called").exists())

    def test_a_build_that_fails_is_one_failure(self):
        self.stand_in("cmake", 'case "$*" in --version) echo "cmake version 3.25.1" ;; *) exit 1 ;;'
                               " esac")
        done = self.dev("test")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1:], ["0 passed, 1 failed, 0 skipped"])

    def test_a_command_tells_what_it_does(self):
        for name in ("test", "fuzz", "install-deps"):
            done = self.dev(name, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"  {name} ["), done.stdout)
        self.refuses("unknown command 'nonsense'", "nonsense", "--help")


if __name__ == "__main__":
    unittest.main()
