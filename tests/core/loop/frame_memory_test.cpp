// SPDX-License-Identifier: MIT
// The resource that frames come from: asked for chunks, never for a frame, and its errors are
// thrown by the call of the coroutine.

#include <weir/detail/frame_pool.hpp>
#include <weir/frame_memory.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <array>
#include <new>
#include <vector>

namespace {

// Memory that stays, as frames may use it for ever.
class counting_memory final : public std::pmr::memory_resource {
public:
    int chunks = 0;
    int given_back = 0;
    std::size_t bytes = 0;
    bool is_full = false;

private:
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        if (is_full) {
            throw std::bad_alloc();
        }
        ++chunks;
        bytes += size;
        return ::operator new(size, std::align_val_t(alignment));
    }
    void do_deallocate(void*, std::size_t, std::size_t) override { ++given_back; }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

counting_memory& memory() {
    static counting_memory& made = *new counting_memory;
    return made;
}

// Of a size that other tests do not count.
weir::task<> large_frame(std::array<char, 1700>) {
    co_return;
}

// More tasks than the pool can have free.
std::vector<weir::task<>> many_tasks() {
    std::vector<weir::task<>> made;
    for (int i = 0; i < 10'000; ++i) {
        made.push_back(large_frame({}));
    }
    return made;
}

void discard_all(std::vector<weir::task<>>& made) {
    for (auto& each : made) {
        each.discard();
    }
    made.clear();
}

TEST(FrameMemory, GivesChunksForManyFrames) {
    if (WEIR_RECYCLES_FRAMES == 0) {
        GTEST_SKIP() << "sanitizers see every frame";
    }
    EXPECT_EQ(weir::set_frame_memory(&memory()), nullptr);
    std::vector<weir::task<>> first = many_tasks();
    EXPECT_GT(memory().chunks, 10);
    EXPECT_LT(memory().chunks, 1000) << "one for each frame, or nearly so";
    EXPECT_GE(memory().bytes, 10'000u * 1700u / 2);
    discard_all(first);
    const int before = memory().chunks;
    std::vector<weir::task<>> again = many_tasks();
    EXPECT_EQ(memory().chunks, before) << "frames are recycled";
    EXPECT_EQ(memory().given_back, 0);

    memory().is_full = true;
    EXPECT_THROW((void)many_tasks(), std::bad_alloc);
    memory().is_full = false;
    EXPECT_EQ(weir::set_frame_memory(nullptr), &memory());
    discard_all(again);
}

}  // namespace
