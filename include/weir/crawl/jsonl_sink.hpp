// SPDX-License-Identifier: MIT
// One line of JSON for each settled page, in the order of settling. docs/crawl.md has the members.
#pragma once

#include <weir/crawl/file_sink.hpp>

#include <string>

namespace weir::crawl {

class jsonl_sink final : public file_sink {
public:
    // '-': standard output.
    explicit jsonl_sink(std::string path);
    void write(const page& settled) override;
};

// The line of a page, with its line end.
void append_json_line(std::string& to, const page_record& page);

}  // namespace weir::crawl
