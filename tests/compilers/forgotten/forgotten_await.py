#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each call of forgotten_calls.cpp, whose co_await was forgotten, is a warning that says what to write.

Usage: forgotten_await.py SOURCE COMPILER [ARGUMENT...]
"""

import pathlib
import re
import subprocess
import sys


def main():
    source, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    lines = source.read_text().splitlines()
    begin, end = lines.index("    // begin"), lines.index("    // end")
    done = subprocess.run([*command, "-fsyntax-only", str(source)], capture_output=True, text=True)
    warnings = {}
    for number, text in re.findall(rf"{re.escape(source.name)}:(\d+):\d+: warning: (.*)", done.stderr):
        warnings.setdefault(int(number), []).append(text)
    silent = [
        f"{number}: {line.strip()}: {'; '.join(warnings.get(number, ['no warning']))}"
        for number, line in enumerate(lines[begin + 1 : end], begin + 2)
        if not any("await" in text.partition("nodiscard")[2] for text in warnings.get(number, []))
    ]
    print("\n".join(silent) or f"{end - begin - 1} warnings")
    if done.returncode != 0:
        print(done.stderr)
    return 1 if silent or done.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
