// SPDX-License-Identifier: MIT
// What the values of all databases have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace weir::db::detail {

using blob = std::vector<std::byte>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace weir::db::detail
