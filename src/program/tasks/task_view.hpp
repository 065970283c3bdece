// SPDX-License-Identifier: MIT
// The screen of weir watch: rates, running tasks with progress bars, recently ended tasks.
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
    // Plain: each change is printed as a line at once, and nothing is painted.
    task_view(std::string_view server, bool is_plain);

    // Applies a message of the feed; unknown types are ignored.
    void take(const boost::json::value& message);
    void set_connected(bool is_connected);
    void set_problem(std::string_view message);

    // The whole screen with the escape codes that write it over the last one.
    std::string paint(std::size_t columns, std::size_t rows) const;

private:
    struct shown_task {
        std::string kind, queue, status, message, at;
        double progress = 0;
    };
    void take_task(const boost::json::value& task);
    void take_stats(const boost::json::value& stats);

    static constexpr std::size_t max_ended = 100;

    std::string server_;
    bool is_plain_;
    bool is_connected_ = false;
    bool was_connected_ = false;
    std::string problem_;
    std::string printed_;  // the last problem that was printed
    std::string numbers_;
    std::map<std::string, shown_task> open_;  // by id, which is the order of submission
    std::deque<std::string> ended_;           // newest first
};

}  // namespace weir::program
