// SPDX-License-Identifier: MIT
// accept() checks the request and makes the response; the connection begins when the server has
// sent that and hands its stream over. It runs as an idle wait of the server's session, so that a
// drain stops it, and the peer gets going_away at once.

#include "base/ascii.hpp"
#include "ws/handshake/handshake.hpp"

#include <weir/http/origin.hpp>
#include <weir/io/serve.hpp>
#include <weir/ws/accept.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace weir::ws::detail {

namespace {

bool is_allowed(std::string_view origin, std::string_view host, const accept_options& options) {
    if (options.origins.empty()) {
        return http::is_same_host(origin, host);
    }
    const std::optional<std::string> normal = http::normal_origin(origin);
    return std::any_of(options.origins.begin(), options.origins.end(), [&](std::string_view each) {
        return each == "*" || each == origin || (normal && http::normal_origin(each) == normal);
    });
}

// The response to an invalid handshake; empty if it is valid.
std::optional<http::response> refusal(const http::request& request, const accept_options& options) {
    using http::response;
    using http::status;
    const http::headers& fields = request.headers();
    if (request.method() != http::method::get) {
        return response::problem(status::method_not_allowed, "a WebSocket handshake uses GET")
            .with("Allow", "GET");
    }
    const auto upgrade_required = [](std::string_view detail) {
        return response::problem(status::upgrade_required, detail)
            .with("Upgrade", "websocket")
            .with("Connection", "Upgrade")
            .with("Sec-WebSocket-Version", "13");
    };
    if (request.minor_version() < 1 || !fields.lists("Upgrade", "websocket") ||
        !fields.lists("Connection", "upgrade")) {
        return upgrade_required("this path accepts WebSocket connections only");
    }
    if (fields.count("Sec-WebSocket-Version") != 1 || fields.get("Sec-WebSocket-Version") != "13") {
        return upgrade_required("the WebSocket version must be 13");
    }
    if (fields.count("Sec-WebSocket-Key") != 1 || !is_key(fields.get("Sec-WebSocket-Key"))) {
        return response::problem(status::bad_request,
                                 "Sec-WebSocket-Key must be 16 bytes in base64");
    }
    if (request.has_body()) {
        return response::problem(status::bad_request, "a WebSocket handshake has no body");
    }
    const std::size_t origins = fields.count("Origin");
    if (origins > 1 ||
        (origins == 1 && !is_allowed(fields.get("Origin"), request.host(), options))) {
        return response::problem(status::forbidden, "pages of this origin may not connect");
    }
    return std::nullopt;
}

// Empty: none of ours is offered.
std::string choose_protocol(const http::headers& fields, const accept_options& options) {
    const std::string offered = fields.joined("Sec-WebSocket-Protocol");
    for (const std::string_view ours : options.protocols) {
        bool is_offered = false;
        base::for_each_element(offered, [&](std::string_view word) {
            is_offered = is_offered || (word == ours && !word.empty());
        });
        if (is_offered) {
            return std::string(ours);
        }
    }
    return {};
}

task<> run_upgraded(http::upgraded taken, handler_function handler, std::string protocol,
                    connection_options options) {
    established opened;
    opened.stream = std::move(taken.stream);
    opened.received = std::move(taken.received);
    opened.protocol = std::move(protocol);
    task<> serving = serve(std::move(opened), std::move(handler), options);
    co_await taken.session->idle(std::move(serving));
}

}  // namespace

http::response accept(const http::request& request, handler_function handler,
                      const accept_options& options) {
    check(options.connection);
    if (std::optional<http::response> refused = refusal(request, options)) {
        return std::move(*refused);
    }
    std::string protocol = choose_protocol(request.headers(), options);
    const std::string answer = accept_for(request.header("Sec-WebSocket-Key"));
    auto take_over = [handler = std::move(handler), protocol,
                      limits = options.connection](http::upgraded taken) mutable -> task<> {
        return run_upgraded(std::move(taken), std::move(handler), std::move(protocol), limits);
    };
    http::response made = http::response::upgrade("websocket", std::move(take_over));
    made.headers().set("Sec-WebSocket-Accept", answer);
    if (!protocol.empty()) {
        made.headers().set("Sec-WebSocket-Protocol", protocol);
    }
    return made;
}

}  // namespace weir::ws::detail
