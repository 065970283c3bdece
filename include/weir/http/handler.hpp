// SPDX-License-Identifier: MIT
// Who answers requests, and who stands before them.
//
// A handler is anything that can be called with a request& (or nothing) and gives a response or a
// task<response>. A middleware gets what comes after it as well:
//
//     auto timed = [](http::request& request, http::next next) -> weir::task<http::response> {
//         const auto began = weir::now();
//         http::response answer = co_await next(request);
//         answer.headers().set("Server-Timing", ...);
//         co_return answer;
//     };
//     http::handler app = http::with(timed, router);
//
// Both belong to one loop. Captures must live as long as the handler; parameters live as long as
// the call.
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

    explicit operator bool() const noexcept { return held_ != nullptr; }
    task<response> operator()(request& asked) { return held_->call(asked); }

private:
    struct base {
        virtual ~base() = default;
        virtual task<response> call(request& asked) = 0;
    };
    template <class Callable>
    struct holder final : base {
        template <class Given>
        explicit holder(Given&& given) : callable(std::forward<Given>(given)) {}
        task<response> call(request& asked) override {
            if constexpr (requires {
                              requires std::same_as<decltype(callable(asked)), task<response>>;
                          }) {
                return callable(asked);
            } else if constexpr (requires {
                                     requires std::same_as<decltype(callable()), task<response>>;
                                 }) {
                return callable();
            } else {
                return at_once(asked);
            }
        }
        task<response> at_once(request& asked) {
            if constexpr (requires { callable(asked); }) {
                co_return callable(asked);
            } else {
                co_return callable();
            }
        }
        Callable callable;
    };

    std::unique_ptr<base> held_;
};

// The rest of the way to the handler; a copy is as good. May be called several times or not at all.
class next {
public:
    explicit next(handler& to) noexcept : to_(&to) {}
    task<response> operator()(request& asked) const { return (*to_)(asked); }

private:
    handler* to_;
};

using middleware = weir::detail::unique_function<task<response>(request&, next)>;

// The handler with the middleware before it. Throws invalid_argument if one of them is empty.
handler with(middleware before, handler inner);

}  // namespace weir::http
