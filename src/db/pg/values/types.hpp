// SPDX-License-Identifier: MIT
// The types of PostgreSQL that have a type of their own here, by the number that never changes.
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

// "integer", "text[]"; "the type with OID 16401" for one that is not known here.
std::string type_name(std::uint32_t type);

// Of the elements, for an array type; 0 if it is none that is known.
std::uint32_t element_type(std::uint32_t array) noexcept;

// The types of users, enums for example, have numbers from here on.
inline constexpr std::uint32_t first_user_type = 16'384;

}  // namespace weir::pg::detail
