// SPDX-License-Identifier: MIT
// Texts that all stores share: how messages of handlers are kept, and errors that stores report.
#pragma once

#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::service::detail {

constexpr std::size_t max_error_bytes = 4000;
constexpr std::size_t max_message_bytes = 1000;

// The text as valid UTF-8 without NUL, in at most so many bytes: a longer text ends with '...', and
// invalid bytes become U+FFFD.
std::string storable_text(std::string_view text, std::size_t max_bytes);

// The error of a run whose process has ended, and of a task that has failed after that many
// crashes.
constexpr std::string_view crash_error = "the process that ran the task has ended";
std::string crash_limit_error(std::uint32_t crashes);

// The error of a task that no run has begun in time.
std::string expiry_error(timestamp expires_at);

// Which transaction is open, and for how long.
std::string text_of(const old_transaction& open);

// The error of a task that has as many steps, or bytes of them, as it may have.
std::string step_limit_error(std::string_view step);

[[noreturn]] void throw_too_many_queues(std::string_view queue, std::size_t max_queues);
[[noreturn]] void throw_too_many_keys(std::string_view queue);
[[noreturn]] void throw_too_many_worker_kinds();

}  // namespace weir::service::detail
