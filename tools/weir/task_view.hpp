// SPDX-License-Identifier: MIT
// What weir watch shows: numbers, what runs with progress bars, and what has ended last.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace weir::program {

// A text of somebody else's for a terminal: on one line, without what terminals obey.
std::string shown(std::string_view text, std::size_t most = std::string_view::npos);

class task_view {
public:
    // Plain: each change is printed as a line at once, and there is no picture.
    task_view(std::string_view server, bool is_plain) : server_(server), is_plain_(is_plain) {}

    // A message of the feed. What it does not know it leaves alone.
    void take(const boost::json::value& message);
    void set_connected(bool is_so);
    void set_trouble(std::string_view words);

    // The whole screen, with the codes that clear it.
    std::string paint() const;

private:
    struct shown_task {
        std::string kind, queue, status, message, at;
        double progress = 0;
    };
    void take_task(const boost::json::value& task);
    void take_stats(const boost::json::value& stats);

    static constexpr std::size_t most_ended = 12;
    static constexpr std::size_t most_running = 20;

    std::string server_;
    bool is_plain_;
    bool is_connected_ = false;
    std::string trouble_;
    std::string numbers_;
    std::map<std::string, shown_task> open_;  // by id: in the order of submission
    std::deque<std::string> ended_;           // newest first
};

}  // namespace weir::program
