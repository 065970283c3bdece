// SPDX-License-Identifier: MIT
// The progress of a move, on a terminal: one line that is written again and again.
#pragma once

#include "program/output/text.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace weir::program {

class move_line {
public:
    move_line() = default;
    move_line(const move_line&) = delete;
    move_line& operator=(const move_line&) = delete;
    ~move_line() {
        if (is_shown_) {
            std::fputs("\r\x1b[K", stderr);
        }
    }

    void show(std::uint64_t rows, std::uint64_t total, const std::string& what) {
        if (::isatty(STDERR_FILENO) == 1 && total > 0) {
            std::fprintf(stderr, "\r\x1b[K%3llu %%  %llu of %llu rows, %s",
                         static_cast<unsigned long long>(100 * rows / total),
                         static_cast<unsigned long long>(rows),
                         static_cast<unsigned long long>(total), shown(what, 200).c_str());
            is_shown_ = true;
        }
    }

private:
    bool is_shown_ = false;
};

}  // namespace weir::program
