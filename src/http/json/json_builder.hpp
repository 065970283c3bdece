// SPDX-License-Identifier: MIT
// Builds a value from the events of Boost.JSON's parser, which on its own accepts duplicate keys
// and numbers that are too large.
#pragma once

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::http::detail {

class json_builder {
public:
    static constexpr std::size_t max_object_size = boost::json::object::max_size();
    static constexpr std::size_t max_array_size = boost::json::array::max_size();
    static constexpr std::size_t max_key_size = boost::json::string::max_size();
    static constexpr std::size_t max_string_size = boost::json::string::max_size();
    using error_code = boost::json::error_code;
    using text = boost::json::string_view;

    explicit json_builder(bool allow_duplicates) noexcept : allow_duplicates_(allow_duplicates) {}

    boost::json::value take() { return stack_.release(); }
    // The duplicate key, if the parser stopped because of one; else null.
    const std::string* duplicate() const noexcept { return has_duplicate_ ? &key_ : nullptr; }
    bool is_too_large() const noexcept { return is_too_large_; }

    bool on_document_begin(error_code&) {
        stack_.reset();
        return true;
    }
    bool on_document_end(error_code&) { return true; }
    bool on_object_begin(error_code&) { return true; }
    bool on_object_end(std::size_t count, error_code& error) {
        if (!allow_duplicates_ && !check_keys(count)) {
            error = boost::json::error::syntax;
            return false;
        }
        stack_.push_object(count);
        return true;
    }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(std::size_t count, error_code&) {
        stack_.push_array(count);
        return true;
    }
    bool on_key_part(text part, std::size_t, error_code&) {
        stack_.push_chars(part);
        key_ += part;
        return true;
    }
    bool on_key(text part, std::size_t, error_code&) {
        stack_.push_key(part);
        key_ += part;
        if (!allow_duplicates_) {
            keys_.push_back(std::move(key_));
        }
        key_.clear();
        return true;
    }
    bool on_string_part(text part, std::size_t, error_code&) {
        stack_.push_chars(part);
        return true;
    }
    bool on_string(text part, std::size_t, error_code&) {
        stack_.push_string(part);
        return true;
    }
    bool on_number_part(text part, error_code&) {
        digits_ += part;
        return true;
    }
    bool on_int64(std::int64_t number, text, error_code&) {
        digits_.clear();
        stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, text, error_code&) {
        digits_.clear();
        stack_.push_uint64(number);
        return true;
    }
    // Boost may round to a neighbour of the nearest double, so the digits are parsed again.
    bool on_double(double number, text part, error_code& error) {
        if (!digits_.empty()) {
            digits_ += part;
            part = digits_;
        }
        double nearest = 0;
        const char* const end = part.data() + part.size();
        const auto [at, trouble] = std::from_chars(part.data(), end, nearest);
        if (trouble == std::errc() && at == end) {
            number = nearest;
        }
        digits_.clear();
        if (!std::isfinite(number)) {
            is_too_large_ = true;
            error = boost::json::error::exponent_overflow;
            return false;
        }
        stack_.push_double(number);
        return true;
    }
    bool on_bool(bool value, error_code&) {
        stack_.push_bool(value);
        return true;
    }
    bool on_null(error_code&) {
        stack_.push_null();
        return true;
    }
    bool on_comment_part(text, error_code&) { return true; }
    bool on_comment(text, error_code&) { return true; }

private:
    // The keys of the object that ends are the last ones: those of inner objects have been removed.
    bool check_keys(std::size_t count) {
        const auto first = keys_.end() - static_cast<std::ptrdiff_t>(count);
        std::sort(first, keys_.end());
        const auto twice = std::adjacent_find(first, keys_.end());
        if (twice != keys_.end()) {
            key_ = *twice;
            has_duplicate_ = true;
            return false;
        }
        keys_.erase(first, keys_.end());
        return true;
    }

    boost::json::value_stack stack_;
    std::string key_;
    std::string digits_;             // of a number that arrived in parts
    std::vector<std::string> keys_;  // of the objects that have not ended
    bool allow_duplicates_;
    bool has_duplicate_ = false;
    bool is_too_large_ = false;
};

}  // namespace weir::http::detail
