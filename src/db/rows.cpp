// SPDX-License-Identifier: MIT
// The messages name what was found and what was expected.

#include <weir/db/error.hpp>
#include <weir/db/rows.hpp>

namespace weir::db::detail {

void throw_no_column(std::size_t column, std::size_t size) {
    throw mapping_error("column " + std::to_string(column) + " does not exist: the row has " +
                        std::to_string(size) + " columns");
}

void throw_no_column(std::string_view column, const std::vector<std::string>& known) {
    std::string names;
    for (const std::string& each : known) {
        names += (names.empty() ? "" : ", ") + each;
    }
    throw mapping_error("column '" + std::string(column) + "' does not exist; the columns are " +
                        names);
}

void throw_bad_size(std::size_t size, std::size_t wanted) {
    throw mapping_error("a row of " + std::to_string(size) + " columns cannot be read as " +
                        std::to_string(wanted) + (wanted == 1 ? " member" : " members"));
}

void throw_not_one(std::size_t size) {
    throw mapping_error("one row was expected, but there are " + std::to_string(size));
}

}  // namespace weir::db::detail
