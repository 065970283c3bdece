// SPDX-License-Identifier: MIT
// The link graph of a crawl: a line for each link of each page, with the page, the URL that the
// link leads to, its kind and its place.
#pragma once

#include <weir/crawl/file_sink.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl {

enum class graph_format : std::uint8_t { jsonl, csv, dot, graphml };

// By the end of the name: '.csv', '.dot' or '.gv', '.graphml'; any other is jsonl.
graph_format graph_format_of(std::string_view path) noexcept;

// DOT and GraphML get their last line when the sink is closed, and lose it when it is opened again.
class graph_sink final : public file_sink {
public:
    explicit graph_sink(std::string path);
    graph_sink(std::string path, graph_format format);
    void write(const page& settled) override;

private:
    graph_format format_;
};

}  // namespace weir::crawl
