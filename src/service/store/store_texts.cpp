// SPDX-License-Identifier: MIT
// Exceptions have messages of any length and encoding, so they are copied character by character.

#include "service/store/store_texts.hpp"

#include "base/rfc3339.hpp"
#include "base/utf8.hpp"

#include <weir/service/store.hpp>

namespace weir::service::detail {

std::string storable_text(std::string_view text, std::size_t max_bytes) {
    constexpr std::string_view replacement = "\xef\xbf\xbd";
    constexpr std::string_view dots = "...";
    std::string kept;
    std::size_t size_before_dots = 0;  // the longest prefix that leaves room for the dots
    while (!text.empty()) {
        const std::size_t size = base::utf8_character_size(text);
        const bool is_valid = size != 0 && text.front() != '\0';
        const std::string_view next = is_valid ? text.substr(0, size) : replacement;
        if (kept.size() + next.size() > max_bytes) {
            kept.resize(size_before_dots);
            kept += dots;
            break;
        }
        kept += next;
        if (kept.size() + dots.size() <= max_bytes) {
            size_before_dots = kept.size();
        }
        text.remove_prefix(is_valid ? size : 1);
    }
    return kept;
}

std::string crash_limit_error(std::uint32_t crashes) {
    const char* const ending = crashes == 1   ? "st"
                               : crashes == 2 ? "nd"
                               : crashes == 3 ? "rd"
                                              : "th";
    return std::string(crash_error) + ", for the " + std::to_string(crashes) + ending + " time";
}

std::string expiry_error(timestamp expires_at) {
    return "expired: not started by " + base::to_rfc3339(expires_at);
}

std::string text_of(const old_transaction& open) {
    return "process " + std::to_string(open.process) + " of the PostgreSQL server (" +
           (open.application.empty() ? std::string("without a name") : open.application) +
           ") has had a transaction open for " + std::to_string(open.age.count()) + " s";
}

std::string step_limit_error(std::string_view step) {
    return "the step '" + std::string(step) + "' cannot be kept: a task has at most " +
           std::to_string(max_steps) + " steps, and " + std::to_string(max_task_step_bytes) +
           " bytes of results of them";
}

void throw_too_many_queues(std::string_view queue, std::size_t max_queues) {
    throw too_many_queues("the queue '" + std::string(queue) + "' would be one more than the " +
                          std::to_string(max_queues) + " that max_queues allows");
}

void throw_too_many_keys(std::string_view queue) {
    throw too_many_keys("the queue '" + std::string(queue) + "' has " +
                        std::to_string(max_keys_with_settings) +
                        " flow keys with settings already, as many as it may have");
}

void throw_too_many_worker_kinds() {
    throw too_many_worker_kinds("workers have registered " + std::to_string(max_worker_kinds) +
                                " kinds of tasks already, as many as there may be: delete some");
}

}  // namespace weir::service::detail
