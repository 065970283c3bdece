// SPDX-License-Identifier: MIT
// JSON from clients: parsed or refused with a problem, within the limits, the same again when it
// was written, and with parts that are found in its text.

#include "base/raw_json.hpp"
#include "fuzz.hpp"

#include <weir/http/json.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace {

using fuzz::require;
namespace bj = boost::json;

std::size_t depth_of(const bj::value& value) {
    std::size_t deepest = 0;
    if (const auto* array = value.if_array()) {
        for (const bj::value& each : *array) {
            deepest = std::max(deepest, depth_of(each));
        }
        return deepest + 1;
    }
    if (const auto* object = value.if_object()) {
        for (const auto& each : *object) {
            deepest = std::max(deepest, depth_of(each.value()));
        }
        return deepest + 1;
    }
    return 0;
}

// Numbers with a fraction may lose their last bit on the way: Boost.JSON parses fast, not exactly.
bool is_same(const bj::value& left, const bj::value& right) {
    if (left.is_number() && right.is_number() && (left.is_double() || right.is_double())) {
        const double a = left.to_number<double>();
        const double b = right.to_number<double>();
        return a == b || std::fabs(a - b) <= 1e-12 * std::fabs(a) || std::fabs(a - b) < 1e-300;
    }
    if (left.kind() != right.kind()) {
        return false;
    }
    if (const auto* array = left.if_array()) {
        const auto& other = right.get_array();
        return array->size() == other.size() &&
               std::equal(array->begin(), array->end(), other.begin(), is_same);
    }
    if (const auto* object = left.if_object()) {
        const auto& other = right.get_object();
        return object->size() == other.size() &&
               std::all_of(object->begin(), object->end(), [&](const bj::key_value_pair& each) {
                   const bj::value* found = other.if_contains(each.key());
                   return found != nullptr && is_same(each.value(), *found);
               });
    }
    return left == right;
}

// Every conversion returns a value or throws a problem.
template <class T>
void try_member(const bj::value& of) {
    try {
        static_cast<void>(weir::http::json_to<T>(of));
        if (of.is_object() && !of.get_object().empty()) {
            const auto name = of.get_object().begin()->key();
            static_cast<void>(weir::http::member<T>(of, {name.data(), name.size()}));
        }
        static_cast<void>(weir::http::optional_member<T>(of, "a"));
    } catch (const weir::http::problem& refused) {
        require(weir::http::number_of(refused.code()) == 422, "422");
    }
}

void require_whole(const bj::value& parsed, const weir::http::json_options& options) {
    require(depth_of(parsed) <= options.max_depth, "the depth");
    const std::string text = weir::http::to_json(parsed);
    const bj::value again = weir::http::parse_json(text, options);
    require(is_same(parsed, again), "what was written is the same again");
    try_member<std::string>(parsed);
    try_member<std::int8_t>(parsed);
    try_member<std::uint64_t>(parsed);
    try_member<double>(parsed);
    try_member<bool>(parsed);
    try_member<std::vector<int>>(parsed);
    try_member<std::map<std::string, std::string>>(parsed);
}

bool is_plain_name(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    });
}

// The text has the same parts as the value.
void require_parts(std::string_view text, const bj::value& parsed,
                   const weir::http::json_options& options) {
    namespace base = weir::base;
    const std::string compact = base::compact_json(text);
    require(is_same(weir::http::parse_json(compact, options), parsed), "the compact form");
    require(base::same_json(text, compact), "blanks make no difference");
    if (const auto* array = parsed.if_array()) {
        const std::vector<std::string_view> parts = base::raw_elements(text);
        require(parts.size() == array->size(), "the elements");
        for (std::size_t i = 0; i < parts.size(); ++i) {
            require(is_same(weir::http::parse_json(parts[i], options), (*array)[i]), "an element");
        }
    }
    if (const auto* object = parsed.if_object()) {
        for (const auto& each : *object) {
            const std::string_view name(each.key().data(), each.key().size());
            const std::string_view part = base::raw_member(text, name);
            require(!is_plain_name(name) || !part.empty(), "a member");
            require(part.empty() || is_same(weir::http::parse_json(part, options), each.value()),
                    "the value of a member");
        }
    }
}

bool parses(std::string_view input, const weir::http::json_options& options) {
    bj::value parsed;
    try {
        parsed = weir::http::parse_json(input, options);
    } catch (const weir::http::problem& refused) {
        require(weir::http::number_of(refused.code()) == 400, "400");
        return false;
    }
    require_whole(parsed, options);
    if (!options.allow_duplicates) {
        require_parts(input, parsed, options);
    }
    return true;
}

}  // namespace

WEIR_FUZZ_TARGET(json) {
    const bool is_strict = parses(input, {.max_depth = 5});
    const bool is_lenient = parses(input, {.max_depth = 5, .allow_duplicates = true});
    require(!is_strict || is_lenient, "duplicates allowed is no less");
    // Boost.JSON accepts every text that we accept.
    bj::error_code error;
    bj::parse_options rules;
    rules.max_depth = 5;
    static_cast<void>(bj::parse({input.data(), input.size()}, error, {}, rules));
    require(!is_lenient || !error, "as Boost.JSON has it");
}
