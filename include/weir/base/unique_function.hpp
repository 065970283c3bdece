// SPDX-License-Identifier: MIT
// A callable that is owned and can only be moved: std::function without the copies.
#pragma once

#include <cstddef>
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
    unique_function(Callable&& callable) {  // NOLINT: implicit, as std::function is
        using plain = std::decay_t<Callable>;
        // A null pointer and an empty std::function make an empty one.
        if constexpr (std::is_pointer_v<plain> || is_nullable<plain>) {
            if (is_null(callable)) {
                return;
            }
        }
        held_ = std::make_unique<holder<plain>>(std::forward<Callable>(callable));
    }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    Result operator()(Args... args) { return held_->call(std::forward<Args>(args)...); }

private:
    template <class Object>
    static constexpr bool is_nullable =
        std::is_class_v<Object> && std::is_constructible_v<Object, std::nullptr_t> &&
        requires(const Object& given) { static_cast<bool>(given == nullptr); };
    // By value for functions, whose names are never null and would be warned about.
    template <class Pointer>
        requires std::is_pointer_v<Pointer>
    static bool is_null(Pointer given) noexcept {
        return given == nullptr;
    }
    template <class Object>
        requires std::is_class_v<Object>
    static bool is_null(const Object& given) {
        return given == nullptr;
    }

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
