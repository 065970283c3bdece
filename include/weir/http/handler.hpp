// SPDX-License-Identifier: MIT
// Handlers, which answer requests, and middleware, which is called before them.
//
// A handler is any callable that takes a request& (or nothing) and gives a response or a
// task<response>. A middleware also gets the next handler:
//
//     auto timed = [](http::request& request, http::next next) -> weir::task<http::response> {
//         const auto began = weir::now();
//         http::response answer = co_await next(request);
//         answer.headers().set("Server-Timing", ...);
//         co_return answer;
//     };
//     http::handler app = http::with(timed, router);
//
// Both belong to one loop. Objects captured by reference must outlive the handler; parameters are
// valid during the call.
#pragma once

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir::http {

namespace detail {

template <class Callable, class... Args>
concept answers = requires(Callable& callable, Args&... args) {
    requires std::same_as<decltype(callable(args...)), task<response>> ||
                 std::convertible_to<decltype(callable(args...)), response>;
};

}  // namespace detail

class handler {
public:
    handler() noexcept = default;
    template <class Callable>
        requires(!std::same_as<std::remove_cvref_t<Callable>, handler> &&
                 (detail::answers<std::decay_t<Callable>, request> ||
                  detail::answers<std::decay_t<Callable>>))
    handler(Callable&& callable)  // NOLINT: implicit, as std::function is
        : held_(
              std::make_unique<holder<std::decay_t<Callable>>>(std::forward<Callable>(callable))) {}

    template <class Callable, bool IsHandler = false>
        requires(std::is_class_v<std::remove_cvref_t<Callable>> &&
                 !std::same_as<std::remove_cvref_t<Callable>, handler> &&
                 !detail::answers<std::decay_t<Callable>, request> &&
                 !detail::answers<std::decay_t<Callable>>)
    handler(Callable&&) {  // NOLINT: implicit, as the other one
        static_assert(IsHandler,
                      "a handler takes an http::request& or nothing, and returns a response or a "
                      "task<response>: write [](http::request& request) -> "
                      "weir::task<http::response> { ... }");
    }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    task<response> operator()(request& request) { return held_->call(request); }

private:
    struct base {
        virtual ~base() = default;
        virtual task<response> call(request& request) = 0;
    };
    template <class Callable>
    struct holder final : base {
        template <class Given>
        explicit holder(Given&& given) : callable(std::forward<Given>(given)) {}
        task<response> call(request& request) override {
            if constexpr (requires {
                              requires std::same_as<decltype(callable(request)), task<response>>;
                          }) {
                return callable(request);
            } else if constexpr (requires {
                                     requires std::same_as<decltype(callable()), task<response>>;
                                 }) {
                return callable();
            } else {
                return at_once(request);
            }
        }
        task<response> at_once(request& request) {
            if constexpr (requires { callable(request); }) {
                co_return callable(request);
            } else {
                co_return callable();
            }
        }
        Callable callable;
    };

    std::unique_ptr<base> held_;
};

// The next middleware, or the handler. May be copied, and called any number of times.
class next {
public:
    explicit next(handler& to) noexcept : to_(&to) {}
    task<response> operator()(request& request) const { return (*to_)(request); }

private:
    handler* to_;
};

using middleware = weir::detail::unique_function<task<response>(request&, next)>;

// A handler that calls the middleware first. Throws invalid_argument if one of them is empty.
handler with(middleware before, handler inner);

}  // namespace weir::http
