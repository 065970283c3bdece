// SPDX-License-Identifier: MIT
// A server's handshake: the request is checked and answered here; the connection begins when the
// server has sent the answer and hands its stream over. It runs as an idle wait of the server's, so
// that a drain stops it, and the peer is told going_away at once.

#include "ws/handshake/handshake.hpp"

#include <weir/http/url.hpp>
#include <weir/io/serve.hpp>
#include <weir/ws/accept.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace weir::ws::detail {

namespace {

// The words of all headers of that name.
template <class Visit>
void each_word(const http::headers& fields, std::string_view name, Visit visit) {
    for (const auto& [field, value] : fields) {
        if (!http::same_name(field, name)) {
            continue;
        }
        for (std::size_t begin = 0; begin <= value.size();) {
            const std::size_t end = std::min(value.find(',', begin), value.size());
            std::string_view word = value.substr(begin, end - begin);
            begin = end + 1;
            while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) {
                word.remove_prefix(1);
            }
            while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) {
                word.remove_suffix(1);
            }
            if (!word.empty()) {
                visit(word);
            }
        }
    }
}

// 'https://example.com:443' and 'HTTPS://Example.com' are one.
std::optional<std::string> normal_origin(std::string_view text) {
    const std::optional<http::url> parsed = http::url::try_parse(text);
    if (!parsed || parsed->has_credentials()) {
        return std::nullopt;
    }
    return parsed->origin();
}

bool is_same_host(std::string_view origin, std::string_view host) {
    const std::optional<http::url> page = http::url::try_parse(origin);
    if (!page) {
        return false;
    }
    // With the scheme of the page: a proxy may have taken TLS off, and ports have their defaults.
    const std::optional<http::url> here =
        http::url::try_parse(std::string(page->scheme()) + "://" + std::string(host));
    return here && here->authority() == page->authority();
}

bool is_allowed(std::string_view origin, std::string_view host, const accept_options& options) {
    if (options.origins.empty()) {
        return is_same_host(origin, host);
    }
    const std::optional<std::string> normal = normal_origin(origin);
    return std::any_of(options.origins.begin(), options.origins.end(), [&](std::string_view each) {
        return each == "*" || each == origin || (normal && normal_origin(each) == normal);
    });
}

// Empty: all is well.
std::optional<http::response> refusal(const http::request& asked, const accept_options& options) {
    using http::response;
    using http::status;
    const http::headers& fields = asked.headers();
    if (asked.method() != http::method::get) {
        return response::problem(status::method_not_allowed, "WebSocket begins with GET")
            .with("Allow", "GET");
    }
    const auto upgrade_required = [](std::string_view detail) {
        return response::problem(status::upgrade_required, detail)
            .with("Upgrade", "websocket")
            .with("Connection", "Upgrade")
            .with("Sec-WebSocket-Version", "13");
    };
    if (asked.minor_version() < 1 || !fields.lists("Upgrade", "websocket") ||
        !fields.lists("Connection", "upgrade")) {
        return upgrade_required("this is for WebSocket only");
    }
    if (fields.count("Sec-WebSocket-Version") != 1 || fields.get("Sec-WebSocket-Version") != "13") {
        return upgrade_required("the version of WebSocket must be 13");
    }
    if (fields.count("Sec-WebSocket-Key") != 1 || !is_key(fields.get("Sec-WebSocket-Key"))) {
        return response::problem(status::bad_request,
                                 "Sec-WebSocket-Key must be 16 bytes in base64");
    }
    if (asked.has_body()) {
        return response::problem(status::bad_request, "WebSocket begins without a body");
    }
    const std::size_t origins = fields.count("Origin");
    if (origins > 1 || (origins == 1 && !is_allowed(fields.get("Origin"), asked.host(), options))) {
        return response::problem(status::forbidden, "pages of this origin may not connect");
    }
    return std::nullopt;
}

std::string chosen_protocol(const http::headers& fields, const accept_options& options) {
    for (const std::string_view ours : options.protocols) {
        bool is_offered = false;
        each_word(fields, "Sec-WebSocket-Protocol",
                  [&](std::string_view word) { is_offered = is_offered || word == ours; });
        if (is_offered) {
            return std::string(ours);
        }
    }
    return {};
}

task<> go_on(http::upgraded given, handler_function handler, std::string protocol,
             connection_options options) {
    established begun;
    begun.stream = std::move(given.stream);
    begun.received = std::move(given.received);
    begun.protocol = std::move(protocol);
    task<> serving = serve(std::move(begun), std::move(handler), options);
    co_await given.session->idle(std::move(serving));
}

}  // namespace

http::response accept(const http::request& asked, handler_function handler,
                      const accept_options& options) {
    check(options.connection);
    if (std::optional<http::response> refused = refusal(asked, options)) {
        return std::move(*refused);
    }
    std::string protocol = chosen_protocol(asked.headers(), options);
    const std::string answer = accept_for(asked.header("Sec-WebSocket-Key"));
    auto take_over = [handler = std::move(handler), protocol,
                      limits = options.connection](http::upgraded given) mutable -> task<> {
        return go_on(std::move(given), std::move(handler), std::move(protocol), limits);
    };
    http::response made = http::response::upgrade("websocket", std::move(take_over));
    made.headers().set("Sec-WebSocket-Accept", answer);
    if (!protocol.empty()) {
        made.headers().set("Sec-WebSocket-Protocol", protocol);
    }
    return made;
}

}  // namespace weir::ws::detail
