// SPDX-License-Identifier: MIT
// What few fibers have, kept out of the fiber block.
#pragma once

#include <weir/detail/done_callbacks.hpp>
#include <weir/detail/fiber.hpp>
#include <weir/detail/request_reason.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <stop_token>
#include <string>
#include <vector>

namespace weir::detail {

struct context_values;

struct fiber_extras {
    std::string name;
    std::uint64_t number = 0;           // of a generated name; 0: none yet
    request_reason reason;              // of requests to stop the whole fiber
    std::exception_ptr injected_error;  // to be thrown where a stop destroyed the callee
    done_callbacks<fiber> callbacks;
    context_values* context = nullptr;  // task-local values; owned
    std::unique_ptr<std::stop_source> stop_source;
    std::source_location created;  // debug mode: where it was spawned
};

struct group_errors {
    std::vector<std::exception_ptr> list;
};

}  // namespace weir::detail
