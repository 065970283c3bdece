// SPDX-License-Identifier: MIT
// Middleware: limits the time in which a request is answered.
//
//     app.use(http::deadline(2s));
//
// At the deadline the handler is stopped where it waits, its clean-up (finally, with, defer,
// destructors) is awaited, and the client gets 503 or another status, such as 504 if the handler
// waits for another server. If the handler answers while it is being stopped, that response is
// sent. Policies inside know the time left (weir::current_deadline()). Sending a streamed body is
// not part of it: the server has limits for that.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/status.hpp>

#include <chrono>

namespace weir::http {

class deadline {
public:
    // Throws invalid_argument unless the time is above 0 and the status is 4xx or 5xx.
    template <class Rep, class Period>
    explicit deadline(std::chrono::duration<Rep, Period> limit,
                      status code = status::service_unavailable)
        : deadline(weir::detail::to_nanoseconds(limit), code, checked()) {}

    task<response> operator()(request& request, next inner) const;

private:
    struct checked {};
    deadline(clock::duration limit, status code, checked);

    clock::duration limit_;
    status code_;
};

}  // namespace weir::http
