// SPDX-License-Identifier: MIT
// Middleware: who may ask (RFC 6750, 'Authorization: Bearer token').
//
//     http::bearer_auth auth;
//     auth.token(secret_of_alice, "alice", "tasks:read tasks:write");
//     auth.token(secret_of_bob, "bob", "tasks:read");
//     api.use(auth);
//     writing.use(http::require_scope("tasks:write"));
//     ... request.attached<http::principal>()->name ...
//
// Without a token, and with a wrong one, 401; with a header that is none, 400; where a scope is
// missing, 403; each with WWW-Authenticate. Tokens are kept and compared as digests, all of them
// and each to its end, so that the time taken says nothing about them: some 10 ns each. For more
// than thousands, or for those that others issue, give a function that knows them.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/principal.hpp>
#include <weir/task.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

class bearer_auth {
public:
    // The token's principal; none: it is not valid.
    using check = weir::detail::unique_function<task<std::optional<principal>>(std::string_view)>;

    bearer_auth();

    // Throws invalid_argument for a token that could never be sent, or is there already. Never
    // shows one.
    bearer_auth& token(std::string_view secret, std::string_view name,
                       std::string_view scopes = {});
    // Asked about tokens that are not known. What it throws is the request's failure.
    bearer_auth& checked_by(check other);
    // What this is the way into, for people who are asked for a password; 'api' unless set.
    bearer_auth& realm(std::string_view name);

    task<response> operator()(request& asked, next inner) const;

private:
    struct rules;
    std::shared_ptr<rules> rules_;  // copies share them
};

// 403 for principals that do not have the scope; 401 where there is none.
class require_scope {
public:
    explicit require_scope(std::string_view scope);
    task<response> operator()(request& asked, next inner) const;

private:
    std::string scope_;
};

}  // namespace weir::http
