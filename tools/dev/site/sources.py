# SPDX-License-Identifier: MIT
"""Pages that show a source file or list a folder, for links from the documentation to them."""

import re

from links import source_target
from pages import Page

LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".cmake": "cmake"}


def source_page(root, path):
    full = root / path
    target = source_target(root, path)
    if full.is_dir():
        return Page(f"{path}/README.md", target,
                    f"# {full.name.capitalize()}\n\n{folder_page(full)}")
    return Page(path, target, f"# {path}\n\n{file_page(full)}")


def file_page(path):
    text = fenced(LANGUAGES.get(path.suffix, "text"), path.read_text(encoding="utf-8"))
    expected = path.with_suffix(".expected")
    if expected.exists():
        text += "It prints:\n\n" + fenced("output", expected.read_text(encoding="utf-8"))
    return text


def folder_page(path):
    rows = [f"| [{each.name}]({each.name}) | {headline(each)} |"
            for each in sorted(path.glob("*.cpp"))]
    return "\n".join(["| file | about |", "|---|---|", *rows, ""])


def headline(path):
    """The comment at the beginning of the file, without the licence."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if "SPDX" not in line:
            lines.append(line.removeprefix("//").strip())
    first = " ".join(lines).split(". ")[0]
    return re.sub(r"([<*|_\[])", r"\\\1", first)


def fenced(language, text):
    return f"````{language}\n{text.rstrip()}\n````\n\n"
