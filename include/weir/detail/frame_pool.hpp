// SPDX-License-Identifier: MIT
// Recycled memory for coroutine frames and fibers. Blocks come in classes of 16 bytes, carry no
// header, and may be freed on any thread: they then simply belong to that thread's pool. Surplus
// blocks of a thread go, a magazine at a time, to a depot that all threads share.
#pragma once

#include <weir/detail/thread_state.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

// Sanitizers must see every allocation: recycling would hide use after free.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_RECYCLES_FRAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define WEIR_RECYCLES_FRAMES 0
#endif
#endif
#ifndef WEIR_RECYCLES_FRAMES
#define WEIR_RECYCLES_FRAMES 1
#endif

namespace weir::detail {

// The blocks of a thread that are taken and given back without further ado. A thread without a pool
// has `no_magazines`, which are empty, and full as well: each way leads to the slow path.
struct frame_magazines {
    static constexpr std::size_t granule = 16;
    static constexpr std::size_t classes =
        160;  // blocks up to 2544 bytes (a pipeline's call has 1 to 2 kB); larger ones are not recycled
    static constexpr std::uint32_t magazine_size = 1024;

    struct block {
        block* next;
        block* next_magazine;  // in the first block of a magazine that lies in the depot
    };
    struct magazine {
        block* head = nullptr;
        std::uint32_t count = 0;

        void add(block& freed) noexcept {
            freed.next = head;
            head = &freed;
            ++count;
        }
    };

    magazine loaded[classes];
};

class frame_pool : private frame_magazines {
public:
    using frame_magazines::classes;
    using frame_magazines::granule;
    using frame_magazines::magazine_size;

    static void* allocate(std::size_t size) {
#if WEIR_RECYCLES_FRAMES
        const std::size_t index = (size + granule - 1) / granule;
        if (index < classes) [[likely]] {
            magazine& loaded = this_thread.frames->loaded[index];
            if (block* first = loaded.head) [[likely]] {
                loaded.head = first->next;
                --loaded.count;
                return first;
            }
        }
        return allocate_slow(index);
#else
        return ::operator new(size);
#endif
    }

    static void release(void* memory, std::size_t size) noexcept {
#if WEIR_RECYCLES_FRAMES
        const std::size_t index = (size + granule - 1) / granule;
        if (index < classes) [[likely]] {
            magazine& loaded = this_thread.frames->loaded[index];
            if (loaded.count != magazine_size) [[likely]] {
                loaded.add(*static_cast<block*>(memory));
                return;
            }
        }
        release_slow(memory, index);
#else
        ::operator delete(memory, size);
#endif
    }

    ~frame_pool();
    frame_pool() = default;
    frame_pool(const frame_pool&) = delete;
    frame_pool& operator=(const frame_pool&) = delete;

private:
    struct depot;
    static depot& shared_depot() noexcept;

    static frame_pool* of_this_thread();
    static void* allocate_slow(std::size_t index);
    static void release_slow(void* memory, std::size_t index) noexcept;
    void* carve(std::size_t index);
    void find_fresh();
    void unload(std::size_t index) noexcept;

    magazine spare_[classes];
    char* fresh_ = nullptr;  // the untouched rest of the newest chunk
    char* fresh_end_ = nullptr;
};

}  // namespace weir::detail
