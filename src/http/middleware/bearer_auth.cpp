// SPDX-License-Identifier: MIT
// A token is known by its SHA-256, mixed with random bytes: what is compared has one length, and
// nobody can choose tokens whose digests begin alike.

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
    digest made;
    unsigned size = 0;
    if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
        EVP_DigestUpdate(context.get(), salt.data(), salt.size()) != 1 ||
        EVP_DigestUpdate(context.get(), token.data(), token.size()) != 1 ||
        EVP_DigestFinal_ex(context.get(), made.data(), &size) != 1 || size != made.size()) {
        throw std::bad_alloc();
    }
    return made;
}

// RFC 6750, b64token.
bool is_token68(std::string_view text) noexcept {
    const std::size_t end = text.find_last_not_of('=');
    if (end == std::string_view::npos) {
        return false;
    }
    const std::string_view letters = text.substr(0, end + 1);
    return std::all_of(letters.begin(), letters.end(), [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
               (each >= '0' && each <= '9') ||
               std::string_view("-._~+/").find(each) != std::string_view::npos;
    });
}

// Of a quoted string in a header.
bool is_quotable(std::string_view text) noexcept {
    return is_field_value(text) && text.find_first_of("\"\\") == std::string_view::npos;
}

response refusal(status code, std::string_view detail, std::string_view challenge) {
    return response::problem(code, detail).with("WWW-Authenticate", challenge);
}

enum class sent : unsigned char { nothing, token, garbage };

sent token_in(const headers& fields, std::string_view& token) noexcept {
    const std::size_t count = fields.count("Authorization");
    if (count == 0) {
        return sent::nothing;
    }
    const std::string_view value = fields.get("Authorization");
    const std::string_view scheme = value.substr(0, value.find(' '));
    if (count == 1 && !same_name(scheme, "Bearer")) {
        return is_token(scheme) ? sent::nothing : sent::garbage;  // another way to prove oneself
    }
    token = value.substr(scheme.size());
    token.remove_prefix(std::min(token.size(), token.find_first_not_of(' ')));
    return count == 1 && is_token68(token) ? sent::token : sent::garbage;
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

    // Looks at all of them, whichever it is.
    const principal* find(const digest& presented) const noexcept {
        const principal* found = nullptr;
        for (const auto& [known, who] : tokens) {
            if (CRYPTO_memcmp(known.data(), presented.data(), presented.size()) == 0) {
                found = &who;
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
    const std::string whose = "bearer_auth: the token of '" + std::string(name) + "'";
    if (!is_token68(secret)) {
        throw invalid_argument(whose +
                               " cannot be sent: letters, digits and -._~+/ can, and = at the end");
    }
    const digest known = digest_of(rules_->salt, secret);
    if (const principal* const other = rules_->find(known)) {
        throw invalid_argument(whose + " is also that of '" + other->name + "'");
    }
    rules_->tokens.emplace_back(known, principal{std::string(name), std::string(scopes)});
    return *this;
}

bearer_auth& bearer_auth::checked_by(check other) {
    rules_->other = std::move(other);
    return *this;
}

bearer_auth& bearer_auth::realm(std::string_view name) {
    if (!is_quotable(name)) {
        throw invalid_argument("bearer_auth: the realm '" + std::string(name) +
                               "' cannot be in a header");
    }
    rules_->realm = name;
    return *this;
}

task<response> bearer_auth::operator()(request& asked, next inner) const {
    const std::string challenge = "Bearer realm=\"" + rules_->realm + "\"";
    std::string_view token;
    const sent what = token_in(asked.headers(), token);
    if (what == sent::nothing) {
        co_return refusal(status::unauthorized, "a token is needed", challenge);
    }
    if (what == sent::garbage) {
        co_return refusal(status::bad_request, "the header 'Authorization' is none",
                          challenge + ", error=\"invalid_request\"");
    }
    std::optional<principal> who;
    if (const principal* const known = rules_->find(digest_of(rules_->salt, token))) {
        who = *known;
    } else if (rules_->other) {
        who = co_await rules_->other(token);
    }
    if (!who) {
        co_return refusal(status::unauthorized, "the token is not valid",
                          challenge + ", error=\"invalid_token\"");
    }
    asked.attach(std::move(*who));
    co_return co_await inner(asked);
}

require_scope::require_scope(std::string_view scope) : scope_(scope) {
    if (scope.empty() || !is_quotable(scope) || scope.find(' ') != std::string_view::npos) {
        throw invalid_argument("require_scope: '" + scope_ + "' is no scope: one word is");
    }
}

task<response> require_scope::operator()(request& asked, next inner) const {
    const principal* const who = asked.attached<principal>();
    if (who != nullptr && who->may(scope_)) {
        return inner(asked);
    }
    return [](bool is_known, std::string scope) -> task<response> {
        if (!is_known) {
            co_return refusal(status::unauthorized, "a token is needed", "Bearer");
        }
        co_return refusal(status::forbidden, "this needs the scope '" + scope + "'",
                          "Bearer error=\"insufficient_scope\", scope=\"" + scope + "\"");
    }(who != nullptr, scope_);
}

}  // namespace weir::http
