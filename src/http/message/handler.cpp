// SPDX-License-Identifier: MIT
// A middleware and the handler after it make a handler.

#include <weir/error.hpp>
#include <weir/http/handler.hpp>

#include <string>

namespace weir::http {

namespace {

class guarded {
public:
    guarded(middleware before, handler inner)
        : before_(std::move(before)), inner_(std::make_unique<handler>(std::move(inner))) {}
    task<response> operator()(request& asked) { return before_(asked, next(*inner_)); }

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

}  // namespace weir::http
