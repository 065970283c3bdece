// SPDX-License-Identifier: MIT
// Middleware: limits the size of request bodies.
//
//     uploads.use(http::body_limit(10 << 20));
//
// For a lower limit than server_options::max_body_bytes. A request that declares a larger body is
// answered with 413 at once, one that sends more without declaring it when the limit is exceeded.
#pragma once

#include <weir/http/handler.hpp>

#include <cstdint>

namespace weir::http {

class body_limit {
public:
    explicit body_limit(std::uint64_t bytes) noexcept : bytes_(bytes) {}

    task<response> operator()(request& request, next inner) const {
        request.limit_body(bytes_);
        return inner(request);
    }

private:
    std::uint64_t bytes_;
};

}  // namespace weir::http
