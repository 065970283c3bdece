// SPDX-License-Identifier: MIT
// That the check refuses what is too strict for a frame, and how it explains that:
// tests/compilers/refusals/overaligned.cpp.

#include <weir/base/frame_alignment.hpp>
#include <weir/testing/testing.hpp>

#include <cstdint>
#include <vector>

namespace {

using weir::task;

struct alignas(16) strictest {
    float lanes[4];
};
struct alignas(64) too_strict {
    float lanes[16];
};

static_assert(weir::detail::alignment_in_frame<void> == 1);
static_assert(weir::detail::alignment_in_frame<strictest> == 16);
static_assert(weir::detail::alignment_in_frame<too_strict> == 64);
static_assert(weir::detail::alignment_in_frame<too_strict&> == alignof(void*));
static_assert(weir::detail::alignment_in_frame<const too_strict&> == alignof(void*));

bool is_aligned(const auto& object) {
    return reinterpret_cast<std::uintptr_t>(&object) % alignof(decltype(object)) == 0;
}

// What passes the check is aligned, wherever the frames around it happen to lie.
WEIR_TEST(FrameAlignment, IsKeptUpToSixteenBytes) {
    auto make = [](strictest given) -> task<strictest> {
        EXPECT_TRUE(is_aligned(given));
        co_await weir::yield();
        co_return given;
    };
    auto count = [](int values) -> weir::generator<strictest> {
        for (int value = 0; value < values; ++value) {
            strictest made{};
            co_yield made;
        }
    };
    std::vector<weir::handle<strictest>> made;
    weir::queue<strictest> items(8);
    for (int round = 0; round < 8; ++round) {
        made.push_back(weir::spawn(make, strictest{}));
        const strictest& result = co_await made.back();
        EXPECT_TRUE(is_aligned(result));
        weir::promise<strictest> promise;
        promise.set_value(result);
        auto future = promise.get_future();
        const strictest& promised = co_await future;
        EXPECT_TRUE(is_aligned(promised));
        co_await items.put(promised);
        const strictest item = co_await items.get();
        EXPECT_TRUE(is_aligned(item));
    }
    auto counted = count(4);
    while (auto each = co_await counted.next()) {
        EXPECT_TRUE(is_aligned(*each));
    }
}

// References are kept as pointers: what they refer to lies elsewhere.
WEIR_TEST(FrameAlignment, DoesNotConcernReferences) {
    too_strict object{};
    auto refer = [&]() -> task<too_strict&> { co_return object; };
    too_strict& referred = co_await weir::spawn(refer);
    EXPECT_EQ(&referred, &object);
}

}  // namespace
