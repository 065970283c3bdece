// SPDX-License-Identifier: MIT
// Checks first what a browser says about the origin of a request, then the token. A refusal says
// why, so that a user behind a proxy or with a host name of his own finds the option he needs.

#include "base/base64.hpp"
#include "service/api/granted_request.hpp"
#include "service/api/token_line.hpp"

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/origin.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/access.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weir::service {

namespace {

constexpr std::string_view token_protocol = "weir.token.";

// The host of 'host:port' and '[::1]:port'.
std::string_view host_of(std::string_view authority) noexcept {
    if (authority.starts_with('[')) {
        return authority.substr(0, authority.find(']') + 1);
    }
    return authority.substr(0, authority.find(':'));
}

bool is_this_machine(std::string_view host) noexcept {
    return http::same_name(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

bool changes_something(http::method method) noexcept {
    return method != http::method::get && method != http::method::head &&
           method != http::method::options;
}

// A page sends its token as a WebSocket subprotocol; it becomes an Authorization header.
void take_protocol_token(http::request& request) {
    if (request.headers().contains("Authorization")) {
        return;
    }
    const std::string offered = request.headers().joined("Sec-WebSocket-Protocol");
    const std::size_t at = offered.find(token_protocol);
    if (at == std::string::npos || (at > 0 && offered[at - 1] != ' ' && offered[at - 1] != ',')) {
        return;
    }
    std::string_view coded = std::string_view(offered).substr(at + token_protocol.size());
    coded = coded.substr(0, coded.find_first_of(", \t"));
    const std::optional<std::string> token = base::decode_base64url(coded);
    if (token && !token->empty() && http::is_field_value(*token)) {
        request.headers().set("Authorization", "Bearer " + *token);
    }
}

void add_security_headers(http::headers& to) {
    to.set_default("Content-Security-Policy",
                   "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; "
                   "frame-ancestors 'none'");
    to.set_default("X-Content-Type-Options", "nosniff");
    to.set_default("Referrer-Policy", "no-referrer");
    to.set_default("Cache-Control", "no-store");
}

}  // namespace

void check_exposure(const io::address& at, const access_options& options) {
    if (options.tokens.empty() && !at.is_loopback()) {
        throw invalid_argument(
            "refusing to listen on " + at.text() +
            " without a token: anybody who reaches it could run tasks. Set a token, or listen on "
            "127.0.0.1:" +
            std::to_string(at.port()) + " behind a proxy that authenticates");
    }
}

struct access_control::rules {
    std::optional<http::response> refusal_of(const http::request& request) const;
    std::optional<http::response> refusal_of_host(const http::request& request) const;
    static std::shared_ptr<const rules> parse(const access_options& options);

    http::bearer_auth auth;
    bool has_tokens = false;
    std::vector<std::string> origins;
    std::vector<std::string> hosts;
    std::shared_ptr<detail::grant_map> grants = std::make_shared<detail::grant_map>();
    std::map<std::string, std::size_t> lines;  // of each name, a hash of its line
};

struct access_control::shared_rules {
    std::shared_ptr<const rules> current;
};

std::shared_ptr<const access_control::rules> access_control::rules::parse(
    const access_options& options) {
    auto parsed = std::make_shared<rules>();
    parsed->auth.realm("weir");
    for (std::size_t i = 0; i < options.tokens.size(); ++i) {
        const detail::token_line line = detail::token_line::parse(options.tokens[i], i + 1);
        auto grant = std::make_shared<detail::token_grant>();
        grant->name = line.name;
        grant->rights = line.rights;
        if (!parsed->grants->emplace(line.name, std::move(grant)).second) {
            throw invalid_argument("access: two tokens have the name '" + line.name + "'");
        }
        std::string scopes = line.scopes.empty() ? "admin" : line.scopes;
        std::replace(scopes.begin(), scopes.end(), ',', ' ');
        parsed->auth.token(line.secret, line.name, scopes);
        parsed->lines.emplace(line.name, std::hash<std::string>()(line.secret + " " + scopes));
        parsed->has_tokens = true;
    }
    for (const std::string_view each : options.origins) {
        std::optional<std::string> origin = http::normal_origin(each);
        if (!origin) {
            throw invalid_argument("access: '" + std::string(each) +
                                   "' is not an origin such as 'https://tasks.example.com'");
        }
        parsed->origins.push_back(std::move(*origin));
    }
    parsed->hosts.assign(options.hosts.begin(), options.hosts.end());
    return parsed;
}

access_control::access_control(const access_options& options, open_route is_open)
    : rules_(std::make_shared<shared_rules>()), is_open_(std::move(is_open)) {
    rules_->current = rules::parse(options);
}

void access_control::replace(const access_options& options) {
    std::shared_ptr<const rules> next = rules::parse(options);
    const std::shared_ptr<const rules> former = rules_->current;
    if (next->has_tokens != former->has_tokens) {
        throw invalid_argument(former->has_tokens
                                   ? "access: without a token everybody on this machine would "
                                     "have access; restart the service for that"
                                   : "access: the service was started without tokens; restart "
                                     "it to use them");
    }
    for (const auto& [name, line] : former->lines) {
        const auto same = next->lines.find(name);
        if (same == next->lines.end() || same->second != line) {
            former->grants->at(name)->is_revoked = true;
        }
    }
    rules_->current = std::move(next);
}

std::optional<http::response> access_control::rules::refusal_of_host(
    const http::request& request) const {
    const std::string_view host = host_of(request.host());
    const bool is_named = std::any_of(hosts.begin(), hosts.end(), [&](const std::string& each) {
        return http::same_name(each, host);
    });
    if (!is_this_machine(host) && !is_named) {
        return http::response::problem(
            http::status::forbidden,
            "without a token the service answers only on this machine: Host must be localhost, "
            "127.0.0.1 or [::1]");
    }
    if (request.remote_address().is_ip() && !request.remote_address().is_loopback()) {
        return http::response::problem(
            http::status::forbidden,
            "without a token the service answers only to clients on this machine");
    }
    return std::nullopt;
}

// A link from any page may open the dashboard; other requests must come from it.
std::optional<http::response> access_control::rules::refusal_of(
    const http::request& request) const {
    if (!has_tokens) {
        if (std::optional<http::response> refused = refusal_of_host(request)) {
            return refused;
        }
    }
    const http::headers& fields = request.headers();
    const bool is_upgrade = fields.contains("Upgrade");
    const std::optional<std::string_view> origin = fields.find("Origin");
    if (origin && (is_upgrade || changes_something(request.method()))) {
        const std::optional<std::string> normal = http::normal_origin(*origin);
        const bool is_known =
            normal && std::find(origins.begin(), origins.end(), *normal) != origins.end();
        if (fields.count("Origin") > 1 ||
            (!is_known && !http::is_same_host(*origin, request.host()))) {
            return http::response::problem(
                http::status::forbidden,
                "pages of another origin may not do this: Origin is not that of Host");
        }
        if (is_known) {
            return std::nullopt;
        }
    }
    // Unknown values count as foreign.
    const std::string site = fields.joined("Sec-Fetch-Site");
    const bool is_foreign =
        fields.contains("Sec-Fetch-Site") && site != "same-origin" && site != "none";
    const bool is_visit = request.method() == http::method::get && !is_upgrade &&
                          fields.get("Sec-Fetch-Mode") == "navigate";
    if (is_foreign && !is_visit) {
        return http::response::problem(
            http::status::forbidden,
            "requests from pages of other sites are refused: Sec-Fetch-Site is '" + site + "'");
    }
    return std::nullopt;
}

task<http::response> access_control::operator()(http::request& request, http::next inner) const {
    const std::shared_ptr<const rules> held = rules_->current;
    http::response answer;
    if (std::optional<http::response> refused = held->refusal_of(request)) {
        answer = std::move(*refused);
    } else if (held->has_tokens && !(is_open_ && is_open_(request.route()))) {
        take_protocol_token(request);
        request.attach(detail::granted_tokens{held->grants});
        answer = co_await held->auth(request, inner);
    } else {
        answer = co_await inner(request);
    }
    add_security_headers(answer.headers());
    co_return answer;
}

}  // namespace weir::service
