// SPDX-License-Identifier: MIT
// A cancel scope of its own tells this deadline from a timeout inside the handler.

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
                               "; it must be an error, 400 to 599");
    }
}

task<response> deadline::operator()(request& request, next inner) const {
    cancel_scope scope(limit_);
    std::optional<response> answer = co_await scope.run(inner(request));
    if (!answer) {
        co_return response::problem(code_, "the request took too long");
    }
    co_return std::move(*answer);
}

}  // namespace weir::http
