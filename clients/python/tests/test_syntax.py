# SPDX-License-Identifier: MIT
"""The package keeps to Python 3.9, imports the standard library only, and is fully typed."""

import ast
import pathlib
import subprocess
import sys
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "src" / "weir"
# What is newer than 3.9, by name: attributes and imports that the parser cannot tell.
NEWER = {"TaskGroup", "ExceptionGroup", "pairwise", "ParamSpec",
         "TypeAlias", "UnionType", "anext", "aiter"}


class Sources(unittest.TestCase):
    def trees(self):
        for path in sorted(PACKAGE.glob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))

    def test_syntax_and_names(self):
        for path, tree in self.trees():
            future = any(isinstance(node, ast.ImportFrom) and node.module == "__future__"
                         for node in tree.body)
            self.assertTrue(future or path.name == "__init__.py", path)
            for node in ast.walk(tree):
                name = getattr(node, "attr", None) or getattr(node, "id", None)
                self.assertNotIn(name, NEWER, f"{path}:{getattr(node, 'lineno', 0)}")

    @unittest.skipIf(sys.version_info < (3, 10), "needs the list of modules of Python 3.10")
    def test_standard_library_only(self):
        for path, tree in self.trees():
            for node in ast.walk(tree):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    self.assertIn(name.partition(".")[0], sys.stdlib_module_names, path)

    def test_types(self):
        """Each function has types; mypy checks them where it is installed."""
        for path, tree in self.trees():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self.assertIsNotNone(node.returns, f"{path}:{node.lineno} {node.name}")
        if subprocess.run(["/usr/bin/python3", "-c", "import mypy"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            done = subprocess.run(["/usr/bin/python3", "-m", "mypy", "--strict", "--cache-dir",
                                   "/dev/null", str(PACKAGE)], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
