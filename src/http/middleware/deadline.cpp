// SPDX-License-Identifier: MIT
// A cancel scope of its own tells this deadline from a timeout inside the handler.

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/http/deadline.hpp>
#include <weir/outcome.hpp>
#include <weir/scope.hpp>

#include <optional>
#include <string>

namespace weir::http {

deadline::deadline(clock::duration limit, status code, checked) : limit_(limit), code_(code) {
    if (limit <= clock::duration::zero()) {
        throw invalid_argument("deadline: the time is " + std::to_string(limit.count()) +
                               " ns; it must be more than 0");
    }
    if (number_of(code) < 400 || number_of(code) > 599) {
        throw invalid_argument("deadline: the status is " + std::to_string(number_of(code)) +
                               "; it must be an error, 400 to 599");
    }
}

task<response> deadline::operator()(request& request, next inner) const {
    cancel_scope scope(limit_);
    // Settled inside: the refusal of a limiter that would have to wait past the deadline is not the
    // end of the time here, so that the client is told when to try again.
    std::optional<outcome<response>> ended = co_await scope.run(settle(inner(request)));
    if (!ended) {
        co_return response::problem(code_, "the request took too long");
    }
    co_return std::move(*ended).value();
}

}  // namespace weir::http
