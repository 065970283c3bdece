// SPDX-License-Identifier: MIT
// An error is turned into its answer outside of the catch block, where it may be reported at
// leisure.

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/problem.hpp>
#include <weir/loop.hpp>
#include <weir/report.hpp>

#include <string>

namespace weir::http {

task<response> answered(next inner, request& asked) {
    std::exception_ptr failure;
    try {
        co_return co_await inner(asked);
    } catch (...) {
        failure = std::current_exception();
    }
    co_return answer_to_failure(failure, asked);
}

response answer_to_failure(const std::exception_ptr& failure, const request& asked) {
    response answer = to_response(failure);
    if (answer.status() == status::internal_server_error) {
        loop::current().tell({report_kind::suppressed_error,
                              "the handler of " + std::string(asked.method_name()) + " " +
                                  std::string(asked.path()) + " failed: " + describe(failure),
                              failure,
                              {},
                              {}});
    }
    return answer;
}

void add_vary(headers& to, std::string_view name) {
    if (!to.lists("Vary", name) && !to.lists("Vary", "*")) {
        to.add("Vary", name);
    }
}

}  // namespace weir::http
