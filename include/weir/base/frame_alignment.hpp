// SPDX-License-Identifier: MIT
// Values that pass through coroutine frames may be aligned to no more than operator new aligns by
// default, which is 16 bytes: neither GCC nor clang asks for more when it allocates a frame.
#pragma once

#include <cstddef>

namespace weir::detail {

template <class T>
inline constexpr std::size_t alignment_in_frame = alignof(T);
template <class T>
inline constexpr std::size_t alignment_in_frame<T&> = alignof(T*);
template <>
inline constexpr std::size_t alignment_in_frame<void> = 1;

}  // namespace weir::detail

#define WEIR_CHECK_ALIGNMENT(T)                                                           \
    static_assert(                                                                        \
        ::weir::detail::alignment_in_frame<T> <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,        \
        "this type is aligned to more than 16 bytes, and coroutine frames are not: pass " \
        "a std::unique_ptr to it; see docs/compilers.md")

namespace weir::detail {

template <class T>
constexpr void check_alignment() {
    WEIR_CHECK_ALIGNMENT(T);
}

}  // namespace weir::detail
