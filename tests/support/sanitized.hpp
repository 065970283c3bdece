// SPDX-License-Identifier: MIT
// Whether the tests run under a sanitizer, which makes them ten to eighty times slower: tests whose
// findings are not about memory or threads do less then.
#pragma once

namespace weir_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace weir_test
