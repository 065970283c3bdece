// SPDX-License-Identifier: MIT
// Each column is as wide as its widest field. Where that is too much, the widest columns of text
// lose what is missing, down to a few columns each; what is still too long is cut at the edge.

#include "program/output/table.hpp"

#include "program/output/terminal.hpp"
#include "program/output/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace weir::program {

namespace {

constexpr std::size_t column_gap = 2;
constexpr std::size_t least_text_width = 6;

std::string aligned_right(const std::string& text, std::size_t columns) {
    const std::size_t width = width_of(text);
    return std::string(columns - std::min(columns, width), ' ') + text;
}

}  // namespace

void table::add(const std::vector<std::string>& fields) {
    std::vector<std::string>& row = rows_.emplace_back();
    for (const std::string& each : fields) {
        row.push_back(shown(each));
    }
    row.resize(columns_.size());
}

void table::print() const {
    if (is_terminal(STDOUT_FILENO)) {
        print_aligned(size_of_terminal(STDOUT_FILENO).columns);
        return;
    }
    for (const std::vector<std::string>& row : rows_) {
        std::string line;
        for (const std::string& each : row) {
            line += (&each == &row.front() ? "" : "\t") + each;
        }
        std::puts(line.c_str());
    }
}

std::vector<std::size_t> table::widths(std::size_t terminal_columns) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t widest = columns_[i].heading.size();
        for (const std::vector<std::string>& row : rows_) {
            widest = std::max(widest, width_of(row[i]));
        }
        all.push_back(widest);
    }
    const std::size_t gaps = column_gap * (columns_.size() - 1);
    while (std::accumulate(all.begin(), all.end(), gaps) > terminal_columns) {
        std::size_t* widest = nullptr;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].kind == fit::text && all[i] > least_text_width &&
                (widest == nullptr || all[i] > *widest)) {
                widest = &all[i];
            }
        }
        if (widest == nullptr) {
            break;
        }
        --*widest;
    }
    return all;
}

void table::print_aligned(std::size_t terminal_columns) const {
    const std::vector<std::size_t> columns = widths(terminal_columns);
    const auto print_row = [&](const auto& field) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            line += i == 0 ? "" : std::string(column_gap, ' ');
            line += columns_[i].kind == fit::number ? aligned_right(field(i), columns[i])
                                                    : in_columns(field(i), columns[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::puts(at_most(line, terminal_columns).c_str());
    };
    print_row([&](std::size_t i) { return std::string(columns_[i].heading); });
    for (const std::vector<std::string>& row : rows_) {
        print_row([&](std::size_t i) { return row[i]; });
    }
}

}  // namespace weir::program
