// SPDX-License-Identifier: MIT
// What a subscription brings.
#pragma once

#include <string>

namespace weir::redis {

struct message {
    std::string channel;
    std::string pattern;  // that the channel fits, if the subscription is to a pattern
    std::string payload;
    // The connection was lost and is there again: what was published meanwhile is not known. Such a
    // message has nothing else in it.
    bool missed = false;

    friend bool operator==(const message&, const message&) = default;
};

}  // namespace weir::redis
