// SPDX-License-Identifier: MIT
// The types of PostgreSQL that are read as C++ types, by their OIDs, which never change.
#pragma once

#include <cstdint>
#include <string>

namespace weir::pg::detail {

enum class type : std::uint32_t {
    boolean = 16,
    bytea = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    oid = 26,
    float4 = 700,
    float8 = 701,
    date = 1082,
    timestamp = 1114,
    timestamptz = 1184,
    numeric = 1700,
};

// "integer", "text[]"; "the type with OID 16401" for an unknown one.
std::string type_name(std::uint32_t type);

// The type of an array's elements; 0 for unknown array types.
std::uint32_t element_type(std::uint32_t array) noexcept;

// OIDs of the user's types, such as enums, begin here.
inline constexpr std::uint32_t first_user_type = 16'384;

}  // namespace weir::pg::detail
