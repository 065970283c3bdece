# SPDX-License-Identifier: MIT
"""pip installs the package into a new environment, without the network, and it works from there."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

CLIENT = pathlib.Path(__file__).resolve().parent.parent
CAN_BUILD = textwrap.dedent("""
    import ensurepip, setuptools, venv
    try:
        import setuptools.command.bdist_wheel
    except ImportError:
        import wheel
""")
USES = textwrap.dedent("""
    import importlib.metadata, pathlib, sys
    import weir, weir.testing
    folder = pathlib.Path(weir.__file__).parent
    assert folder.is_relative_to(sys.prefix), folder
    assert (folder / "py.typed").exists()
    app = weir.Worker("http://127.0.0.1:9")
    @app.task("double")
    async def double(n: int):
        return 2 * n
    assert weir.testing.run(app, "double", {"n": 21}).result == 42
    assert not importlib.metadata.requires("weir")
    print(*sorted(each.name for each in folder.iterdir() if each.is_file()))
""")


def builder():
    """A Python that can build packages by itself."""
    for each in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(each) and subprocess.run([each, "-c", CAN_BUILD], check=False,
                                                   stderr=subprocess.DEVNULL).returncode == 0:
            return each
    return None


class Install(unittest.TestCase):
    def test_pip_installs_it(self):
        python = builder()
        if python is None:
            self.skipTest("no Python here has venv, setuptools and wheel")
        with tempfile.TemporaryDirectory() as folder:
            # A build writes into its folder.
            source = shutil.copytree(CLIENT, os.path.join(folder, "source"),
                                     ignore=shutil.ignore_patterns("tests", "__pycache__"))
            place = os.path.join(folder, "place")
            # setuptools is that of the system, since a new one would come from the network.
            self.run_in(folder, python, "-m", "venv", "--system-site-packages", place)
            installed = os.path.join(place, "bin", "python")
            self.run_in(folder, installed, "-m", "pip", "install", "--quiet", "--no-index",
                        "--no-build-isolation", source)
            shutil.rmtree(source)
            names = self.run_in(folder, installed, "-I", "-c", USES).split()
            self.assertEqual(names, sorted(each.name for each in (CLIENT / "src/weir").iterdir()
                                           if each.is_file()))

    def run_in(self, folder, *command):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PYTHON", "PIP_"))}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
