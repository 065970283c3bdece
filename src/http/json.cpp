// SPDX-License-Identifier: MIT
// The whole body is read, within the limits, and parsed at once: a value that is half there is of no use.

#include "detail/json_builder.hpp"

#include <weir/http/json.hpp>
#include <weir/http/media_type.hpp>

#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <new>

namespace weir::http {

namespace {

namespace bj = boost::json;

// For people, who count lines from 1.
std::string place_of(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// What a client sent, in a message: not all of it.
std::string shown(std::string_view text) {
    constexpr std::size_t longest = 60;
    return "'" + std::string(text.substr(0, longest)) + (text.size() > longest ? "...'" : "'");
}

std::string reason_of(const bj::error_code& error, const detail::json_builder& builder,
                      const json_options& options) {
    if (const std::string* const key = builder.duplicate()) {
        return "the key " + shown(*key) + " is there twice in one object";
    }
    if (builder.is_too_large() || error == bj::error::exponent_overflow) {
        return "the number is too large";
    }
    if (error == bj::error::too_deep) {
        return "it is nested more than " + std::to_string(options.max_depth) + " levels deep";
    }
    if (error == bj::error::incomplete) {
        return "it ends too early";
    }
    if (error == bj::error::extra_data) {
        return "there is something after the end";
    }
    return error.message();
}

bool is_json_type(std::string_view content_type) {
    const std::optional<media_type> type = media_type::try_parse(content_type);
    return type && type->is_json() &&
           same_name(type->parameter("charset").value_or("utf-8"), "utf-8");
}

bool has_strange_numbers(const bj::value& value) noexcept {
    switch (value.kind()) {
        case bj::kind::double_:
            return !std::isfinite(value.get_double());
        case bj::kind::array:
            return std::any_of(value.get_array().begin(), value.get_array().end(),
                               has_strange_numbers);
        case bj::kind::object:
            return std::any_of(
                value.get_object().begin(), value.get_object().end(),
                [](const bj::key_value_pair& each) { return has_strange_numbers(each.value()); });
        default:
            return false;
    }
}

void remove_strange_numbers(bj::value& value) noexcept {
    if (value.is_double() && !std::isfinite(value.get_double())) {
        value = nullptr;
    } else if (value.is_array()) {
        for (bj::value& each : value.get_array()) {
            remove_strange_numbers(each);
        }
    } else if (value.is_object()) {
        for (bj::key_value_pair& each : value.get_object()) {
            remove_strange_numbers(each.value());
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
        throw problem(status::bad_request, "no JSON at " +
                                               place_of(text, std::min(taken, text.size())) + ": " +
                                               reason_of(error, parser.handler(), options));
    }
    return parser.handler().take();
}

task<bj::value> read_json(request& from, json_options options) {
    if (!options.any_content_type && !is_json_type(from.header("Content-Type"))) {
        throw problem(status::unsupported_media_type,
                      "the body must be JSON in UTF-8, 'Content-Type: application/json'");
    }
    if (options.max_bytes != std::numeric_limits<std::uint64_t>::max()) {
        from.limit_body(options.max_bytes);
    }
    const std::string text = co_await from.text();
    co_return parse_json(text, options);
}

std::string to_json(const bj::value& value) {
    if (!has_strange_numbers(value)) {
        return bj::serialize(value);
    }
    bj::value changed(value);
    remove_strange_numbers(changed);
    return bj::serialize(changed);
}

response json(const bj::value& value, http::status code) {
    return response::json_text(to_json(value), code);
}

namespace detail {

void throw_no_object() {
    throw problem(status::unprocessable_content, "a JSON object is expected");
}

void throw_missing_member(std::string_view name) {
    throw problem(status::unprocessable_content, "the member " + shown(name) + " is missing");
}

void throw_unfit(std::string_view name, std::string_view expected) {
    const std::string subject = name.empty() ? "the JSON" : "the member " + shown(name);
    try {
        throw;
    } catch (const problem& thrown) {
        if (name.empty() || thrown.code() != status::unprocessable_content) {
            throw;
        }
        // The way to it, from the outside.
        throw problem(status::unprocessable_content, "in " + shown(name) + ": " + thrown.what());
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const boost::system::system_error&) {
    } catch (const std::logic_error&) {  // out_of_range of at(), invalid_argument
    } catch (const std::runtime_error&) {
    }
    throw problem(status::unprocessable_content, subject + " must be " + std::string(expected));
}

const bj::value* find_member(const bj::value& of, std::string_view name) {
    const bj::object* const object = of.if_object();
    if (object == nullptr) {
        throw_no_object();
    }
    return object->if_contains(bj::string_view(name.data(), name.size()));
}

}  // namespace detail

}  // namespace weir::http
