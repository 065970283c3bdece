// SPDX-License-Identifier: MIT
// A body is read completely, within the limits, and then parsed in one go. Values are written by
// hand, since Boost.JSON writes 0.5 as 5E-1.

#include "base/json_text.hpp"
#include "base/quoted.hpp"
#include "http/json/json_builder.hpp"

#include <weir/http/json.hpp>
#include <weir/http/media_type.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace weir::http {

namespace {

namespace bj = boost::json;

// Lines and columns are counted from 1.
std::string place_of(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// A name that a client sent, as part of a message.
std::string shown(std::string_view name) {
    return base::quoted(name, 60);
}

std::string reason_of(const bj::error_code& error, const detail::json_builder& builder,
                      const json_options& options) {
    if (const std::string* const key = builder.duplicate()) {
        return "the key " + shown(*key) + " occurs twice in one object";
    }
    if (builder.is_too_large() || error == bj::error::exponent_overflow) {
        return "the number is too large";
    }
    if (error == bj::error::too_deep) {
        return "it is nested more than " + std::to_string(options.max_depth) + " levels deep";
    }
    if (error == bj::error::incomplete) {
        return "it is incomplete";
    }
    if (error == bj::error::extra_data) {
        return "unexpected text after the end";
    }
    return error.message();
}

bool is_json_type(std::string_view content_type) {
    const std::optional<media_type> type = media_type::try_parse(content_type);
    return type && type->is_json() &&
           same_name(type->parameter("charset").value_or("utf-8"), "utf-8");
}

// The shortest digits, with a point where the number could be taken for an integer: '0.5', '30.0'.
void append_double(std::string& to, double number) {
    if (!std::isfinite(number)) {
        to += "null";
        return;
    }
    const std::size_t begin = to.size();
    base::append_number(to, number);
    if (to.find_first_of(".e", begin) == std::string::npos) {
        to += ".0";
    }
}

void append_json(std::string& to, const bj::value& value) {
    switch (value.kind()) {
        case bj::kind::null:
            to += "null";
            break;
        case bj::kind::bool_:
            to += value.get_bool() ? "true" : "false";
            break;
        case bj::kind::int64:
            base::append_number(to, value.get_int64());
            break;
        case bj::kind::uint64:
            base::append_number(to, value.get_uint64());
            break;
        case bj::kind::double_:
            append_double(to, value.get_double());
            break;
        case bj::kind::string:
            base::append_json_string(to, value.get_string());
            break;
        case bj::kind::array: {
            char before = '[';
            for (const bj::value& each : value.get_array()) {
                to += std::exchange(before, ',');
                append_json(to, each);
            }
            to += before == '[' ? "[]" : "]";
            break;
        }
        case bj::kind::object: {
            char before = '{';
            for (const bj::key_value_pair& each : value.get_object()) {
                to += std::exchange(before, ',');
                base::append_json_string(to, each.key());
                to += ':';
                append_json(to, each.value());
            }
            to += before == '{' ? "{}" : "}";
            break;
        }
    }
}

}  // namespace

bj::value parse_json(std::string_view text, const json_options& options) {
    bj::parse_options rules;
    rules.max_depth = options.max_depth;
    bj::basic_parser<detail::json_builder> parser(rules, options.allow_duplicates);
    bj::error_code error;
    const std::size_t taken = parser.write_some(false, text.data(), text.size(), error);
    if (!error && taken < text.size()) {
        error = bj::error::extra_data;
    }
    if (error) {
        throw problem(status::bad_request, "invalid JSON at " +
                                               place_of(text, std::min(taken, text.size())) + ": " +
                                               reason_of(error, parser.handler(), options));
    }
    return parser.handler().take();
}

task<std::string> read_json_text(request& from, json_options options) {
    if (!options.any_content_type && !is_json_type(from.header("Content-Type"))) {
        throw problem(status::unsupported_media_type,
                      "the body must be JSON in UTF-8, 'Content-Type: application/json'");
    }
    const std::string_view coding = from.header("Content-Encoding");
    if (!coding.empty() && !same_name(coding, "identity")) {
        problem_details details(status::unsupported_media_type);
        details
            .detail("the body has the content coding " + shown(coding) +
                    ", which is not accepted: send it without Content-Encoding")
            .header("Accept-Encoding", "identity");
        throw detailed_problem(details);
    }
    if (options.max_bytes != std::numeric_limits<std::uint64_t>::max()) {
        from.limit_body(options.max_bytes);
    }
    return from.text();
}

task<bj::value> read_json(request& from, json_options options) {
    const std::string text = co_await read_json_text(from, options);
    co_return parse_json(text, options);
}

std::string to_json(const bj::value& value) {
    std::string text;
    append_json(text, value);
    return text;
}

response json(const bj::value& value, http::status code) {
    return response::json_text(to_json(value), code);
}

namespace detail {

void throw_not_an_object() {
    throw problem(status::unprocessable_content, "a JSON object is expected");
}

void throw_missing_member(std::string_view name) {
    throw problem(status::unprocessable_content, "the member " + shown(name) + " is missing");
}

void throw_not_convertible(std::string_view name, std::string_view expected) {
    const std::string subject = name.empty() ? "the JSON" : "the member " + shown(name);
    try {
        throw;
    } catch (const problem& thrown) {
        if (name.empty() || thrown.code() != status::unprocessable_content) {
            throw;
        }
        // Adds the name of the enclosing member in front.
        throw problem(status::unprocessable_content, "in " + shown(name) + ": " + thrown.what());
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const boost::system::system_error&) {
    } catch (const std::logic_error&) {  // out_of_range of at(), invalid_argument
    } catch (const std::runtime_error&) {
    }
    throw problem(status::unprocessable_content, subject + " must be " + std::string(expected));
}

const bj::value* find_member(const bj::value& value, std::string_view name) {
    const bj::object* const object = value.if_object();
    if (object == nullptr) {
        throw_not_an_object();
    }
    return object->if_contains(bj::string_view(name.data(), name.size()));
}

}  // namespace detail

}  // namespace weir::http
