// SPDX-License-Identifier: MIT
// Middleware: a request is answered within a time, or given up.
//
//     app.use(http::deadline(2s));
//
// At the deadline the handler is stopped where it waits, its clean-up (finally, with, defer,
// destructors) is awaited, and the client gets 503, or another status: 504 where the waiting was
// for somebody else. A handler that answers while it is being stopped is listened to. Policies
// inside know how much time is left (weir::current_deadline()). The time for sending a streamed
// body does not count: the server has limits for that.
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

    task<response> operator()(request& asked, next inner) const;

private:
    struct checked {};
    deadline(clock::duration limit, status code, checked);

    clock::duration limit_;
    status code_;
};

}  // namespace weir::http
