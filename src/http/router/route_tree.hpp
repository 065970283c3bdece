// SPDX-License-Identifier: MIT
// Patterns of routes, and the tree of segments that finds the route of a path.
#pragma once

#include <weir/http/handler.hpp>
#include <weir/http/method.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http::detail {

enum class segment_kind : std::uint8_t { text, parameter, rest };

struct pattern_segment {
    segment_kind kind;
    std::string_view text;  // the text itself, or the name of the parameter
};

// Not movable: the segments refer to the text.
class route_pattern {
public:
    // Throws invalid_argument that shows the pattern.
    explicit route_pattern(std::string text);
    route_pattern(const route_pattern&) = delete;
    route_pattern& operator=(const route_pattern&) = delete;

    const std::string& text() const noexcept { return text_; }
    const std::vector<pattern_segment>& segments() const noexcept { return segments_; }
    const std::vector<std::string_view>& names() const noexcept { return names_; }
    // The pattern without the names of parameters: equal shapes match the same paths.
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

// Both need a path that is not bad. Compares the decoded segment with the text: less than, equal to
// or greater than 0.
int compare_decoded(std::string_view segment, std::string_view text) noexcept;
std::string decode_path(std::string_view text);

// Splits a path, which begins with a slash, into its first segment and the rest.
struct split_path {
    explicit split_path(std::string_view path) noexcept {
        const std::size_t slash = path.find('/', 1);
        segment = path.substr(1, slash == std::string_view::npos ? slash : slash - 1);
        others = path.substr(1 + segment.size());
    }
    std::string_view segment;
    std::string_view others;  // empty, or begins with a slash
};

// The middleware and the own responses of a router, mounted or not.
struct route_scope {
    route_scope* parent = nullptr;
    std::vector<std::unique_ptr<middleware>> before;
    handler fallback;
    // Including the middleware; built by the first request.
    handler not_found;
    handler not_allowed;
    handler options;
};

struct route {
    std::string method_name;  // empty: any
    std::unique_ptr<route_pattern> pattern;
    handler own;
    route_scope* scope = nullptr;
    handler guarded;           // including the middleware
    handler* entry = nullptr;  // guarded, or own if there is no middleware
};

// The routes of one pattern, by method.
class route_endpoints {
public:
    void add(route& added);
    bool empty() const noexcept { return first_ == nullptr; }
    // Null if there is no route for the method.
    route* find(method which, std::string_view name) const noexcept;
    // Null only if empty.
    route* first() const noexcept { return first_; }
    // Appends the names of all methods that are answered, HEAD and OPTIONS included.
    void collect(std::vector<std::string_view>& methods) const;

private:
    static constexpr std::size_t known_methods = static_cast<std::size_t>(method::other);
    std::array<route*, known_methods> known_{};
    std::vector<route*> others_;
    route* any_ = nullptr;
    route* first_ = nullptr;
};

struct route_match {
    route* found = nullptr;
    route* other_method = nullptr;  // if none was found: the first route with that path
    // If the path was not found: the innermost mounted router whose prefix matches, or null.
    route_scope* nearest = nullptr;
    const route_pattern* prefix = nullptr;  // of nearest
};

class route_tree {
public:
    route_tree() noexcept;
    ~route_tree();
    void add(route& added);
    void add_mount(const route_pattern& prefix, route_scope& mounted);

    // The path must not be bad. Visits each node at most once.
    route_match find(std::string_view path, path_form form, method which,
                     std::string_view name) const;
    // The methods that the path has, sorted; for '*' those of all paths.
    std::string allowed(std::string_view path, path_form form) const;

private:
    struct node;
    struct search;
    struct collection;
    node& place(const route_pattern& pattern);

    std::unique_ptr<node> root_;
};

}  // namespace weir::http::detail
