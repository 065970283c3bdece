// SPDX-License-Identifier: MIT
// The origin of a page, as browsers send it: scheme, host and port. A server that changes something
// on a request of a browser, or opens a WebSocket, checks that the page came from itself:
//
//     if (!http::is_same_host(request.headers().get("Origin"), request.host())) { refuse }
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// One text for each origin: 'https://example.com:443' and 'HTTPS://Example.com' are the same. Empty
// if it is no URL, or has a user or password.
std::optional<std::string> normal_origin(std::string_view text);

// Whether a page of this origin was served by this host, a Host header. The scheme is not compared:
// a proxy may have terminated TLS.
bool is_same_host(std::string_view origin, std::string_view host);

}  // namespace weir::http
