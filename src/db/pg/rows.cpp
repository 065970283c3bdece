// SPDX-License-Identifier: MIT
// Rows are libpq's result, asked column by column.

#include <weir/db/pg/rows.hpp>

#include <libpq-fe.h>

#include <charconv>
#include <string>

namespace weir::pg {

std::size_t row::size() const noexcept {
    return static_cast<std::size_t>(PQnfields(of_));
}

value row::operator[](std::size_t column) const {
    if (column >= size()) {
        throw db::mapping_error("column " + std::to_string(column) + " of a row that has " +
                                std::to_string(size()));
    }
    const int index = static_cast<int>(column);
    const std::string_view text(PQgetvalue(of_, index_, index),
                                static_cast<std::size_t>(PQgetlength(of_, index_, index)));
    return {of_, index, PQftype(of_, index), text, PQgetisnull(of_, index_, index) != 0};
}

std::size_t row::index_of(std::string_view column) const {
    std::string known;
    for (int index = 0; index < PQnfields(of_); ++index) {
        if (PQfname(of_, index) == column) {
            return static_cast<std::size_t>(index);
        }
    }
    for (int index = 0; index < PQnfields(of_); ++index) {
        known += (known.empty() ? "" : ", ") + std::string(PQfname(of_, index));
    }
    throw db::mapping_error("there is no column '" + std::string(column) + "' among " + known);
}

void row::check_size(std::size_t wanted) const {
    if (size() != wanted) {
        throw db::mapping_error("a row of " + std::to_string(size()) + " columns is read into " +
                                std::to_string(wanted) + (wanted == 1 ? " member" : " members"));
    }
}

rows::rows(std::shared_ptr<const pg_result> result) noexcept
    : result_(std::move(result)), size_(PQntuples(result_.get())) {}

std::vector<std::string> rows::columns() const {
    std::vector<std::string> names;
    for (int index = 0; index < PQnfields(result_.get()); ++index) {
        names.emplace_back(PQfname(result_.get(), index));
    }
    return names;
}

std::uint64_t rows::affected() const noexcept {
    // libpq takes a result that it may change, and does not.
    const std::string_view text = result_ ? PQcmdTuples(const_cast<pg_result*>(result_.get())) : "";
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

void rows::check_one() const {
    if (size() != 1) {
        throw db::mapping_error("one row was expected, and there are " + std::to_string(size()));
    }
}

}  // namespace weir::pg
