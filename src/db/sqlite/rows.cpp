// SPDX-License-Identifier: MIT
// The messages name what was found and what was expected.

#include <weir/db/sqlite/rows.hpp>

#include <algorithm>

namespace weir::sqlite {

void value::throw_unfit(const std::string& wanted) const {
    constexpr const char* kinds[] = {"null", "an integer", "a number", "text", "bytes"};
    std::string what = std::string("a column holds ") + kinds[held_.index()];
    if (const std::int64_t* const number = integer()) {
        what += ", " + std::to_string(*number) + ",";
    }
    throw db::mapping_error(what + " and cannot be read as " + wanted);
}

std::size_t row::index_of(std::string_view column) const {
    const std::vector<std::string>& names = rows_->columns();
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end()) {
        db::detail::throw_no_column(column, names);
    }
    return static_cast<std::size_t>(found - names.begin());
}

}  // namespace weir::sqlite
