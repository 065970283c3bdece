// SPDX-License-Identifier: MIT
// What the compiler says when something of ours is awaited in a coroutine of another library.
#pragma once

#include <coroutine>

namespace weir::detail {

template <class T>
inline constexpr bool always_false = false;

// A base of everything that only our own promises know how to await. They never come here.
struct awaited_here {
    template <class Foreign = void>
    std::suspend_never operator co_await() const noexcept {
        static_assert(
            always_false<Foreign>,
            "Weir's tasks and operations can be awaited only in Weir's own coroutines "
            "(weir::task, weir::generator); elsewhere, start them with loop.submit or spawn");
        return {};
    }
};

}  // namespace weir::detail
