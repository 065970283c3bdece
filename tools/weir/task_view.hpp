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

class task_view {
public:
    // Plain: each change is printed as a line at once, and there is no picture.
    task_view(std::string_view server, bool is_plain);

    // A message of the feed. What it does not know it leaves alone.
    void take(const boost::json::value& message);
    void set_connected(bool is_so);
    void set_trouble(std::string_view words);

    // The whole screen, of that size, with the codes that write it over the last one.
    std::string paint(std::size_t columns, std::size_t rows) const;

private:
    struct shown_task {
        std::string kind, queue, status, message, at;
        double progress = 0;
    };
    void take_task(const boost::json::value& task);
    void take_stats(const boost::json::value& stats);

    static constexpr std::size_t most_ended = 100;

    std::string server_;
    bool is_plain_;
    bool is_connected_ = false;
    bool was_connected_ = false;
    std::string trouble_;
    std::string told_;  // the trouble that was printed last
    std::string numbers_;
    std::map<std::string, shown_task> open_;  // by id: in the order of submission
    std::deque<std::string> ended_;           // newest first
};

}  // namespace weir::program
