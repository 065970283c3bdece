// SPDX-License-Identifier: MIT
// Routes are gathered in a list; the first request makes the tree of them, and puts the middleware
// before each handler and before the router's own answers. From then on a request is one search of
// the tree and one call.

#include "http/router/route_table.hpp"

#include <weir/error.hpp>

#include <utility>

namespace weir::http::detail {

namespace {

// A handler that somebody else owns.
class borrowed {
public:
    explicit borrowed(handler& of) noexcept : of_(&of) {}
    task<response> operator()(request& asked) { return (*of_)(asked); }

private:
    handler* of_;
};

class guarded {
public:
    guarded(middleware& before, handler inner) : before_(&before), inner_(std::move(inner)) {}
    task<response> operator()(request& asked) { return (*before_)(asked, next(inner_)); }

private:
    middleware* before_;
    handler inner_;  // no longer moves when the first request comes
};

// With all middleware from the scope outwards before it.
handler guard(const route_scope* scope, handler inner) {
    for (; scope != nullptr; scope = scope->parent) {
        for (std::size_t i = scope->before.size(); i-- > 0;) {
            inner = guarded(*scope->before[i], std::move(inner));
        }
    }
    return inner;
}

bool has_middleware(const route_scope* scope) noexcept {
    while (scope != nullptr && scope->before.empty()) {
        scope = scope->parent;
    }
    return scope != nullptr;
}

response not_found() {
    return response::problem(status::not_found, "there is nothing at this path");
}

response bad_path() {
    return response::problem(status::bad_request, "the path is not encoded as it should be");
}

// The one given, or given for the routers that it is mounted in.
handler fallback_of(route_scope& scope) {
    for (route_scope* at = &scope; at != nullptr; at = at->parent) {
        if (at->fallback) {
            return borrowed(at->fallback);
        }
    }
    return not_found;
}

// Requests to proxies have the whole URL as their target.
std::string_view path_of(const request& asked) noexcept {
    const std::string_view path = asked.path();
    if (path.starts_with('/') || path == "*") {
        return path;
    }
    const std::size_t scheme = path.find("://");
    if (scheme == std::string_view::npos) {
        return path.empty() ? "/" : "";  // 'host:port' of CONNECT is no path
    }
    const std::size_t slash = path.find('/', scheme + 3);
    return slash == std::string_view::npos ? "/" : path.substr(slash);
}

// The path matches the pattern, at least with its beginning.
void set_params(request& asked, const route_pattern& pattern, std::string_view path) {
    asked.clear_params();
    if (pattern.names().empty()) {
        return;
    }
    for (const pattern_segment& each : pattern.segments()) {
        const split_path parts(path);
        if (each.kind == segment_kind::parameter) {
            asked.add_param(each.text, decode_path(parts.segment));
        } else if (each.kind == segment_kind::rest) {
            asked.add_param(each.text, decode_path(path.substr(1)));
            break;
        }
        path = parts.others;
    }
}

std::string key_of(std::string_view method_name, const route_pattern& pattern) {
    return std::string(method_name) + ' ' + pattern.shape();
}

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) noexcept {
    for (T& each : from) {
        to.push_back(std::move(each));
    }
    from.clear();
}

}  // namespace

void route_table::check_open() const {
    if (is_complete_) {
        throw invalid_state("router: it cannot be changed after its first request");
    }
}

void route_table::refuse_known(std::string_view method_name, const route_pattern& pattern) const {
    if (known_.contains(key_of(method_name, pattern))) {
        throw invalid_argument("router: the pattern '" + pattern.text() +
                               "' is there already, perhaps with other names of parameters, for " +
                               std::string(method_name.empty() ? "any method" : method_name));
    }
}

void route_table::add(std::string_view method_name, std::string_view pattern, handler answer) {
    check_open();
    auto made = std::make_unique<route>();
    made->method_name = method_name;
    made->pattern = std::make_unique<route_pattern>(std::string(pattern));
    if (!answer) {
        throw invalid_argument("router: the handler of '" + std::string(pattern) + "' is empty");
    }
    made->own = std::move(answer);
    made->scope = &own_scope();
    refuse_known(method_name, *made->pattern);
    routes_.reserve(routes_.size() + 1);
    known_.insert(key_of(method_name, *made->pattern));
    routes_.push_back(std::move(made));
}

void route_table::use(middleware before) {
    check_open();
    if (!before) {
        throw invalid_argument("router: a middleware is empty");
    }
    own_scope().before.push_back(std::make_unique<middleware>(std::move(before)));
}

void route_table::set_fallback(handler answer) {
    check_open();
    if (!answer) {
        throw invalid_argument("router: the fallback is empty");
    }
    own_scope().fallback = std::move(answer);
}

void route_table::mount(std::string_view prefix, route_table& other) {
    check_open();
    other.check_open();
    const std::string before(prefix == "/" ? "" : prefix);
    auto mounted = std::make_unique<route_pattern>(before);
    if (before.ends_with('/') ||
        (!mounted->segments().empty() && mounted->segments().back().kind == segment_kind::rest)) {
        throw invalid_argument("router: the prefix '" + before +
                               "' must end in text or in a parameter");
    }
    std::vector<std::unique_ptr<route_pattern>> patterns;
    for (const auto& each : other.routes_) {
        patterns.push_back(std::make_unique<route_pattern>(before + each->pattern->text()));
        refuse_known(each->method_name, *patterns.back());
    }
    std::vector<mounted_scope> mounts;
    for (const mounted_scope& each : other.mounts_) {
        mounts.push_back(
            {std::make_unique<route_pattern>(before + each.prefix->text()), each.scope});
    }
    routes_.reserve(routes_.size() + patterns.size());
    scopes_.reserve(scopes_.size() + other.scopes_.size());
    mounts_.reserve(mounts_.size() + mounts.size() + 1);
    std::unordered_set<std::string> keys;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        keys.insert(key_of(other.routes_[i]->method_name, *patterns[i]));
    }
    known_.merge(keys);
    // What follows cannot fail.
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        other.routes_[i]->pattern = std::move(patterns[i]);
    }
    route_scope& inner = other.own_scope();
    inner.parent = &own_scope();
    move_all(other.routes_, routes_);
    move_all(other.scopes_, scopes_);
    move_all(mounts, mounts_);
    mounts_.push_back({std::move(mounted), &inner});
}

void route_table::complete() {
    for (const auto& each : routes_) {
        each->entry = &each->own;
        if (has_middleware(each->scope)) {
            each->guarded = guard(each->scope, borrowed(each->own));
            each->entry = &each->guarded;
        }
        tree_.add(*each);
    }
    for (const mounted_scope& each : mounts_) {
        // Of a router mounted at '/', the outer one answers what is not found.
        if (!each.prefix->segments().empty()) {
            tree_.add_mount(*each.prefix, *each.scope);
        }
    }
    for (const auto& each : scopes_) {
        const route_scope* const scope = each.get();
        each->not_found = guard(scope, fallback_of(*each));
        each->not_allowed = guard(scope, [this](request& asked) { return not_allowed(asked); });
        each->options = guard(scope, [this](request& asked) { return options(asked); });
    }
    bad_path_ = guard(&own_scope(), bad_path);
    is_complete_ = true;
}

task<response> route_table::answer(request& asked) {
    if (!is_complete_) [[unlikely]] {
        complete();
    }
    const std::string_view path = path_of(asked);
    const path_form form = form_of(path);
    if (form == path_form::bad) [[unlikely]] {
        return bad_path_(asked);
    }
    if (path == "*") [[unlikely]] {
        route_scope& own = own_scope();
        return asked.method() == method::options ? own.options(asked) : own.not_found(asked);
    }
    const route_match match = tree_.find(path, form, asked.method(), asked.method_name());
    if (match.found == nullptr) {
        return refuse(asked, path, match);
    }
    asked.set_route(match.found->pattern->text());
    set_params(asked, *match.found->pattern, path);
    return (*match.found->entry)(asked);
}

task<response> route_table::refuse(request& asked, std::string_view path,
                                   const route_match& match) {
    if (match.other_method != nullptr) {
        asked.set_route(match.other_method->pattern->text());
        set_params(asked, *match.other_method->pattern, path);
        route_scope& scope = *match.other_method->scope;
        return asked.method() == method::options ? scope.options(asked) : scope.not_allowed(asked);
    }
    if (match.nearest != nullptr) {
        set_params(asked, *match.prefix, path);
        return match.nearest->not_found(asked);
    }
    return own_scope().not_found(asked);
}

std::string route_table::allowed(const request& asked) const {
    const std::string_view path = path_of(asked);
    return tree_.allowed(path, form_of(path));
}

response route_table::not_allowed(const request& asked) const {
    return response::problem(status::method_not_allowed,
                             "this path is not for " + std::string(asked.method_name()))
        .with("Allow", allowed(asked));
}

response route_table::options(const request& asked) const {
    return response(status::no_content).with("Allow", allowed(asked));
}

}  // namespace weir::http::detail
