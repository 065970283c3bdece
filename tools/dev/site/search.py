# SPDX-License-Identifier: MIT
"""The index that search.js reads: a script, because browsers load no JSON from the disk."""

import json
import re


def search_index(pages):
    entries = []
    for page in pages:
        for section in page.sections:
            text = re.sub(r"\s+", " ", " ".join(section.text)).strip()
            first = section is page.sections[0]
            entries.append([page.target + ("" if first else "#" + section.anchor), page.title,
                            "" if first else section.title, text])
    return "weirSearch(" + json.dumps(entries, ensure_ascii=False, separators=(",", ":")) + ");\n"
