// SPDX-License-Identifier: MIT
// The public interface of detail::thread_pool_core, and the pool of the process.

#include "io/threads/thread_pool_core.hpp"

#include <weir/io/blocking.hpp>

namespace weir {

thread_pool::thread_pool(const thread_pool_options& options)
    : core_(std::make_shared<detail::thread_pool_core>(options)) {}

thread_pool::~thread_pool() {
    core_->end();
}

task<void> thread_pool::run(work what) {
    co_await run([&what] { what(); });
}

thread_pool_stats thread_pool::stats() const {
    return core_->stats();
}

std::size_t thread_pool::max_threads() const noexcept {
    return core_->max_threads();
}

namespace detail {

// Never destroyed: a call whose task was abandoned at the end of run may still block, and must not
// keep the process from exiting. Idle threads are joined at exit.
struct blocking_threads {
    thread_pool& pool =
        *new thread_pool({.max_threads = 64, .queue_limit = 65'536, .name = "weir-blocking"});
    blocking_threads() = default;
    blocking_threads(const blocking_threads&) = delete;
    blocking_threads& operator=(const blocking_threads&) = delete;
    ~blocking_threads() { pool.core_->leave(); }
};

}  // namespace detail

thread_pool& blocking_pool() {
    static detail::blocking_threads shared;
    return shared.pool;
}

}  // namespace weir
