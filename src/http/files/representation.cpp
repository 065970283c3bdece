// SPDX-License-Identifier: MIT
// The plan of an answer. A body in several parts is laid out in full here, so that its size is
// known before its first byte is read.

#include "http/files/representation.hpp"

#include <weir/error.hpp>
#include <weir/http/date.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::http::detail {

namespace {

// Nobody who writes a file can know it, so no file contains it.
std::string random_boundary() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, 16> random;
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
        throw error("no random bytes for the boundary of an answer in several parts");
    }
    std::string boundary = "weir-";
    for (const unsigned char each : random) {
        boundary += digits[each >> 4];
        boundary += digits[each & 15];
    }
    return boundary;
}

void add_piece(answer_plan& to, std::string text, byte_range bytes) {
    to.size += text.size() + bytes.size;
    to.pieces.push_back({std::move(text), bytes});
}

void add_parts(answer_plan& to, const std::vector<byte_range>& ranges, const representation& what) {
    const std::string boundary = random_boundary();
    to.answer.headers().add("Content-Type", "multipart/byteranges; boundary=" + boundary);
    for (const byte_range& each : ranges) {
        std::string head = to.pieces.empty() ? "--" : "\r\n--";
        head += boundary;
        head += "\r\nContent-Type: ";
        head += what.content_type;
        head += "\r\nContent-Range: " + content_range(each, what.size) + "\r\n\r\n";
        add_piece(to, std::move(head), each);
    }
    add_piece(to, "\r\n--" + boundary + "--\r\n", {});
}

void add_common(headers& to, const representation& what) {
    if (!what.known.etag.empty()) {
        to.add("ETag", what.known.etag);
    }
    if (!what.cache_control.empty()) {
        to.add("Cache-Control", what.cache_control);
    }
    if (what.varies_by_encoding) {
        to.add("Vary", "Accept-Encoding");
    }
}

}  // namespace

answer_plan answer_with_validators(const request& asked, const representation& what,
                                   std::chrono::sys_seconds now) {
    answer_plan plan;
    headers& fields = plan.answer.headers();
    switch (check_conditions(asked.method(), asked.headers(), what.known)) {
        case condition::failed:
            plan.answer = response::problem(status::precondition_failed);
            return plan;
        case condition::not_modified:
            // What a 200 would say that a cache needs, and no more: the rest it has.
            plan.answer.set_status(status::not_modified);
            add_common(fields, what);
            if (what.known.etag.empty() && what.known.last_modified) {
                fields.add("Last-Modified", format_date(*what.known.last_modified));
            }
            return plan;
        case condition::holds:
            break;
    }

    std::vector<byte_range> ranges;
    auto choice = range_choice::whole;
    if (asked.method() == method::get && asked.headers().count("Range") == 1 &&
        what.max_ranges > 0 && range_applies(asked.headers(), what.known, now)) {
        choice = choose_ranges(asked.header("Range"), what.size, what.max_ranges, ranges);
    }
    if (choice == range_choice::unsatisfiable) {
        plan.answer = response::problem(status::range_not_satisfiable);
        plan.answer.headers().add("Content-Range", content_range_of_none(what.size));
        return plan;
    }

    add_common(fields, what);
    if (what.known.last_modified) {
        // A date to come would be taken for a mistake.
        fields.add("Last-Modified", format_date(std::min(*what.known.last_modified, now)));
    }
    if (what.max_ranges > 0) {
        fields.add("Accept-Ranges", "bytes");
    }
    fields.add("X-Content-Type-Options", "nosniff");
    if (!what.content_encoding.empty()) {
        fields.add("Content-Encoding", what.content_encoding);
    }
    if (ranges.size() > 1) {
        plan.answer.set_status(status::partial_content);
        add_parts(plan, ranges, what);
        return plan;
    }
    fields.add("Content-Type", what.content_type);
    if (choice == range_choice::parts) {
        plan.answer.set_status(status::partial_content);
        fields.add("Content-Range", content_range(ranges.front(), what.size));
        add_piece(plan, {}, ranges.front());
    } else {
        add_piece(plan, {}, {0, what.size});
    }
    return plan;
}

bool reads(const request& asked) noexcept {
    return asked.method() == method::get || asked.method() == method::head;
}

response refuse_method(const request& asked) {
    response answer = response::problem(
        status::method_not_allowed,
        std::string(asked.path()) + " can be read, with GET and HEAD, and nothing else");
    answer.headers().add("Allow", "GET, HEAD");
    return answer;
}

void check_cache_control(std::string_view value, const char* option) {
    if (!is_field_value(value)) {
        throw invalid_argument(std::string(option) +
                               ": cache_control cannot be a header: no control characters, and no "
                               "blanks at the ends, as in 'max-age=3600'");
    }
}

}  // namespace weir::http::detail
