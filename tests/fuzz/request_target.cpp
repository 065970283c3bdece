// SPDX-License-Identifier: MIT
// A connection's bytes: pieces of any size have the same result as the whole, and an accepted
// request means the same when it is serialized again.

#include "fuzz.hpp"
#include "http/parser/parse.hpp"

#include <weir/http/headers.hpp>

#include <array>
#include <cstdio>

namespace {

using fuzz::require;
using weir::test::parse_all;
using weir::test::parse_pieces;
using weir::test::parse_result;
using weir::test::parsed_request;
using weir::test::parser_limits;

// Small, so that they are met.
constexpr parser_limits limits{.header_bytes = 1024, .header_count = 12, .body_bytes = 600};

void require_same_head(const parsed_request& left, const parsed_request& right) {
    require(left.head.method == right.head.method, "method");
    require(left.head.method_name == right.head.method_name, "name of the method");
    require(left.head.target == right.head.target, "target");
    require(left.head.minor_version == right.head.minor_version, "version");
    require(left.head.keep_alive == right.head.keep_alive, "keep-alive");
    require(left.head.expects_continue == right.head.expects_continue, "100-continue");
    require(left.head.wants_upgrade == right.head.wants_upgrade, "upgrade");
    require(left.head.is_chunked == right.head.is_chunked, "chunked");
    require(left.head.content_length == right.head.content_length, "length");
    require(left.head.fields.size() == right.head.fields.size(), "number of headers");
    for (std::size_t i = 0; i < left.head.fields.size(); ++i) {
        require(left.head.fields[i].name == right.head.fields[i].name, "name of a header");
        require(left.head.fields[i].value == right.head.fields[i].value, "value of a header");
    }
    require(left.body == right.body, "body");
}

void require_same(const parse_result& left, const parse_result& right) {
    require(left.status == right.status, "status");
    require(left.detail == right.detail, "detail");
    require(left.used == right.used, "bytes used");
    require(left.wants_more == right.wants_more, "whether there is more to come");
    require(left.requests.size() == right.requests.size(), "number of requests");
    for (std::size_t i = 0; i < left.requests.size(); ++i) {
        require_same_head(left.requests[i], right.requests[i]);
    }
}

void require_clean(const parsed_request& request) {
    const auto& head = request.head;
    require(weir::http::is_token(head.method_name), "a method is a token");
    const bool is_path = head.target.starts_with('/');
    require(is_path || head.target == "*" || head.method == weir::http::method::connect,
            "a target is a path");
    for (const char each : head.target) {
        require(each > ' ' && each < 0x7f && each != '#', "a target is visible ASCII");
    }
    for (const auto& [name, value] : head.fields) {
        require(weir::http::is_token(name), "a header's name is a token");
        require(weir::http::is_field_value(value), "a header's value is one");
    }
    require(head.fields.count("Host") <= 1, "one Host");
    require(head.minor_version == 0 || head.fields.count("Host") == 1, "a Host");
    require(head.fields.count("Content-Length") + head.fields.count("Transfer-Encoding") <= 1,
            "one way to frame");
    require(head.is_chunked == head.fields.contains("Transfer-Encoding"), "chunked");
    require(request.body.size() <= limits.body_bytes, "the body's limit");
    require(head.fields.size() <= limits.header_count + 1, "the number of headers");
    if (!head.is_chunked) {
        require(request.body.size() == head.content_length.value_or(0), "the body's length");
    }
}

std::string written(const parsed_request& request) {
    const auto& head = request.head;
    std::string text =
        head.method_name + " " + head.target + " HTTP/1." + std::to_string(head.minor_version);
    for (const auto& [name, value] : head.fields) {
        text += "\r\n";
        text += name;
        text += ": ";
        text += value;
    }
    text += "\r\n\r\n";
    if (!head.is_chunked) {
        return text + request.body;
    }
    if (!request.body.empty()) {
        std::array<char, 24> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", request.body.size());
        text += size.data() + request.body + "\r\n";
    }
    return text + "0\r\n\r\n";
}

}  // namespace

WEIR_FUZZ_TARGET(request) {
    const parse_result whole = parse_all(input, limits);
    fuzz::dice random(input);
    const std::size_t most_piece = 1 + random.up_to(40);
    require_same(whole, parse_pieces(
                            input, limits, [&] { return random.up_to(most_piece); },
                            [&] { return 1 + random.up_to(most_piece); }));
    for (const parsed_request& each : whole.requests) {
        require_clean(each);
        // Longer than it came, perhaps: blanks and a Host may have been added.
        const parse_result again =
            parse_all(written(each), {.header_bytes = 4096, .header_count = 20, .body_bytes = 600});
        require(again.status == 0 && again.requests.size() == 1, "written down it is a request");
        require_same_head(again.requests.front(), each);
    }
}
