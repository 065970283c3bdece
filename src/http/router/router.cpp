// SPDX-License-Identifier: MIT
// Routes are collected in a list. The first request builds the tree of them, and puts the
// middleware before each handler and before the router's own answers. From then on a request is one
// search of the tree and one call.

#include "http/router/route_tree.hpp"

#include <weir/error.hpp>
#include <weir/http/router.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::http {

namespace detail {

namespace {

// Calls a handler that is owned elsewhere.
class handler_reference {
public:
    explicit handler_reference(handler& target) noexcept : handler_(&target) {}
    task<response> operator()(request& request) { return (*handler_)(request); }

private:
    handler* handler_;
};

// Calls a middleware that is owned elsewhere with the handler after it.
class guarded {
public:
    guarded(middleware& before, handler inner) : before_(&before), inner_(std::move(inner)) {}
    task<response> operator()(request& request) { return (*before_)(request, next(inner_)); }

private:
    middleware* before_;
    handler inner_;  // does not move any more when the first request arrives
};

// Puts all middleware of the scope and the scopes around it before the handler.
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
    return response::problem(status::not_found, "no such path");
}

response bad_path() {
    return response::problem(status::bad_request, "the path has an invalid percent-encoding");
}

// The fallback of the scope, or of the nearest scope around it.
handler fallback_of(route_scope& scope) {
    for (route_scope* at = &scope; at != nullptr; at = at->parent) {
        if (at->fallback) {
            return handler_reference(at->fallback);
        }
    }
    return not_found;
}

// Requests to proxies have a URL as their target.
std::string_view path_of(const request& request) noexcept {
    const std::string_view path = request.path();
    if (path.starts_with('/') || path == "*") {
        return path;
    }
    const std::size_t scheme = path.find("://");
    if (scheme == std::string_view::npos) {
        return path.empty() ? "/" : "";  // 'host:port' of CONNECT has no path
    }
    const std::size_t slash = path.find('/', scheme + 3);
    return slash == std::string_view::npos ? "/" : path.substr(slash);
}

// The path, or its beginning, matches the pattern.
void set_params(request& request, const route_pattern& pattern, std::string_view path) {
    request.clear_params();
    if (pattern.names().empty()) {
        return;
    }
    for (const pattern_segment& each : pattern.segments()) {
        const split_path parts(path);
        if (each.kind == segment_kind::parameter) {
            request.add_param(each.text, decode_path(parts.segment));
        } else if (each.kind == segment_kind::rest) {
            request.add_param(each.text, decode_path(path.substr(1)));
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

// The routes of a router, and of those that were mounted in it.
class route_table {
public:
    route_table() { scopes_.push_back(std::make_unique<route_scope>()); }
    route_table(const route_table&) = delete;
    route_table& operator=(const route_table&) = delete;

    // Each changes nothing if it throws. An empty method name means any method.
    void add(std::string_view method_name, std::string_view pattern, handler answer);
    void use(middleware before);
    void set_fallback(handler answer);
    void mount(std::string_view prefix, route_table& other);

    task<response> answer(request& request);

private:
    struct mounted_scope {
        std::unique_ptr<route_pattern> prefix;
        route_scope* scope;
    };

    route_scope& own_scope() noexcept { return *scopes_.front(); }
    void check_open() const;
    void check_new(std::string_view method_name, const route_pattern& pattern) const;
    void complete();
    task<response> refuse(request& request, std::string_view path, const route_match& match);
    std::string allowed(const request& request) const;
    response not_allowed(const request& request) const;
    response options(const request& request) const;

    std::vector<std::unique_ptr<route_scope>> scopes_;  // its own first
    std::vector<std::unique_ptr<route>> routes_;
    std::vector<mounted_scope> mounts_;
    std::unordered_set<std::string>
        keys_;  // methods and shapes of all patterns, to find duplicates
    // Built by the first request.
    route_tree tree_;
    handler bad_path_;
    handler no_tunnel_;
    bool is_complete_ = false;
};

void route_table::check_open() const {
    if (is_complete_) {
        throw invalid_state("router: a router cannot be changed after its first request");
    }
}

void route_table::check_new(std::string_view method_name, const route_pattern& pattern) const {
    if (keys_.contains(key_of(method_name, pattern))) {
        throw invalid_argument("router: the pattern '" + pattern.text() +
                               "' exists already, perhaps with other names of parameters, for " +
                               std::string(method_name.empty() ? "any method" : method_name));
    }
}

void route_table::add(std::string_view method_name, std::string_view pattern, handler answer) {
    check_open();
    auto added = std::make_unique<route>();
    added->method_name = method_name;
    added->pattern = std::make_unique<route_pattern>(std::string(pattern));
    if (!answer) {
        throw invalid_argument("router: the handler of '" + std::string(pattern) + "' is empty");
    }
    added->own = std::move(answer);
    added->scope = &own_scope();
    check_new(method_name, *added->pattern);
    routes_.reserve(routes_.size() + 1);
    keys_.insert(key_of(method_name, *added->pattern));
    routes_.push_back(std::move(added));
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
        check_new(each->method_name, *patterns.back());
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
    keys_.merge(keys);
    // The rest cannot fail.
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
            each->guarded = guard(each->scope, handler_reference(each->own));
            each->entry = &each->guarded;
        }
        tree_.add(*each);
    }
    for (const mounted_scope& each : mounts_) {
        // For a router mounted at '/', the outer router answers unknown paths.
        if (!each.prefix->segments().empty()) {
            tree_.add_mount(*each.prefix, *each.scope);
        }
    }
    for (const auto& each : scopes_) {
        const route_scope* const scope = each.get();
        each->not_found = guard(scope, fallback_of(*each));
        each->not_allowed = guard(scope, [this](request& request) { return not_allowed(request); });
        each->options = guard(scope, [this](request& request) { return options(request); });
    }
    bad_path_ = guard(&own_scope(), bad_path);
    no_tunnel_ = guard(&own_scope(), not_found);
    is_complete_ = true;
}

task<response> route_table::answer(request& request) {
    if (!is_complete_) [[unlikely]] {
        complete();
    }
    const std::string_view path = path_of(request);
    const path_form form = form_of(path);
    if (form == path_form::bad) [[unlikely]] {
        return bad_path_(request);
    }
    if (path == "*") [[unlikely]] {
        route_scope& own = own_scope();
        return request.method() == method::options ? own.options(request) : own.not_found(request);
    }
    const route_match match = tree_.find(path, form, request.method(), request.method_name());
    if (match.found == nullptr) {
        return refuse(request, path, match);
    }
    request.set_route(match.found->pattern->text());
    set_params(request, *match.found->pattern, path);
    return (*match.found->entry)(request);
}

task<response> route_table::refuse(request& request, std::string_view path,
                                   const route_match& match) {
    if (match.other_method != nullptr) {
        request.set_route(match.other_method->pattern->text());
        set_params(request, *match.other_method->pattern, path);
        route_scope& scope = *match.other_method->scope;
        return request.method() == method::options ? scope.options(request)
                                                   : scope.not_allowed(request);
    }
    // A fallback may answer with a success, which a proxy takes for the beginning of a tunnel.
    if (request.method() == method::connect) [[unlikely]] {
        return no_tunnel_(request);
    }
    if (match.nearest != nullptr) {
        set_params(request, *match.prefix, path);
        return match.nearest->not_found(request);
    }
    return own_scope().not_found(request);
}

std::string route_table::allowed(const request& request) const {
    const std::string_view path = path_of(request);
    return tree_.allowed(path, form_of(path));
}

response route_table::not_allowed(const request& request) const {
    return response::problem(
               status::method_not_allowed,
               "the method " + std::string(request.method_name()) + " is not allowed for this path")
        .with("Allow", allowed(request));
}

response route_table::options(const request& request) const {
    return response(status::no_content).with("Allow", allowed(request));
}

}  // namespace detail

router::router() : table_(std::make_unique<detail::route_table>()) {}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

router& router::get(std::string_view pattern, handler answer) {
    return route(method::get, pattern, std::move(answer));
}

router& router::head(std::string_view pattern, handler answer) {
    return route(method::head, pattern, std::move(answer));
}

router& router::post(std::string_view pattern, handler answer) {
    return route(method::post, pattern, std::move(answer));
}

router& router::put(std::string_view pattern, handler answer) {
    return route(method::put, pattern, std::move(answer));
}

router& router::patch(std::string_view pattern, handler answer) {
    return route(method::patch, pattern, std::move(answer));
}

router& router::delete_(std::string_view pattern, handler answer) {
    return route(method::delete_, pattern, std::move(answer));
}

router& router::options(std::string_view pattern, handler answer) {
    return route(method::options, pattern, std::move(answer));
}

router& router::any(std::string_view pattern, handler answer) {
    table_->add({}, pattern, std::move(answer));
    return *this;
}

router& router::route(method which, std::string_view pattern, handler answer) {
    if (which == method::other) {
        throw invalid_argument("router: the pattern '" + std::string(pattern) +
                               "': give methods that http::method does not know by their name");
    }
    table_->add(name_of(which), pattern, std::move(answer));
    return *this;
}

router& router::route(std::string_view method_name, std::string_view pattern, handler answer) {
    if (!is_token(method_name)) {
        throw invalid_argument("router: the pattern '" + std::string(pattern) + "': '" +
                               std::string(method_name) + "' is not the name of a method");
    }
    table_->add(method_name, pattern, std::move(answer));
    return *this;
}

router& router::use(middleware before) {
    table_->use(std::move(before));
    return *this;
}

router& router::mount(std::string_view prefix, router other) {
    table_->mount(prefix, *other.table_);
    return *this;
}

router& router::fallback(handler answer) {
    table_->set_fallback(std::move(answer));
    return *this;
}

task<response> router::operator()(request& request) {
    return table_->answer(request);
}

}  // namespace weir::http
