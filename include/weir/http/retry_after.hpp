// SPDX-License-Identifier: MIT
// The header Retry-After: how long a server asks clients to wait.
#pragma once

#include <weir/clock.hpp>

#include <optional>

namespace weir::http {

class headers;

// The time to wait, given in seconds or as a date. A date is relative to the response's own Date,
// if it has one, so that the clocks need not agree. None if the header is missing or invalid; zero
// for a date in the past.
std::optional<clock::duration> retry_after(const headers& fields) noexcept;

}  // namespace weir::http
