// SPDX-License-Identifier: MIT
// A message of a subscription.
#pragma once

#include <string>

namespace weir::redis {

struct message {
    std::string channel;
    std::string pattern;  // that the channel matches, if the subscription is to a pattern
    std::string payload;
    // The connection was lost and opened again: messages of the time between may have been missed.
    // All other members are empty then.
    bool missed = false;

    friend bool operator==(const message&, const message&) = default;
};

}  // namespace weir::redis
