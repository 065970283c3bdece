// SPDX-License-Identifier: MIT
// When a server says that it wants to be asked again.
#pragma once

#include <weir/clock.hpp>

#include <optional>

namespace weir::http {

class headers;

// What Retry-After asks for: seconds, or a date. The date is taken relative to the answer's own
// Date, if it has one, so that the clocks need not agree. None if the header is missing or is
// neither; zero for a date that is over.
std::optional<clock::duration> retry_after(const headers& of) noexcept;

}  // namespace weir::http
