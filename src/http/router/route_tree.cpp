// SPDX-License-Identifier: MIT
// Depth first, and the most specific child first: what is found first is the answer. No two ways
// lead to the same node, so a search visits each once at most, however cunning the path is.

#include "http/router/route_tree.hpp"

#include <algorithm>

namespace weir::http::detail {

void route_endpoints::add(route& added) {
    if (first_ == nullptr) {
        first_ = &added;
    }
    if (added.method_name.empty()) {
        any_ = &added;
    } else if (const method which = method_of(added.method_name); which != method::other) {
        known_[static_cast<std::size_t>(which)] = &added;
    } else {
        others_.push_back(&added);
    }
}

route* route_endpoints::find(method which, std::string_view name) const noexcept {
    if (which == method::other) {
        for (route* const each : others_) {
            if (each->method_name == name) {
                return each;
            }
        }
        return any_;
    }
    if (route* const own = known_[static_cast<std::size_t>(which)]) {
        return own;
    }
    route* const get = known_[static_cast<std::size_t>(method::get)];
    return which == method::head && get != nullptr ? get : any_;
}

void route_endpoints::collect(std::vector<std::string_view>& methods) const {
    if (empty()) {
        return;
    }
    methods.push_back(name_of(method::options));
    for (const route* const each : known_) {
        if (each != nullptr) {
            methods.push_back(each->method_name);
        }
    }
    if (known_[static_cast<std::size_t>(method::get)] != nullptr) {
        methods.push_back(name_of(method::head));
    }
    for (const route* const each : others_) {
        methods.push_back(each->method_name);
    }
}

struct route_tree::node {
    struct child {
        std::string text;
        std::unique_ptr<node> to;
    };
    std::vector<child> children;  // by their texts
    std::unique_ptr<node> parameter;
    route_endpoints here;
    route_endpoints rest;
    route_scope* mounted = nullptr;
    const route_pattern* prefix = nullptr;

    const node* find(std::string_view segment, path_form form) const noexcept {
        const auto at = std::lower_bound(children.begin(), children.end(), segment,
                                         [&](const child& each, std::string_view wanted) {
                                             return order(wanted, each.text, form) > 0;
                                         });
        return at != children.end() && order(segment, at->text, form) == 0 ? at->to.get() : nullptr;
    }

private:
    static int order(std::string_view segment, const std::string& text, path_form form) noexcept {
        return form == path_form::plain ? segment.compare(text) : compare_decoded(segment, text);
    }
};

struct route_tree::search {
    path_form form;
    method which;
    std::string_view name;
    route_match match;
    std::size_t nearest_depth = 0;

    bool try_here(const route_endpoints& endpoints) noexcept {
        if (endpoints.empty()) {
            return false;
        }
        match.found = endpoints.find(which, name);
        if (match.found == nullptr && match.other_method == nullptr) {
            match.other_method = endpoints.first();
        }
        return match.found != nullptr;
    }

    bool go(const node& at, std::string_view path, std::size_t depth) {
        if (path.empty()) {
            if (try_here(at.here)) {
                return true;
            }
        } else {
            const split_path parts(path);
            if (const node* const child = at.find(parts.segment, form)) {
                if (go(*child, parts.others, depth + 1)) {
                    return true;
                }
            }
            if (at.parameter != nullptr && !parts.segment.empty()) {
                if (go(*at.parameter, parts.others, depth + 1)) {
                    return true;
                }
            }
            if (try_here(at.rest)) {
                return true;
            }
        }
        if (at.mounted != nullptr && depth > nearest_depth) {
            nearest_depth = depth;
            match.nearest = at.mounted;
            match.prefix = at.prefix;
        }
        return false;
    }
};

struct route_tree::collection {
    path_form form;
    std::vector<std::string_view> methods;

    void all(const node& at) {
        at.here.collect(methods);
        at.rest.collect(methods);
        for (const node::child& each : at.children) {
            all(*each.to);
        }
        if (at.parameter != nullptr) {
            all(*at.parameter);
        }
    }

    void matching(const node& at, std::string_view path) {
        if (path.empty()) {
            at.here.collect(methods);
            return;
        }
        const split_path parts(path);
        if (const node* const child = at.find(parts.segment, form)) {
            matching(*child, parts.others);
        }
        if (at.parameter != nullptr && !parts.segment.empty()) {
            matching(*at.parameter, parts.others);
        }
        at.rest.collect(methods);
    }
};

route_tree::route_tree() noexcept = default;
route_tree::~route_tree() = default;

route_tree::node& route_tree::place(const route_pattern& pattern) {
    if (root_ == nullptr) {
        root_ = std::make_unique<node>();
    }
    node* at = root_.get();
    for (const pattern_segment& each : pattern.segments()) {
        if (each.kind == segment_kind::parameter) {
            if (at->parameter == nullptr) {
                at->parameter = std::make_unique<node>();
            }
            at = at->parameter.get();
        } else if (each.kind == segment_kind::text) {
            auto found = std::lower_bound(
                at->children.begin(), at->children.end(), each.text,
                [](const node::child& known, std::string_view text) { return known.text < text; });
            if (found == at->children.end() || found->text != each.text) {
                found =
                    at->children.insert(found, {std::string(each.text), std::make_unique<node>()});
            }
            at = found->to.get();
        }
    }
    return *at;
}

void route_tree::add(route& added) {
    node& at = place(*added.pattern);
    const auto& segments = added.pattern->segments();
    const bool is_rest = !segments.empty() && segments.back().kind == segment_kind::rest;
    (is_rest ? at.rest : at.here).add(added);
}

void route_tree::add_mount(const route_pattern& prefix, route_scope& mounted) {
    node& at = place(prefix);
    if (at.mounted == nullptr) {
        at.mounted = &mounted;
        at.prefix = &prefix;
    }
}

route_match route_tree::find(std::string_view path, path_form form, method which,
                             std::string_view name) const {
    if (root_ == nullptr) {
        return {};
    }
    search by{form, which, name, {}};
    // The pattern '' of a router that is not mounted: an empty path is the same as '/'.
    if (!by.go(*root_, path, 0) && path == "/") {
        by.try_here(root_->here);
    }
    return by.match;
}

std::string route_tree::allowed(std::string_view path, path_form form) const {
    collection found{form, {}};
    if (root_ != nullptr) {
        if (path == "*") {
            found.all(*root_);
        } else {
            found.matching(*root_, path);
            if (path == "/") {
                root_->here.collect(found.methods);
            }
        }
    }
    std::vector<std::string_view>& methods = found.methods;
    std::sort(methods.begin(), methods.end());
    methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
    std::string list;
    for (const std::string_view each : methods) {
        list += list.empty() ? "" : ", ";
        list += each;
    }
    return list;
}

}  // namespace weir::http::detail
