// SPDX-License-Identifier: MIT
// Kinds, queues and errors are texts from outside: control characters become blanks, so that none
// of them can forge a line.

#include "service/engine/failure_line.hpp"

#include "service/store/store_texts.hpp"

namespace weir::service::detail {

std::string failure_line(const task_record& task, std::uint32_t attempts, std::string_view error) {
    constexpr std::size_t max_shown_error = 300;
    std::string line = "task " + task.id.text() + " has failed: kind '" + task.kind + "', queue '" +
                       task.queue + "', " + std::to_string(attempts) +
                       (attempts == 1 ? " attempt: " : " attempts: ") +
                       storable_text(error, max_shown_error);
    for (char& each : line) {
        const auto code = static_cast<unsigned char>(each);
        if (code < 0x20 || code == 0x7f) {
            each = ' ';
        }
    }
    return line;
}

}  // namespace weir::service::detail
