// SPDX-License-Identifier: MIT
// Tokens are stored as salted SHA-256 digests: all have the same length, and an attacker cannot
// choose tokens with digests that begin alike.

#include "base/ascii.hpp"
#include "base/quoted.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/problem.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

namespace weir::http {

namespace {

using digest = std::array<unsigned char, 32>;

digest digest_of(const digest& salt, std::string_view token) {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
    digest result;
    unsigned size = 0;
    if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
        EVP_DigestUpdate(context.get(), salt.data(), salt.size()) != 1 ||
        EVP_DigestUpdate(context.get(), token.data(), token.size()) != 1 ||
        EVP_DigestFinal_ex(context.get(), result.data(), &size) != 1 || size != result.size()) {
        throw std::bad_alloc();
    }
    return result;
}

// RFC 6750, b64token.
bool is_token68(std::string_view text) noexcept {
    const std::size_t end = text.find_last_not_of('=');
    if (end == std::string_view::npos) {
        return false;
    }
    const std::string_view letters = text.substr(0, end + 1);
    return std::all_of(letters.begin(), letters.end(), [](char each) {
        return base::is_alphanumeric(each) ||
               std::string_view("-._~+/").find(each) != std::string_view::npos;
    });
}

response challenge_response(status code, std::string_view detail, std::string_view challenge) {
    return response::problem(code, detail).with("WWW-Authenticate", challenge);
}

enum class credentials : unsigned char { none, token, malformed };

credentials token_in(const headers& fields, std::string_view& token) noexcept {
    const std::size_t count = fields.count("Authorization");
    if (count == 0) {
        return credentials::none;
    }
    const std::string_view value = fields.get("Authorization");
    const std::string_view scheme = value.substr(0, value.find(' '));
    if (count == 1 && !same_name(scheme, "Bearer")) {
        return is_token(scheme) ? credentials::none
                                : credentials::malformed;  // another authentication scheme
    }
    token = value.substr(scheme.size());
    token.remove_prefix(std::min(token.size(), token.find_first_not_of(' ')));
    return count == 1 && is_token68(token) ? credentials::token : credentials::malformed;
}

}  // namespace

bool principal::may(std::string_view scope) const noexcept {
    std::string_view rest = scopes;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        if (word == scope && !word.empty()) {
            return true;
        }
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return false;
}

struct bearer_auth::rules {
    rules() {
        if (RAND_bytes(salt.data(), static_cast<int>(salt.size())) != 1) {
            throw std::bad_alloc();
        }
    }

    // Compares with all tokens, so that the time does not depend on the one found.
    const principal* find(const digest& presented) const noexcept {
        const principal* found = nullptr;
        for (const auto& [known, sender] : tokens) {
            if (CRYPTO_memcmp(known.data(), presented.data(), presented.size()) == 0) {
                found = &sender;
            }
        }
        return found;
    }

    digest salt{};
    std::vector<std::pair<digest, principal>> tokens;
    check other;
    std::string realm = "api";
};

bearer_auth::bearer_auth() : rules_(std::make_shared<rules>()) {}

bearer_auth& bearer_auth::token(std::string_view secret, std::string_view name,
                                std::string_view scopes) {
    const std::string owner = "bearer_auth: the token of '" + std::string(name) + "'";
    if (!is_token68(secret)) {
        throw invalid_argument(
            owner + " cannot be sent; allowed are letters, digits and -._~+/, and = at the end");
    }
    const digest known = digest_of(rules_->salt, secret);
    if (const principal* const other = rules_->find(known)) {
        throw invalid_argument(owner + " is also the token of '" + other->name + "'");
    }
    rules_->tokens.emplace_back(known, principal{std::string(name), std::string(scopes)});
    return *this;
}

bearer_auth& bearer_auth::checked_by(check other) {
    rules_->other = std::move(other);
    return *this;
}

bearer_auth& bearer_auth::realm(std::string_view name) {
    if (!detail::is_quotable(name)) {
        throw invalid_argument("bearer_auth: the realm '" + std::string(name) +
                               "' cannot be in a header");
    }
    rules_->realm = name;
    return *this;
}

task<response> bearer_auth::operator()(request& request, next inner) const {
    const std::string challenge = "Bearer realm=\"" + rules_->realm + "\"";
    std::string_view token;
    const credentials found = token_in(request.headers(), token);
    if (found == credentials::none) {
        co_return challenge_response(status::unauthorized, "a token is required", challenge);
    }
    if (found == credentials::malformed) {
        co_return challenge_response(status::bad_request, "the header 'Authorization' is malformed",
                                     challenge + ", error=\"invalid_request\"");
    }
    std::optional<principal> sender;
    if (const principal* const known = rules_->find(digest_of(rules_->salt, token))) {
        sender = *known;
    } else if (rules_->other) {
        sender = co_await rules_->other(token);
    }
    if (!sender) {
        co_return challenge_response(status::unauthorized, "the token is not valid",
                                     challenge + ", error=\"invalid_token\"");
    }
    request.attach(std::move(*sender));
    co_return co_await inner(request);
}

require_scope::require_scope(std::string_view scope) : scope_(scope) {
    if (scope.empty() || !detail::is_quotable(scope) || scope.find(' ') != std::string_view::npos) {
        throw invalid_argument("require_scope: '" + scope_ + "' is not a scope, which is one word");
    }
}

task<response> require_scope::operator()(request& request, next inner) const {
    const principal* const sender = request.attached<principal>();
    if (sender != nullptr && sender->may(scope_)) {
        return inner(request);
    }
    return [](bool is_known, std::string scope) -> task<response> {
        if (!is_known) {
            co_return challenge_response(status::unauthorized, "a token is required", "Bearer");
        }
        co_return challenge_response(
            status::forbidden, "the request requires the scope '" + scope + "'",
            "Bearer error=\"insufficient_scope\", scope=\"" + scope + "\"");
    }(sender != nullptr, scope_);
}

}  // namespace weir::http
