// SPDX-License-Identifier: MIT
// What does not fit says what was there and what was wanted.

#include <weir/db/sqlite/rows.hpp>

#include <algorithm>

namespace weir::sqlite {

void value::throw_unfit(const std::string& wanted) const {
    constexpr const char* kinds[] = {"null", "an integer", "a number", "text", "bytes"};
    std::string what = std::string("a column holds ") + kinds[held_.index()];
    if (const std::int64_t* const number = integer()) {
        what += ", " + std::to_string(*number) + ",";
    }
    throw db::mapping_error(what + " and is read as " + wanted);
}

const value& row::at(std::size_t column) const {
    if (column >= values_.size()) {
        throw db::mapping_error("column " + std::to_string(column) + " of a row that has " +
                                std::to_string(values_.size()));
    }
    return values_[column];
}

std::size_t row::index_of(std::string_view column) const {
    const auto& names = of_->columns();
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end()) {
        std::string known;
        for (const std::string& each : names) {
            known += (known.empty() ? "" : ", ") + each;
        }
        throw db::mapping_error("there is no column '" + std::string(column) + "' among " + known);
    }
    return static_cast<std::size_t>(found - names.begin());
}

void row::check_size(std::size_t wanted) const {
    if (values_.size() != wanted) {
        throw db::mapping_error("a row of " + std::to_string(values_.size()) +
                                " columns is read into " + std::to_string(wanted) +
                                (wanted == 1 ? " member" : " members"));
    }
}

void rows::check_one() const {
    if (size() != 1) {
        throw db::mapping_error("one row was expected, and there are " + std::to_string(size()));
    }
}

}  // namespace weir::sqlite
