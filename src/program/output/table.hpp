// SPDX-License-Identifier: MIT
// table: rows on standard output. On a terminal they are aligned under headings and cut to its
// width; elsewhere each row is a line with a tab between its fields, whole and without headings.
//
//     table queues({{"queue"}, {"pending", table::fit::number}});
//     queues.add({"mail", "12"});
//     queues.print();
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::program {

class table {
public:
    enum class fit : unsigned char {
        text,    // may be cut where the terminal is too narrow
        whole,   // is never cut
        number,  // the same, aligned to the right
    };
    struct column {
        std::string_view heading;
        fit kind = fit::text;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

    // A field for each column, as the service sent it: the table makes it safe for terminals.
    void add(const std::vector<std::string>& fields);
    bool empty() const noexcept { return rows_.empty(); }
    void print() const;

private:
    void print_aligned(std::size_t terminal_columns) const;
    std::vector<std::size_t> widths(std::size_t terminal_columns) const;

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir::program
