// SPDX-License-Identifier: MIT
// How handlers are combined with middleware, and how their errors become responses. An error is
// turned into a response outside of the catch block, where it can be reported without haste.

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/problem.hpp>
#include <weir/loop.hpp>
#include <weir/report.hpp>

#include <string>

namespace weir::http {

namespace {

class guarded {
public:
    guarded(middleware before, handler inner)
        : before_(std::move(before)), inner_(std::make_unique<handler>(std::move(inner))) {}
    task<response> operator()(request& request) { return before_(request, next(*inner_)); }

private:
    middleware before_;
    std::unique_ptr<handler> inner_;  // next refers to it
};

}  // namespace

handler with(middleware before, handler inner) {
    if (!before || !inner) {
        throw invalid_argument(std::string("http::with: the ") +
                               (before ? "handler" : "middleware") + " is empty");
    }
    return guarded(std::move(before), std::move(inner));
}

task<response> answered(next inner, request& request) {
    std::exception_ptr failure;
    try {
        co_return co_await inner(request);
    } catch (...) {
        failure = std::current_exception();
    }
    co_return answer_to_failure(failure, request);
}

response answer_to_failure(const std::exception_ptr& failure, const request& request) {
    response answer = to_response(failure);
    if (answer.status() == status::internal_server_error) {
        loop::current().tell({report_kind::suppressed_error,
                              "the handler of " + std::string(request.method_name()) + " " +
                                  std::string(request.path()) + " failed: " + describe(failure),
                              failure,
                              {},
                              {}});
    }
    return answer;
}

void add_vary(headers& to, std::string_view name) {
    if (!to.lists("Vary", name) && !to.lists("Vary", "*")) {
        std::string names = to.joined("Vary");
        names.append(names.empty() ? "" : ", ").append(name);
        to.set("Vary", names);
    }
}

}  // namespace weir::http
