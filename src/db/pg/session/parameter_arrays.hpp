// SPDX-License-Identifier: MIT
// A query's parameters in the form that libpq takes.
#pragma once

#include <weir/db/pg/parameter.hpp>

#include <cstddef>
#include <vector>

namespace weir::pg::detail {

// The arrays for PQsendQueryPrepared and similar functions; they refer to the parameters. Reused
// from query to query, so that sending does not allocate.
class parameter_arrays {
public:
    void assign(const std::vector<parameter>& all) {
        values_.clear();
        lengths_.clear();
        formats_.clear();
        for (const parameter& each : all) {
            if (const blob* const bytes = each.bytes()) {
                add(bytes->empty() ? "" : reinterpret_cast<const char*>(bytes->data()),
                    bytes->size(), 1);
            } else if (const std::string* const text = each.text()) {
                add(text->c_str(), text->size(), 0);
            } else {
                add(nullptr, 0, 0);
            }
        }
    }

    int size() const noexcept { return static_cast<int>(values_.size()); }
    const char* const* values() const noexcept { return values_.data(); }
    const int* lengths() const noexcept { return lengths_.data(); }
    const int* formats() const noexcept { return formats_.data(); }

private:
    void add(const char* data, std::size_t length, int format) {
        values_.push_back(data);
        lengths_.push_back(static_cast<int>(length));
        formats_.push_back(format);
    }

    std::vector<const char*> values_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace weir::pg::detail
