// SPDX-License-Identifier: MIT
// Shows how a crawl gets on: a block that is painted again and again on a terminal, lines
// otherwise.
#pragma once

#include <weir/crawl/crawler.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

struct crawl_progress_settings {
    std::string mode = "auto";   // auto, lines, json or none
    std::uint64_t expected = 0;  // pages, if that is known: a limit
    bool is_list = false;        // what is pending is all that comes
};

class crawl_progress_view {
public:
    crawl_progress_view(const crawl::crawler& of, const crawl_progress_settings& settings);

    // Until it is cancelled.
    task<> run();
    // Says that the crawl drains.
    void show_stopping();
    // Removes the block from the terminal.
    void clear();

private:
    enum class mode : unsigned char { block, lines, json, none };
    struct rates {
        double pages = 0;
        double bytes = 0;
    };
    static mode mode_of(std::string_view name);
    void paint();
    void print_json(const crawl::crawl_progress& now, const rates& per_second) const;
    std::vector<std::string> block_of(const crawl::crawl_progress& now,
                                      const rates& per_second) const;
    std::string remaining(const crawl::crawl_progress& now) const;
    void print_block(const std::vector<std::string>& lines);

    const crawl::crawler& crawler_;
    crawl_progress_settings settings_;
    mode mode_;
    bool is_stopping_ = false;
    bool has_colors_;
    std::vector<std::size_t> on_screen_;  // columns of the lines that were printed
    std::uint64_t last_fetched_ = 0;
    std::uint64_t last_bytes_ = 0;
    clock::duration last_time_{};
};

// '1.2 MB', '12 s': for people.
std::string bytes_text(double bytes);
std::string time_span_text(clock::duration time);
// The lines at the end of a run.
std::string summary_text(const crawl::crawl_summary& summary);

}  // namespace weir::program
