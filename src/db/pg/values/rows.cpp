// SPDX-License-Identifier: MIT
// Rows are libpq's result, read column by column.

#include <weir/db/pg/rows.hpp>

#include <libpq-fe.h>

#include <charconv>
#include <string>

namespace weir::pg {

namespace {
std::vector<std::string> names_of(const pg_result* result) {
    std::vector<std::string> names;
    for (int index = 0; index < PQnfields(result); ++index) {
        names.emplace_back(PQfname(result, index));
    }
    return names;
}
}  // namespace

std::size_t row::size() const noexcept {
    return static_cast<std::size_t>(PQnfields(result_));
}

value row::operator[](std::size_t column) const {
    if (column >= size()) {
        db::detail::throw_no_column(column, size());
    }
    const int index = static_cast<int>(column);
    if (PQgetisnull(result_, index_, index) != 0) {
        return {result_, index, PQftype(result_, index), {}, true};
    }
    const std::string_view text(PQgetvalue(result_, index_, index),
                                static_cast<std::size_t>(PQgetlength(result_, index_, index)));
    return {result_, index, PQftype(result_, index), text, false};
}

std::size_t row::index_of(std::string_view column) const {
    for (int index = 0; index < PQnfields(result_); ++index) {
        if (PQfname(result_, index) == column) {
            return static_cast<std::size_t>(index);
        }
    }
    db::detail::throw_no_column(column, names_of(result_));
}

rows::rows(std::shared_ptr<const pg_result> result) noexcept
    : result_(std::move(result)), size_(PQntuples(result_.get())) {}

std::vector<std::string> rows::columns() const {
    return names_of(result_.get());
}

std::uint64_t rows::affected() const noexcept {
    // libpq takes a result that it could change, and does not change it.
    const std::string_view text = result_ ? PQcmdTuples(const_cast<pg_result*>(result_.get())) : "";
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

}  // namespace weir::pg
