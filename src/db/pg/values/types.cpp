// SPDX-License-Identifier: MIT
// A table of the most common types.

#include "db/pg/values/types.hpp"

#include <algorithm>
#include <iterator>

namespace weir::pg::detail {

namespace {

struct known_type {
    std::uint32_t type;
    std::uint32_t array;
    const char* name;
};

constexpr known_type known[] = {
    {16, 1000, "boolean"},       {17, 1001, "bytea"},
    {18, 1002, "\"char\""},      {19, 1003, "name"},
    {20, 1016, "bigint"},        {21, 1005, "smallint"},
    {23, 1007, "integer"},       {25, 1009, "text"},
    {26, 1028, "oid"},           {114, 199, "json"},
    {142, 143, "xml"},           {650, 651, "cidr"},
    {700, 1021, "real"},         {701, 1022, "double precision"},
    {790, 791, "money"},         {829, 1040, "macaddr"},
    {869, 1041, "inet"},         {1042, 1014, "char"},
    {1043, 1015, "varchar"},     {1082, 1182, "date"},
    {1083, 1183, "time"},        {1114, 1115, "timestamp"},
    {1184, 1185, "timestamptz"}, {1186, 1187, "interval"},
    {1266, 1270, "timetz"},      {1560, 1561, "bit"},
    {1562, 1563, "varbit"},      {1700, 1231, "numeric"},
    {2950, 2951, "uuid"},        {3802, 3807, "jsonb"},
};

}  // namespace

std::string type_name(std::uint32_t type) {
    for (const known_type& each : known) {
        if (each.type == type) {
            return each.name;
        }
        if (each.array == type) {
            return std::string(each.name) + "[]";
        }
    }
    return "the type with OID " + std::to_string(type);
}

std::uint32_t element_type(std::uint32_t array) noexcept {
    const auto* const found = std::find_if(std::begin(known), std::end(known),
                                           [&](const auto& each) { return each.array == array; });
    return found == std::end(known) ? 0 : found->type;
}

}  // namespace weir::pg::detail
