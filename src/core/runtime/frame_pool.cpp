// SPDX-License-Identifier: MIT
// Two magazines per size class and thread (Bonwick's scheme): allocation and release touch the
// loaded one; when it runs empty or full it is swapped with the spare, and only when both are empty
// or full does the thread take the depot's lock, to move a whole magazine at once. Fresh blocks are
// carved from chunks, which are never returned to the system: the pool keeps the high-water mark. A
// thread that ends leaves its blocks and the rest of its chunk to the depot.

#include <weir/detail/frame_pool.hpp>
#include <weir/frame_memory.hpp>

#include <atomic>
#include <mutex>

namespace weir::detail {

constinit frame_magazines no_magazines = [] {
    frame_magazines none;
    for (frame_magazines::magazine& each : none.loaded) {
        each.count = frame_magazines::magazine_size;
    }
    return none;
}();
constinit thread_local thread_state this_thread{};

struct frame_pool::depot {
    std::mutex mutex;
    magazine full[classes];   // count: magazines; head: first block of the first one
    magazine loose[classes];  // blocks of part-full magazines that ended threads left behind
    struct chunk {
        chunk* next;
    };
    chunk* chunks = nullptr;  // keeps all memory reachable for leak checkers
    struct rest {
        rest* next;
        char* end;
    };
    rest* rests = nullptr;  // of the chunks of ended threads
};

frame_pool::depot& frame_pool::shared_depot() noexcept {
    // Never destroyed: threads may free frames after static destructors have run.
    alignas(depot) static unsigned char storage[sizeof(depot)];
    static depot* const instance = ::new (storage) depot;
    return *instance;
}

namespace {

// Its destructor runs at thread exit and hands the thread's blocks to the depot.
struct pool_owner {
    frame_pool* pool = nullptr;
    ~pool_owner() {
        this_thread.frames = &no_magazines;
        delete pool;
    }
};
thread_local pool_owner owner;
thread_local bool ended = false;  // outlives the pool

constexpr std::size_t chunk_size = 256 * 1024;
constinit std::atomic<std::pmr::memory_resource*> frame_memory{nullptr};

}  // namespace

frame_pool* frame_pool::of_this_thread() {
    if (owner.pool == nullptr && !ended) {
        owner.pool = new frame_pool;
        this_thread.frames = owner.pool;
    }
    return ended ? nullptr : owner.pool;
}

void* frame_pool::allocate_slow(std::size_t index) {
    if (index >= classes) {
        return ::operator new(index * granule);
    }
    frame_pool* pool = of_this_thread();
    if (pool == nullptr) {  // a frame made by a destructor at thread exit; blocks are all the same
        return ::operator new(index * granule);
    }
    magazine& loaded = pool->loaded[index];
    if (loaded.head == nullptr) {
        std::swap(loaded, pool->spare_[index]);
    }
    if (loaded.head == nullptr) {
        depot& shared = shared_depot();
        std::lock_guard lock(shared.mutex);
        if (block* first = shared.full[index].head) {
            shared.full[index].head = first->next_magazine;
            loaded = {first, magazine_size};
        } else {
            block*& loose = shared.loose[index].head;
            while (loose != nullptr && loaded.count < magazine_size - 1) {
                block* const one = loose;
                loose = one->next;
                one->next = loaded.head;
                loaded.head = one;
                ++loaded.count;
            }
        }
    }
    if (block* first = loaded.head) {
        loaded.head = first->next;
        --loaded.count;
        return first;
    }
    return pool->carve(index);
}

void* frame_pool::carve(std::size_t index) {
    const std::size_t size = index * granule;
    if (static_cast<std::size_t>(fresh_end_ - fresh_) < size) {
        find_fresh();
    }
    char* result = fresh_;
    fresh_ += size;
    return result;
}

void frame_pool::find_fresh() {
    depot& shared = shared_depot();
    {
        std::lock_guard lock(shared.mutex);
        if (depot::rest* const found = shared.rests) {
            shared.rests = found->next;
            fresh_end_ = found->end;
            fresh_ = reinterpret_cast<char*>(found);
            return;
        }
    }
    std::pmr::memory_resource* const upstream = frame_memory.load(std::memory_order_acquire);
    char* const memory = static_cast<char*>(
        upstream != nullptr ? upstream->allocate(chunk_size, granule) : ::operator new(chunk_size));
    auto* const header = ::new (memory) depot::chunk{nullptr};
    fresh_ = memory + granule;
    fresh_end_ = memory + chunk_size;
    std::lock_guard lock(shared.mutex);
    header->next = shared.chunks;
    shared.chunks = header;
}

void frame_pool::release_slow(void* memory, std::size_t index) noexcept {
    if (index >= classes) {
        ::operator delete(memory);
        return;
    }
    if (frame_pool* pool = of_this_thread()) {
        if (pool->loaded[index].count == magazine_size) {
            pool->unload(index);
        }
        pool->loaded[index].add(*static_cast<block*>(memory));
        return;
    }
    depot& shared = shared_depot();
    std::lock_guard lock(shared.mutex);
    auto* freed = static_cast<block*>(memory);
    freed->next = shared.loose[index].head;
    shared.loose[index].head = freed;
}

void frame_pool::unload(std::size_t index) noexcept {
    magazine& spare = spare_[index];
    if (spare.count == magazine_size) {
        depot& shared = shared_depot();
        std::lock_guard lock(shared.mutex);
        spare.head->next_magazine = shared.full[index].head;
        shared.full[index].head = spare.head;
        spare = {};
    }
    std::swap(loaded[index], spare);  // which is not full
}

frame_pool::~frame_pool() {
    ended = true;
    depot& shared = shared_depot();
    std::lock_guard lock(shared.mutex);
    for (std::size_t index = 0; index < classes; ++index) {
        for (magazine* each : {&loaded[index], &spare_[index]}) {
            while (block* one = each->head) {
                each->head = one->next;
                one->next = shared.loose[index].head;
                shared.loose[index].head = one;
            }
        }
    }
    // Only a rest that serves every size is worth keeping.
    if (static_cast<std::size_t>(fresh_end_ - fresh_) >= classes * granule) {
        shared.rests = ::new (fresh_) depot::rest{shared.rests, fresh_end_};
    }
}

}  // namespace weir::detail

namespace weir {

std::pmr::memory_resource* set_frame_memory(std::pmr::memory_resource* upstream) noexcept {
    return detail::frame_memory.exchange(upstream, std::memory_order_acq_rel);
}

}  // namespace weir
