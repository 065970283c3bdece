// SPDX-License-Identifier: MIT
// A body in several parts is planned completely, so that its size is known before its first byte is
// read.

#include "http/files/representation.hpp"

#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/date.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::http::detail {

namespace {

// Unpredictable, so that no file can contain it.
std::string random_boundary() {
    std::array<std::uint64_t, 2> random;
    if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
        throw error("the system gives no random bytes for the boundary of a multipart response");
    }
    std::string boundary = "weir-";
    for (const std::uint64_t each : random) {
        base::append_hex(boundary, each);
    }
    return boundary;
}

void add_piece(answer_plan& to, std::string text, byte_range bytes) {
    to.size += text.size() + bytes.size;
    to.pieces.push_back({std::move(text), bytes});
}

void add_parts(answer_plan& to, const std::vector<byte_range>& ranges,
               const representation& content) {
    const std::string boundary = random_boundary();
    to.answer.headers().add("Content-Type", "multipart/byteranges; boundary=" + boundary);
    for (const byte_range& each : ranges) {
        std::string head = to.pieces.empty() ? "--" : "\r\n--";
        head += boundary;
        head += "\r\nContent-Type: ";
        head += content.content_type;
        head += "\r\nContent-Range: " + content_range(each, content.size) + "\r\n\r\n";
        add_piece(to, std::move(head), each);
    }
    add_piece(to, "\r\n--" + boundary + "--\r\n", {});
}

void add_common(headers& to, const representation& content) {
    if (!content.known.etag.empty()) {
        to.add("ETag", content.known.etag);
    }
    if (!content.cache_control.empty()) {
        to.add("Cache-Control", content.cache_control);
    }
    if (content.varies_by_encoding) {
        to.add("Vary", "Accept-Encoding");
    }
}

}  // namespace

answer_plan answer_with_validators(const request& request, const representation& content,
                                   std::chrono::sys_seconds now) {
    answer_plan plan;
    headers& fields = plan.answer.headers();
    switch (check_conditions(request.method(), request.headers(), content.known)) {
        case condition::failed:
            plan.answer = response::problem(status::precondition_failed);
            return plan;
        case condition::not_modified:
            // Only the headers of a 200 that a cache needs: it has the others.
            plan.answer.set_status(status::not_modified);
            add_common(fields, content);
            if (content.known.etag.empty() && content.known.last_modified) {
                fields.add("Last-Modified", format_date(*content.known.last_modified));
            }
            return plan;
        case condition::holds:
            break;
    }

    std::vector<byte_range> ranges;
    auto choice = range_choice::whole;
    if (request.method() == method::get && request.headers().count("Range") == 1 &&
        content.max_ranges > 0 && range_applies(request.headers(), content.known, now)) {
        choice = choose_ranges(request.header("Range"), content.size, content.max_ranges, ranges);
    }
    if (choice == range_choice::unsatisfiable) {
        plan.answer = response::problem(status::range_not_satisfiable);
        plan.answer.headers().add("Content-Range", content_range_of_none(content.size));
        return plan;
    }

    add_common(fields, content);
    if (content.known.last_modified) {
        // Clients would take a date in the future for an error.
        fields.add("Last-Modified", format_date(std::min(*content.known.last_modified, now)));
    }
    if (content.max_ranges > 0) {
        fields.add("Accept-Ranges", "bytes");
    }
    fields.add("X-Content-Type-Options", "nosniff");
    if (!content.content_encoding.empty()) {
        fields.add("Content-Encoding", content.content_encoding);
    }
    if (ranges.size() > 1) {
        plan.answer.set_status(status::partial_content);
        add_parts(plan, ranges, content);
        return plan;
    }
    fields.add("Content-Type", content.content_type);
    if (choice == range_choice::parts) {
        plan.answer.set_status(status::partial_content);
        fields.add("Content-Range", content_range(ranges.front(), content.size));
        add_piece(plan, {}, ranges.front());
    } else {
        add_piece(plan, {}, {0, content.size});
    }
    return plan;
}

bool is_read(const request& request) noexcept {
    return request.method() == method::get || request.method() == method::head;
}

response method_not_allowed(const request& request) {
    response answer =
        response::problem(status::method_not_allowed,
                          std::string(request.path()) + " can only be read, with GET or HEAD");
    answer.headers().add("Allow", "GET, HEAD");
    return answer;
}

void check_cache_control(std::string_view value, const char* option) {
    if (!is_field_value(value)) {
        throw invalid_argument(std::string(option) +
                               ": cache_control cannot be a header; control characters and blanks "
                               "at the ends are not allowed, as in 'max-age=3600'");
    }
}

}  // namespace weir::http::detail
