// SPDX-License-Identifier: MIT
// A callable that is owned and can only be moved: std::function without the copies.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <class Signature>
class unique_function;

template <class Result, class... Args>
class unique_function<Result(Args...)> {
public:
    unique_function() noexcept = default;
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, unique_function> &&
                 std::is_invocable_r_v<Result, Callable&, Args...>)
    unique_function(Callable&& callable)  // NOLINT: implicit, as std::function is
        : held_(
              std::make_unique<holder<std::decay_t<Callable>>>(std::forward<Callable>(callable))) {}

    explicit operator bool() const noexcept { return held_ != nullptr; }
    Result operator()(Args... args) { return held_->call(std::forward<Args>(args)...); }

private:
    struct base {
        virtual ~base() = default;
        virtual Result call(Args... args) = 0;
    };
    template <class Callable>
    struct holder final : base {
        template <class Given>
        explicit holder(Given&& given) : callable(std::forward<Given>(given)) {}
        Result call(Args... args) override {
            return static_cast<Result>(callable(std::forward<Args>(args)...));
        }
        Callable callable;
    };
    std::unique_ptr<base> held_;
};

}  // namespace weir::detail
