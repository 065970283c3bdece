// SPDX-License-Identifier: MIT
// Calls the store on behalf of the components: each call has a deadline, a change between available
// and unavailable is logged once, and components that retry wait here with a growing delay.
#pragma once

#include "service/engine/event_log.hpp"
#include "service/engine/wall_clock.hpp"

#include <weir/flow/decision/backoff.hpp>
#include <weir/service/store.hpp>
#include <weir/timeout.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace weir::service::detail {

// Delays between two attempts of a store operation that failed.
inline constexpr backoff_options store_backoff_options = {.initial = std::chrono::milliseconds(50),
                                                          .maximum = std::chrono::seconds(2),
                                                          .jitter = jitter::equal()};

class store_client {
public:
    store_client(store& target, clock::duration timeout, const event_log& log) noexcept
        : target_(target), timeout_(timeout), log_(log) {}
    store_client(const store_client&) = delete;
    store_client& operator=(const store_client&) = delete;

    store* operator->() const noexcept { return &target_; }
    store& target() const noexcept { return target_; }
    clock::duration timeout() const noexcept { return timeout_; }
    bool is_available() const noexcept { return is_available_; }

    // The result of the operation. Throws store_unavailable, also if the time limit passes.
    template <class T>
    task<T> call(task<T> operation) {
        return call_within(timeout_, std::move(operation));
    }
    template <class T>
    task<T> call_within(clock::duration limit, task<T> operation) {
        return perform<false>(limit, std::move(operation));
    }
    // The same for an operation that always writes: its success shows that the store is available.
    // A claim or a rescue may find nothing to write, so it shows nothing.
    template <class T>
    task<T> write(task<T> operation) {
        return write_within(timeout_, std::move(operation));
    }
    template <class T>
    task<T> write_within(clock::duration limit, task<T> operation) {
        return perform<true>(limit, std::move(operation));
    }

    // The delay before the next attempt.
    clock::duration next_delay(decision::backoff& delays) noexcept { return delays.next(random_); }
    // Waits for that delay, or until the store becomes available.
    task<> wait_before_retry(decision::backoff& delays) {
        became_available_.clear();
        return wait_until(became_available_, weir::now() + next_delay(delays));
    }
    void seed(std::uint64_t value) noexcept { random_ = decision::random_source(value); }

private:
    template <bool IsWrite, class T>
    task<T> perform(clock::duration limit, task<T> operation);
    void failed(const char* error) {
        if (std::exchange(is_available_, false)) {
            log_.write(log_level::error, std::string("the store is unavailable: ") + error);
        }
    }
    void succeeded() {
        if (!std::exchange(is_available_, true)) {
            became_available_.set();
            log_.write(log_level::info, "the store is available again");
        }
    }

    store& target_;
    const clock::duration timeout_;
    const event_log& log_;
    decision::random_source random_;
    bool is_available_ = true;
    event became_available_;
};

template <bool IsWrite, class T>
task<T> store_client::perform(clock::duration limit, task<T> operation) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await weir::timeout(limit, std::move(operation));
            if constexpr (IsWrite) {
                succeeded();
            }
        } else {
            T result = co_await weir::timeout(limit, std::move(operation));
            if constexpr (IsWrite) {
                succeeded();
            }
            co_return result;
        }
    } catch (const timed_out&) {
        constexpr const char* error = "the store does not answer";
        failed(error);
        throw store_unavailable(error);
    } catch (const store_unavailable& error) {
        failed(error.what());
        throw;
    }
}

}  // namespace weir::service::detail
