// SPDX-License-Identifier: MIT
// Whether a comma is due follows from the last character: not after an opening bracket or a colon.

#include "service/api/json/json_writer.hpp"

#include "base/json_text.hpp"
#include "base/rfc3339.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>

namespace weir::service::detail {

void json_writer::separate() {
    if (!out_->empty()) {
        const char last = out_->back();
        if (last != '{' && last != '[' && last != ':' && last != ',') {
            *out_ += ',';
        }
    }
}

json_writer& json_writer::open(char bracket) {
    separate();
    *out_ += bracket;
    return *this;
}

json_writer& json_writer::close(char bracket) {
    *out_ += bracket;
    return *this;
}

json_writer& json_writer::key(std::string_view name) {
    separate();
    *out_ += '"';
    *out_ += name;
    *out_ += "\":";
    return *this;
}

json_writer& json_writer::text(std::string_view value) {
    separate();
    base::append_json_string(*out_, value);
    return *this;
}

json_writer& json_writer::raw(std::string_view json) {
    separate();
    *out_ += json;
    return *this;
}

json_writer& json_writer::number(double value) {
    if (!std::isfinite(value)) {
        return null();
    }
    separate();
    base::append_number(*out_, value);
    return *this;
}

json_writer& json_writer::integer(std::int64_t value) {
    separate();
    base::append_number(*out_, value);
    return *this;
}

json_writer& json_writer::natural(std::uint64_t value) {
    separate();
    base::append_number(*out_, value);
    return *this;
}

json_writer& json_writer::time(timestamp at) {
    separate();
    *out_ += '"';
    base::append_rfc3339(*out_, at);
    *out_ += '"';
    return *this;
}

}  // namespace weir::service::detail
