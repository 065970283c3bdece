// SPDX-License-Identifier: MIT
// A scope of its own, so that a timeout inside the handler is not mistaken for this one.

#include <weir/error.hpp>
#include <weir/http/deadline.hpp>
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
                               "; it must be one of an error, 400 to 599");
    }
}

task<response> deadline::operator()(request& asked, next inner) const {
    cancel_scope scope(limit_);
    std::optional<response> answer = co_await scope.run(inner(asked));
    if (!answer) {
        co_return response::problem(code_, "the answer took too long");
    }
    co_return std::move(*answer);
}

}  // namespace weir::http
