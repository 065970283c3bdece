// SPDX-License-Identifier: MIT
// Middleware: authenticates clients by tokens (RFC 6750, 'Authorization: Bearer token').
//
//     http::bearer_auth auth;
//     auth.token(secret_of_alice, "alice", "tasks:read tasks:write");
//     auth.token(secret_of_bob, "bob", "tasks:read");
//     api.use(auth);
//     writing.use(http::require_scope("tasks:write"));
//     ... request.attached<http::principal>()->name ...
//
// A request without a token or with an unknown one is answered with 401, a malformed header with
// 400, a missing scope with 403; each with WWW-Authenticate. Tokens are kept and compared as
// digests, all of them and each completely, so that the time taken reveals nothing about them: some
// 10 ns per token. For more than some thousand tokens, or for tokens issued elsewhere, give a
// function that checks them.
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
    // Gives the token's principal; empty if the token is not valid.
    using check = weir::detail::unique_function<task<std::optional<principal>>(std::string_view)>;

    bearer_auth();

    // Throws invalid_argument for a token that cannot be sent in a header, or that was given
    // before. No message contains a token.
    bearer_auth& token(std::string_view secret, std::string_view name,
                       std::string_view scopes = {});
    // Called for tokens that were not given with token(). An exception of it fails the request.
    bearer_auth& checked_by(check other);
    // The protected area, as browsers show it to users; default: 'api'.
    bearer_auth& realm(std::string_view name);

    task<response> operator()(request& request, next inner) const;

private:
    struct rules;
    std::shared_ptr<rules> rules_;  // shared by copies
};

// Middleware: answers 403 if the principal lacks the scope, 401 if there is no principal.
class require_scope {
public:
    explicit require_scope(std::string_view scope);
    task<response> operator()(request& request, next inner) const;

private:
    std::string scope_;
};

}  // namespace weir::http
