// SPDX-License-Identifier: MIT
// The result of posting a message, and the room for more.
#pragma once

#include <cstddef>
#include <limits>

namespace weir::ws {

enum class posted : unsigned char {
    queued,
    queued_dropping,  // queued, and older messages were dropped
    refused,          // the connection is closed, perhaps just now because it did not keep up
};

// The messages and bytes that can be posted before something is dropped or refused.
struct outbox_room {
    std::size_t messages = std::numeric_limits<std::size_t>::max();
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

}  // namespace weir::ws
