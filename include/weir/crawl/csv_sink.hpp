// SPDX-License-Identifier: MIT
// One line of CSV (RFC 4180) for each settled page, after a line with the names of the columns.
#pragma once

#include <weir/crawl/file_sink.hpp>

#include <string>
#include <string_view>

namespace weir::crawl {

class csv_sink final : public file_sink {
public:
    // '-': standard output.
    explicit csv_sink(std::string path);
    void write(const page& settled) override;
};

// The names of the columns, and the line of a page, with line ends.
std::string_view csv_header() noexcept;
void append_csv_line(std::string& to, const page_record& page);

}  // namespace weir::crawl
