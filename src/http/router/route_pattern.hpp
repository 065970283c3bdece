// SPDX-License-Identifier: MIT
// The patterns of routes, and the encoding of paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

enum class segment_kind : std::uint8_t { text, parameter, rest };

struct pattern_segment {
    segment_kind kind;
    std::string_view text;  // of it, or the name
};

// Refers to its own text: stays where it is.
class route_pattern {
public:
    // Throws invalid_argument naming the pattern.
    explicit route_pattern(std::string text);
    route_pattern(const route_pattern&) = delete;
    route_pattern& operator=(const route_pattern&) = delete;

    const std::string& text() const noexcept { return text_; }
    const std::vector<pattern_segment>& segments() const noexcept { return segments_; }
    const std::vector<std::string_view>& names() const noexcept { return names_; }
    // Without the names of parameters: patterns of the same shape match the same paths.
    std::string shape() const;

private:
    void add(std::string_view segment);
    void add_named(segment_kind kind, std::string_view name);

    std::string text_;
    std::vector<pattern_segment> segments_;
    std::vector<std::string_view> names_;
};

enum class path_form : std::uint8_t { plain, encoded, bad };
path_form form_of(std::string_view path) noexcept;

// Only of a path that is not bad. Less than, equal to or greater than 0: the decoded segment beside
// the text.
int compare_decoded(std::string_view segment, std::string_view text) noexcept;
std::string decode_path(std::string_view text);

// A path, which begins with a slash, as its first segment and the others.
struct split_path {
    explicit split_path(std::string_view path) noexcept {
        const std::size_t slash = path.find('/', 1);
        segment = path.substr(1, slash == std::string_view::npos ? slash : slash - 1);
        others = path.substr(1 + segment.size());
    }
    std::string_view segment;
    std::string_view others;  // begins with a slash, or is empty
};

}  // namespace weir::http::detail
