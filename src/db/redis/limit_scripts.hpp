// SPDX-License-Identifier: MIT
// The scripts that Redis runs for a limit: the whole decision, in one atomic step.
#pragma once

#include <string_view>

namespace weir::redis::detail {

// Both take: KEYS[1] the limit's key; ARGV two numbers that describe the limit, '1' to take
// nothing, the number of refunds, for each its weight and the microsecond at which it was taken,
// then the weights. Both return: the time, and for each weight that was considered 0 (it passes),
// the microseconds until it can, or -1 (never). They begin with a line that reads the time, `now`,
// which tests replace.
std::string_view time_of_server() noexcept;
// ARGV: tokens each microsecond, burst. The key holds a text: the tokens, and their time.
std::string_view token_bucket_script() noexcept;
// ARGV: window in microseconds, limit in millionths (as the weights are). The key holds a list:
// time and weight of each grant, the oldest first, and last the sum of all weights.
std::string_view sliding_window_script() noexcept;

}  // namespace weir::redis::detail
