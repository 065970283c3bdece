// SPDX-License-Identifier: MIT
// What Redis runs for a limit: the whole decision, in one step that nothing comes between.
#pragma once

#include <string_view>

namespace weir::redis::detail {

// Both take: KEYS[1] the limit's key; ARGV two numbers that say what the limit is, '1' to look
// only, the number of refunds, for each its weight and the microsecond at which it was taken, then
// the weights. Both give: the time, and for each weight that was looked at 0 (passes), the
// microseconds until it could, or -1 (never). They begin with a line that finds out the time,
// `now`, which tests replace.
std::string_view time_of_server() noexcept;
// ARGV: tokens each microsecond, burst. The key holds a text: tokens, and when that was.
std::string_view token_bucket_script() noexcept;
// ARGV: window in microseconds, limit in millionths (as the weights are). The key holds a list:
// time and weight of each grant, the oldest first, and last the sum of all weights.
std::string_view sliding_window_script() noexcept;

}  // namespace weir::redis::detail
