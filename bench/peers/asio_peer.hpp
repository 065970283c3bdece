// SPDX-License-Identifier: MIT
//
// Boost.Asio, used as its documentation teaches it: awaitable<> on one thread, use_awaitable,
// experimental channels, steady_timer.
#pragma once

#include "../harness.hpp"

#include <boost/asio.hpp>
#include <boost/asio/experimental/channel.hpp>

namespace peer {

namespace asio = boost::asio;
// The loop's own executor type instead of the type-erased default, which would cost Asio a third
// more: a peer is shown at its best.
using executor = asio::io_context::executor_type;
template <typename T>
using awaitable = asio::awaitable<T, executor>;
inline constexpr asio::use_awaitable_t<executor> use_awaitable{};
using steady_timer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, executor>;
using bench::options;
using bench::reading;
using bench::stopwatch;

// Concurrency hint 1: a single thread runs the loop, and Asio may know it.
struct loop : asio::io_context {
    loop() : asio::io_context(1) {}

    void start(awaitable<void> work) {
        asio::co_spawn(*this, std::move(work), [](std::exception_ptr error) {
            if (error) std::rethrow_exception(error);
        });
    }
};

inline auto yield() {
    return asio::post(use_awaitable);
}

// In asio_time.cpp.
reading timers(const options&);
reading timeout(const options&);
reading cancel(const options&);
reading spawn_cancel(const options&);
reading memory(const options&);

}  // namespace peer
