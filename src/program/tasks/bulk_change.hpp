// SPDX-License-Identifier: MIT
// Changes of all tasks that match a filter: weir cancel, retry and delete without ids.
#pragma once

#include "program/command_line/options.hpp"
#include "program/command_line/settings.hpp"
#include "program/tasks/task_filter_options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::program {

struct bulk_settings {
    std::string queue;
    std::string state;
    std::string status;
    task_filter_settings filter;
    std::optional<std::uint64_t> limit;
    bool for_all = false;
    bool is_dry_run = false;
    bool is_confirmed = false;

    // Whether an option chooses tasks.
    bool has_condition() const noexcept;
};
void add_options(options& to, bulk_settings& settings);

// The operation's name in the API, and what has become of a task then.
struct bulk_words {
    std::string_view action;   // 'cancel'
    std::string_view outcome;  // 'cancelled'
};
// Shows how far the operation is on a terminal, and asks first. ^C stops the operation. Throws
// invalid_argument if it needs a confirmation and cannot ask for it.
int run_bulk_change(const remote_settings& to, const bulk_settings& settings, bulk_words words,
                    bool as_json);

}  // namespace weir::program
