// SPDX-License-Identifier: MIT
// What one scope implies of another is worked out once, when the list is parsed: each permission
// then has its own set of queues.

#include "service/api/access_rights.hpp"

#include "base/quoted.hpp"
#include "service/api/granted_request.hpp"

#include <weir/error.hpp>
#include <weir/http/principal.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

std::string_view word_of(permission what) noexcept {
    switch (what) {
        case permission::submit:
            return "submit";
        case permission::admin:
            return "admin";
        case permission::metrics:
            return "metrics";
        case permission::worker:
            return "worker";
        default:
            return "read";
    }
}

std::optional<permission> scope_named(std::string_view word) noexcept {
    for (const permission each :
         {permission::read, permission::submit, permission::admin, permission::metrics}) {
        if (word == word_of(each)) {
            return each;
        }
    }
    return std::nullopt;
}

bool is_worker_scope(std::string_view scope) noexcept {
    constexpr std::string_view word = "worker";
    return scope.starts_with(word) &&
           (scope.size() == word.size() ||
            std::string_view(":@,").find(scope[word.size()]) != std::string_view::npos);
}

// Whether a part of a list, between commas, begins a scope: the kinds of a worker may follow.
bool begins_scope(std::string_view part) noexcept {
    return is_worker_scope(part) ||
           scope_named(part.substr(0, std::min(part.find('@'), part.size()))).has_value();
}

[[noreturn]] void throw_forbidden(const token_grant& grant, const std::string& scope,
                                  const std::string& where) {
    http::problem_details details(http::status::forbidden);
    details.detail("the token '" + grant.name + "' does not have the scope '" + scope + "'" + where)
        .member("scope", scope)
        .header("WWW-Authenticate", "Bearer realm=\"weir\", error=\"insufficient_scope\"");
    throw http::detailed_problem(details);
}

}  // namespace

void queue_patterns::add(std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    if (pattern.empty() || (star != std::string_view::npos && star + 1 != pattern.size())) {
        throw invalid_argument(
            "after '@' there must be the name of a queue, or the beginning of names and '*', such "
            "as mail/*, and so for kinds after 'worker:'; not " +
            base::quoted(pattern, 60));
    }
    const auto place = std::lower_bound(all_.begin(), all_.end(), pattern);
    if (place == all_.end() || *place != pattern) {
        all_.emplace(place, pattern);
    }
}

void queue_patterns::add(const queue_patterns& other) {
    for (const std::string& each : other.all_) {
        add(each);
    }
}

bool queue_patterns::matches(std::string_view queue) const noexcept {
    return std::any_of(all_.begin(), all_.end(), [queue](std::string_view pattern) {
        return pattern.ends_with('*') ? queue.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : queue == pattern;
    });
}

bool queue_patterns::is_all() const noexcept {
    return std::find(all_.begin(), all_.end(), "*") != all_.end();
}

std::optional<std::string> queue_patterns::single() const {
    return all_.size() == 1 && !all_.front().ends_with('*') ? std::optional(all_.front())
                                                            : std::nullopt;
}

std::optional<std::vector<std::string>> queue_patterns::names() const {
    const bool has_patterns = std::any_of(
        all_.begin(), all_.end(), [](const std::string& each) { return each.ends_with('*'); });
    return has_patterns ? std::nullopt : std::optional(all_);
}

std::string queue_patterns::text() const {
    std::string joined;
    for (const std::string& each : all_) {
        joined += (joined.empty() ? "" : "\n") + each;
    }
    return joined;
}

access_rights access_rights::parse(std::string_view scopes) {
    access_rights parsed;
    parsed.at(permission::any).add("*");
    if (scopes.empty()) {
        scopes = "admin";
    }
    while (!scopes.empty()) {
        if (is_worker_scope(scopes)) {
            parsed.take_worker_scope(scopes);
            continue;
        }
        const std::string_view scope = scopes.substr(0, scopes.find(','));
        const bool is_last = scope.size() == scopes.size();
        const std::size_t sign = std::min(scope.find('@'), scope.size());
        const std::optional<permission> what = scope_named(scope.substr(0, sign));
        if (!what || (is_last ? false : scope.size() + 1 == scopes.size())) {
            throw invalid_argument("there is no scope " + base::quoted(scope.substr(0, sign), 20) +
                                   "; there are read, submit and admin, for all queues or as "
                                   "submit@QUEUE, worker as worker:KIND,KIND@QUEUE, and metrics");
        }
        if (*what == permission::metrics && sign != scope.size()) {
            throw invalid_argument("the scope metrics is not for single queues: " +
                                   base::quoted(scope, 60));
        }
        parsed.at(*what).add(sign == scope.size() ? "*" : scope.substr(sign + 1));
        scopes.remove_prefix(is_last ? scopes.size() : scope.size() + 1);
    }
    parsed.at(permission::read).add(parsed.at(permission::admin));
    parsed.at(permission::submit).add(parsed.at(permission::admin));
    parsed.at(permission::status).add(parsed.at(permission::read));
    parsed.at(permission::status).add(parsed.at(permission::submit));
    if (parsed.may_everywhere(permission::read)) {
        parsed.at(permission::metrics).add("*");
    }
    if (parsed.may_somewhere(permission::admin)) {
        worker_scope all;
        all.kinds.add("*");
        all.queues.add(parsed.at(permission::admin));
        parsed.workers_.push_back(std::move(all));
        parsed.at(permission::worker).add(parsed.at(permission::admin));
    }
    return parsed;
}

void access_rights::take_worker_scope(std::string_view& scopes) {
    const std::string_view whole = scopes;
    worker_scope scope;
    scopes.remove_prefix(word_of(permission::worker).size());
    if (scopes.starts_with(':')) {
        do {
            scopes.remove_prefix(1);
            const std::size_t end = std::min(scopes.find_first_of(",@"), scopes.size());
            scope.kinds.add(scopes.substr(0, end));
            scopes.remove_prefix(end);
        } while (scopes.starts_with(',') &&
                 !begins_scope(scopes.substr(1, scopes.find(',', 1) - 1)));
    } else {
        scope.kinds.add("*");
    }
    if (scopes.starts_with('@')) {
        const std::size_t end = std::min(scopes.find(','), scopes.size());
        scope.queues.add(scopes.substr(1, end - 1));
        scopes.remove_prefix(end);
    } else {
        scope.queues.add("*");
    }
    if (scopes == "," ||
        (scopes.starts_with(',') && !begins_scope(scopes.substr(1, scopes.find(',', 1) - 1)))) {
        throw invalid_argument("after a queue there must be another scope: " +
                               base::quoted(whole, 60));
    }
    scopes.remove_prefix(scopes.empty() ? 0 : 1);
    at(permission::worker).add(scope.queues);
    workers_.push_back(std::move(scope));
}

queue_patterns access_rights::worker_queues(std::string_view kind) const {
    queue_patterns all;
    for (const worker_scope& each : workers_) {
        if (each.kinds.matches(kind)) {
            all.add(each.queues);
        }
    }
    return all;
}

std::shared_ptr<const token_grant> grant_of(const http::request& request) {
    const granted_tokens* const known = request.attached<granted_tokens>();
    const http::principal* const sender = request.attached<http::principal>();
    if (known == nullptr || sender == nullptr) {
        return nullptr;
    }
    const auto found = known->by_name->find(sender->name);
    return found != known->by_name->end() ? found->second : nullptr;
}

std::string scope_text(permission what, std::string_view queue) {
    std::string text(word_of(what));
    if (!queue.empty()) {
        text += "@" + std::string(queue);
    }
    return text;
}

void throw_missing_scope(const token_grant& grant, permission what, std::string_view queue) {
    throw_forbidden(grant, scope_text(what, queue), "");
}

void throw_missing_scope(const token_grant& grant, permission what, bool is_somewhere) {
    throw_forbidden(grant, scope_text(what), is_somewhere ? "" : " for all queues");
}

void require(const std::shared_ptr<const token_grant>& grant, permission what,
             std::string_view queue) {
    if (!allows(grant, what, queue)) {
        throw_missing_scope(*grant, what, queue);
    }
}

bool allows(const std::shared_ptr<const token_grant>& grant, permission what,
            std::string_view queue) noexcept {
    return grant == nullptr || grant->rights.may(what, queue);
}

void require_worker(const std::shared_ptr<const token_grant>& grant, std::string_view kind,
                    std::string_view queue) {
    if (grant == nullptr) {
        return;
    }
    const queue_patterns queues = grant->rights.worker_queues(kind);
    if (!(queue.empty() ? queues.is_all() : queues.matches(queue))) {
        std::string scope = "worker:" + std::string(kind);
        if (!queue.empty()) {
            scope += "@" + std::string(queue);
        }
        throw_forbidden(*grant, scope, queue.empty() ? " for all queues" : "");
    }
}

bool allows_everywhere(const std::shared_ptr<const token_grant>& grant, permission what) noexcept {
    return grant == nullptr || grant->rights.may_everywhere(what);
}

}  // namespace weir::service::detail
