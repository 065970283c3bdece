// SPDX-License-Identifier: MIT
// The routes of a router as a tree of segments.
#pragma once

#include "http/router/route_pattern.hpp"

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

// A router, or what is left of one that was mounted: its middleware and its own answers.
struct route_scope {
    route_scope* parent = nullptr;
    std::vector<std::unique_ptr<middleware>> before;
    handler fallback;
    // With the middleware around them; made when the table is complete.
    handler not_found;
    handler not_allowed;
    handler options;
};

struct route {
    std::string method_name;  // empty: any
    std::unique_ptr<route_pattern> pattern;
    handler own;
    route_scope* scope = nullptr;
    handler guarded;           // with the middleware around it
    handler* entry = nullptr;  // that, or own if there is none
};

// The handlers of one pattern.
class route_endpoints {
public:
    void add(route& added);
    bool empty() const noexcept { return first_ == nullptr; }
    // Null: there is none for this method.
    route* find(method which, std::string_view name) const noexcept;
    // Any of them; never null unless empty.
    route* first() const noexcept { return first_; }
    // Names of their methods, those that are answered without a handler of their own included.
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
    route* other_method = nullptr;  // none found: the first of those that have the path
    // None found at all: the innermost mounted router whose prefix has the path, if there is one.
    route_scope* nearest = nullptr;
    const route_pattern* prefix = nullptr;  // of nearest
};

class route_tree {
public:
    route_tree() noexcept;
    ~route_tree();
    void add(route& added);
    void add_mount(const route_pattern& prefix, route_scope& mounted);

    // The path must not be bad. Looks at every node once at most.
    route_match find(std::string_view path, path_form form, method which,
                     std::string_view name) const;
    // The methods with which the path is answered; all that there are for '*'. Sorted, no
    // repetitions.
    std::string allowed(std::string_view path, path_form form) const;

private:
    struct node;
    struct search;
    struct collection;
    node& place(const route_pattern& pattern);

    std::unique_ptr<node> root_;
};

}  // namespace weir::http::detail
