// SPDX-License-Identifier: MIT
// What became of a message that was posted, and how many more can be.
#pragma once

#include <cstddef>
#include <limits>

namespace weir::ws {

enum class posted : unsigned char {
    queued,
    queued_dropping,  // and older ones had to go
    refused,          // the connection is closed, or was now because it did not keep up
};

// What can be posted before something is dropped or refused.
struct outbox_room {
    std::size_t messages = std::numeric_limits<std::size_t>::max();
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

}  // namespace weir::ws
