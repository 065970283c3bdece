// SPDX-License-Identifier: MIT
// The options and statistics of a pool.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string_view>

namespace weir {

// The idle object that is lent next.
enum class idle_order : unsigned char {
    newest_first,  // the one returned last: it is warm, and the others reach their idle timeout
    oldest_first,  // the one idle longest: all are used in turn
};

// The step that failed.
enum class pool_stage : unsigned char { connecting, checking, resetting, closing };

struct pool_error {
    std::string_view pool;
    pool_stage stage;
    const std::exception_ptr& error;
};

// May be written inside a co_await expression. Checked by the pool's constructor, which throws
// invalid_argument naming the option and its value.
struct pool_options {
    static constexpr clock::duration forever = clock::duration::max();
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    std::string_view name = "pool";

    // ---- how many
    std::size_t max = 10;      // objects at a time: lent, idle, being connected or being closed
    std::size_t min_idle = 0;  // idle objects are made ahead up to this number; max still holds
    std::size_t max_waiting = unlimited;  // requests that may wait when all places are taken

    // ---- how long
    clock::duration max_wait = std::chrono::seconds(30);         // for an object; then refused
    clock::duration connect_timeout = std::chrono::seconds(10);  // one connect
    clock::duration check_timeout = std::chrono::seconds(5);     // one check, or one reset
    clock::duration close_timeout = std::chrono::seconds(5);     // one close

    // ---- when objects are checked and replaced
    clock::duration check_after{};  // returned more recently than this: lent without a check
    clock::duration max_lifetime =
        forever;                   // closed at that age; a lent object when it is returned
    double lifetime_jitter = 0.1;  // shortens each lifetime by up to this share, so that objects
                                   // made together are not replaced together
    clock::duration idle_timeout = forever;  // closed when idle for so long, down to min_idle
    std::size_t max_uses = unlimited;        // closed after this many leases
    clock::duration keep_alive = forever;    // idle objects are checked this often
    clock::duration leak_after = forever;    // a lease held longer is reported, once

    // ---- when connecting fails
    clock::duration connect_backoff{};  // before the next connect; doubles with each failure
    clock::duration max_connect_backoff = std::chrono::seconds(30);

    idle_order order = idle_order::newest_first;
    std::uint64_t seed = 0;  // of the jitter; 0: a random one, the same in each simulation
    weir::observer* observer = nullptr;
    hook<void(const pool_error&)> on_error =
        {};  // called for every error of the functions; must not throw
};

struct pool_stats {
    // Now. Together never more than max, unless resize() has just lowered it.
    std::size_t idle = 0;
    std::size_t lent = 0;
    std::size_t connecting = 0;
    std::size_t checking = 0;   // before they are lent, or to keep them alive
    std::size_t resetting = 0;  // after they were returned
    std::size_t closing = 0;
    std::size_t max = 0;
    std::size_t waiting = 0;

    // Since construction.
    std::uint64_t acquired = 0;
    std::uint64_t waits = 0;             // those of them that waited
    clock::duration wait_time{};         // the sum of these waits
    std::uint64_t refused = 0;           // as a value or an exception, for any reason
    std::uint64_t wait_timeouts = 0;     // those of them after max_wait
    std::uint64_t connects = 0;          // that succeeded
    std::uint64_t connect_failures = 0;  // timeouts included
    std::uint64_t check_failures = 0;  // checks and resets that returned false, threw or timed out
    std::uint64_t closed = 0;          // for any reason
    std::uint64_t detached = 0;
    std::uint64_t leaks = 0;  // leases held longer than leak_after

    // Objects that exist.
    std::size_t size() const noexcept { return idle + lent + checking + resetting; }
    friend bool operator==(const pool_stats&, const pool_stats&) = default;
};

}  // namespace weir
