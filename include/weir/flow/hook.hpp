// SPDX-License-Identifier: MIT
// hook: a callable inside an options struct.
//
// Options are written in place: co_await retry({.max_attempts = 3, .retry_if = ...}, work). GCC 12
// destroys temporary aggregates in co_await expressions twice, so their members must be trivially
// destructible: a hook holds a function pointer or a lambda that captures at most three words of
// references, pointers or numbers. Objects that it refers to must outlive the policy.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weir {

template <class Signature>
class hook;

template <class Result, class... Args>
class hook<Result(Args...)> {
    static constexpr std::size_t room = 3 * sizeof(void*);

public:
    constexpr hook() noexcept = default;
    constexpr hook(std::nullptr_t) noexcept {}  // NOLINT: implicit
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, hook> &&
                 std::is_invocable_r_v<Result, const std::decay_t<Callable>&, Args...>)
    hook(Callable&& callable) noexcept {  // NOLINT: implicit, as std::function is
        using plain = std::decay_t<Callable>;
        static_assert(std::is_trivially_copyable_v<plain> && sizeof(plain) <= room &&
                          alignof(plain) <= alignof(void*),
                      "a hook holds a function, or a lambda that captures up to three words "
                      "without destructors: capture by reference");
        if constexpr (std::is_pointer_v<std::remove_reference_t<Callable>>) {
            if (callable == nullptr) {
                return;
            }
        }
        ::new (static_cast<void*>(held_)) plain(std::forward<Callable>(callable));
        call_ = [](const void* held, Args... args) -> Result {
            return (*static_cast<const plain*>(held))(std::forward<Args>(args)...);
        };
    }

    explicit operator bool() const noexcept { return call_ != nullptr; }
    Result operator()(Args... args) const { return call_(held_, std::forward<Args>(args)...); }

private:
    alignas(void*) std::byte held_[room] = {};
    Result (*call_)(const void*, Args...) = nullptr;
};

}  // namespace weir
