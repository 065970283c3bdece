// SPDX-License-Identifier: MIT
// Middleware: bodies of requests may be so long, and no longer.
//
//     uploads.use(http::body_limit(10 << 20));
//
// For less than the server allows (server_options::max_body_bytes). What announces more is answered
// with 413 at once; what sends more without saying so, when it does.
#pragma once

#include <weir/http/handler.hpp>

#include <cstdint>

namespace weir::http {

class body_limit {
public:
    explicit body_limit(std::uint64_t bytes) noexcept : bytes_(bytes) {}

    task<response> operator()(request& asked, next inner) const {
        asked.limit_body(bytes_);
        return inner(asked);
    }

private:
    std::uint64_t bytes_;
};

}  // namespace weir::http
