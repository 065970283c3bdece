// SPDX-License-Identifier: MIT
// A pattern is split at its slashes. The search of the tree goes depth first and to the most
// specific child first, so the first route found is the answer. No two ways lead to the same node:
// a search visits each node at most once, for every path. Encoded paths are compared without being
// decoded first.

#include "http/router/route_tree.hpp"

#include "base/ascii.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {

// The decoded character at the position, which is moved behind it.
char take_decoded(std::string_view text, std::size_t& at) noexcept {
    if (text[at] != '%') {
        return text[at++];
    }
    const int code = base::hex_digit_of(text[at + 1]) * 16 + base::hex_digit_of(text[at + 2]);
    at += 3;
    return static_cast<char>(code);
}

bool is_name(std::string_view text) noexcept {
    return !text.empty() && !base::is_decimal(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [](char each) { return base::is_alphanumeric(each) || each == '_'; });
}

[[noreturn]] void throw_bad_pattern(std::string_view pattern, std::string_view reason) {
    throw invalid_argument("router: the pattern '" + std::string(pattern) +
                           "': " + std::string(reason));
}

}  // namespace

route_pattern::route_pattern(std::string text) : text_(std::move(text)) {
    std::string_view rest = text_;
    if (!rest.empty() && rest.front() != '/') {
        throw_bad_pattern(text_, "a pattern must begin with '/'");
    }
    while (!rest.empty()) {
        const split_path parts(rest);
        rest = parts.others;
        if (!segments_.empty() && segments_.back().kind == segment_kind::rest) {
            throw_bad_pattern(text_, "nothing can follow the rest of the path");
        }
        if (parts.segment.empty() && !rest.empty()) {
            throw_bad_pattern(text_, "a segment is empty");
        }
        add(parts.segment);
    }
}

void route_pattern::add(std::string_view segment) {
    if (segment.size() >= 2 && segment.front() == '{' && segment.back() == '}') {
        std::string_view name = segment.substr(1, segment.size() - 2);
        if (name.ends_with("...")) {
            name.remove_suffix(3);
            add_named(segment_kind::rest, name);
        } else if (name.starts_with('*')) {
            name.remove_prefix(1);
            add_named(segment_kind::rest, name);
        } else {
            add_named(segment_kind::parameter, name);
        }
        return;
    }
    for (const char each : segment) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '{' || each == '}') {
            throw_bad_pattern(
                text_, "a parameter is a whole segment, '{name}' or, at the end, '{name...}'");
        }
        if (each == '%') {
            throw_bad_pattern(text_, "patterns are written decoded, without '%'");
        }
        if (each == '?' || each == '#' || code < 0x20 || code == 0x7f) {
            throw_bad_pattern(text_, "'?', '#' and control characters are never part of a path");
        }
    }
    segments_.push_back({segment_kind::text, segment});
}

void route_pattern::add_named(segment_kind kind, std::string_view name) {
    if (!is_name(name)) {
        throw_bad_pattern(text_,
                          "'" + std::string(name) +
                              "' is not a valid name of a parameter: letters, digits and '_', not "
                              "beginning with a digit");
    }
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
        throw_bad_pattern(text_, "there are two parameters '" + std::string(name) + "'");
    }
    names_.push_back(name);
    segments_.push_back({kind, name});
}

std::string route_pattern::shape() const {
    std::string result;
    for (const pattern_segment& each : segments_) {
        result += '/';
        result += each.kind == segment_kind::text        ? each.text
                  : each.kind == segment_kind::parameter ? "{}"
                                                         : "{...}";
    }
    return result;
}

path_form form_of(std::string_view path) noexcept {
    path_form form = path_form::plain;
    for (std::size_t at = path.find('%'); at != std::string_view::npos;
         at = path.find('%', at + 3)) {
        if (at + 2 >= path.size() || base::hex_digit_of(path[at + 1]) < 0 ||
            base::hex_digit_of(path[at + 2]) < 0 || (path[at + 1] == '0' && path[at + 2] == '0')) {
            return path_form::bad;
        }
        form = path_form::encoded;
    }
    return form;
}

int compare_decoded(std::string_view segment, std::string_view text) noexcept {
    std::size_t at = 0;
    for (const char each : text) {
        if (at == segment.size()) {
            return -1;
        }
        const auto left = static_cast<unsigned char>(take_decoded(segment, at));
        const auto right = static_cast<unsigned char>(each);
        if (left != right) {
            return left < right ? -1 : 1;
        }
    }
    return at == segment.size() ? 0 : 1;
}

std::string decode_path(std::string_view text) {
    if (text.find('%') == std::string_view::npos) {
        return std::string(text);
    }
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        decoded += take_decoded(text, at);
    }
    return decoded;
}

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
    // A proxy takes a success for the beginning of a tunnel, which `any` does not mean.
    if (which == method::connect) {
        return nullptr;
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
    std::vector<child> children;  // sorted by text
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
    search found{form, which, name, {}};
    // The pattern '' of a router that is not mounted also matches '/'.
    if (!found.go(*root_, path, 0) && path == "/") {
        found.try_here(root_->here);
    }
    return found.match;
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
