// SPDX-License-Identifier: MIT
// Writes JSON into a text, member by member, without building values first. Stored JSON is inserted
// as it is.
#pragma once

#include <weir/service/task.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service::detail {

class json_writer {
public:
    explicit json_writer(std::string& to) noexcept : out_(&to) {}

    json_writer& begin_object() { return open('{'); }
    json_writer& end_object() { return close('}'); }
    json_writer& begin_array() { return open('['); }
    json_writer& end_array() { return close(']'); }
    // The name is not escaped: it is a constant of the program.
    json_writer& key(std::string_view name);

    json_writer& text(std::string_view value);
    json_writer& raw(std::string_view json);
    json_writer& null() { return raw("null"); }
    json_writer& number(double value);  // null if it is not finite
    json_writer& integer(std::int64_t value);
    json_writer& natural(std::uint64_t value);
    json_writer& time(timestamp at);

    json_writer& member(std::string_view name, std::string_view value) {
        return key(name).text(value);
    }
    json_writer& member(std::string_view name, const char* value) { return key(name).text(value); }
    json_writer& member(std::string_view name, timestamp at) { return key(name).time(at); }
    json_writer& member(std::string_view name, std::optional<timestamp> at) {
        return at ? key(name).time(*at) : key(name).null();
    }
    template <class Number>
        requires std::integral<Number> || std::floating_point<Number>
    json_writer& member(std::string_view name, Number value) {
        key(name);
        if constexpr (std::same_as<Number, bool>) {
            return raw(value ? "true" : "false");
        } else if constexpr (std::floating_point<Number>) {
            return number(value);
        } else if constexpr (std::signed_integral<Number>) {
            return integer(value);
        } else {
            return natural(value);
        }
    }
    // null if the text is empty.
    json_writer& member_or_null(std::string_view name, std::string_view value) {
        return value.empty() ? key(name).null() : key(name).text(value);
    }
    // `json` is inserted as it is; null if it is empty.
    json_writer& raw_member(std::string_view name, std::string_view json) {
        return key(name).raw(json.empty() ? "null" : json);
    }

private:
    json_writer& open(char bracket);
    json_writer& close(char bracket);
    void separate();

    std::string* out_;
};

}  // namespace weir::service::detail
