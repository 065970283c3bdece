# SPDX-License-Identifier: MIT
"""Writes a source with faults in it that are switched on by number when the program runs, so that
one build serves all of them.

    if (a < b)        if (weir_fault(7) ? static_cast<bool>(a <= b) : static_cast<bool>(a < b))
    f(a, b);          { if (weir_fault(8)) { f(b, a); } else { f(a, b); } }
    x = f();          { if (weir_fault(9)) { } else { x = f(); } }
    int x = y + 1;    int x = weir_fault(10) ? (y + 2) : (y + 1);

What belongs to a fault gets a line number that tells the fault, so that the compiler's errors do.
"""

from regions import CONDITION, STATEMENT

FIRST_LINE = 1_000_000  # fault N stands on line FIRST_LINE + N

HEADER = """// SPDX-License-Identifier: MIT
// Written by ./dev mutate and included into each source that has faults.
#pragma once
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weir_faults {

inline std::atomic<int> chosen{-1};  // -1: the environment was not read yet
inline std::atomic<unsigned char*> reached{nullptr};

inline void read_environment() noexcept {
    const char* record = std::getenv("WEIR_FAULT_RECORD");
    if (record != nullptr) {
        const int file = ::open(record, O_RDWR | O_CLOEXEC);
        void* map = file < 0 ? MAP_FAILED
                             : ::mmap(nullptr, %(count)d, PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) {
            reached = static_cast<unsigned char*>(map);
        }
        if (file >= 0) {
            ::close(file);
        }
    }
    const char* number = std::getenv("WEIR_FAULT");
    chosen = number == nullptr ? 0 : std::atoi(number);
}

}  // namespace weir_faults

inline bool weir_fault(int number) noexcept {
    int chosen = weir_faults::chosen.load(std::memory_order_relaxed);
    if (chosen < 0) {
        weir_faults::read_environment();
        chosen = weir_faults::chosen.load(std::memory_order_relaxed);
    }
    if (unsigned char* reached = weir_faults::reached.load(std::memory_order_relaxed)) {
        reached[number] = 1;
    }
    return chosen == number;
}
"""


def header(count):
    return HEADER % {"count": count}


class FaultySource:
    """One source; faults is a dict: number to fault."""

    def __init__(self, source, tokens, faults):
        self.source = source
        self.tokens = tokens
        self.of_region = {}
        for number, fault in sorted(faults.items()):
            self.of_region.setdefault((fault.region.first, fault.region.last), []).append(
                (number, fault))

    def text(self):
        return self.between(0, len(self.tokens), 0, len(self.source))

    def between(self, first, last, begin, end, skipped=None):
        """The tokens first to last, which stand at begin to end of the source."""
        written, place = [], begin
        index = first
        for region in sorted(self.of_region, key=lambda each: (each[0], -each[1])):
            if region == skipped or region[0] < index or region[1] > last:
                continue
            start, stop = self.span(region)
            written.append(self.source[place:start])
            written.append(self.with_faults(region, start, stop))
            place, index = stop, region[1]
        written.append(self.source[place:end])
        return "".join(written)

    def span(self, region):
        return self.tokens[region[0]].start, self.tokens[region[1] - 1].end

    def with_faults(self, region, start, stop):
        right = self.between(*region, start, stop, region)
        line = self.tokens[region[0]].line
        back = f"\n#line {line}\n"
        faults = self.of_region[region]
        form = faults[0][1].region.form
        if form == STATEMENT:
            opening = "".join(f"\n#line {FIRST_LINE + number}\nif (weir_fault({number})) "
                              f"{{ {fault.changed} }} else " for number, fault in faults)
            return f"{{ {opening}{{{back}{right} }} }}"
        before, after = ("static_cast<bool>(", ")") if form == CONDITION else ("(", ")")
        opening = "".join(f"\n#line {FIRST_LINE + number}\nweir_fault({number}) ? "
                          f"{before}{fault.changed}{after} : " for number, fault in faults)
        return f"({opening}{back}{before}{right}{after})"
