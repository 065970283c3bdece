// SPDX-License-Identifier: MIT
// What happens in a world: all of it follows from the seed and these settings.
#pragma once

#include <weir/base/random.hpp>
#include <weir/clock.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::service::testing {

using namespace std::chrono_literals;

class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : source_(seed) { source_.next(); }
    // Dice that are independent of these.
    dice split(std::uint64_t number) noexcept {
        return dice(source_.next() ^ (number * 0x9e3779b97f4a7c15u));
    }

    std::uint64_t below(std::uint64_t end) noexcept { return source_.next_below(end); }
    bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }
    bool chance(double probability) noexcept { return source_.next_fraction() < probability; }
    clock::duration between(clock::duration least, clock::duration most) noexcept {
        return least + clock::duration(static_cast<clock::rep>(
                           below(static_cast<std::uint64_t>((most - least).count()) + 1)));
    }

private:
    weir::detail::random_source source_;
};

// Kinds of trouble. A world that fails is run again without each of them: what is left is needed.
enum class trouble : unsigned char {
    kills,       // nodes and workers that end without a write
    deploys,     // nodes that drain and start anew
    partitions,  // between a node and the store: questions, answers or both are lost
    flaky,       // calls that fail, hang, or lose their answer
    slow,        // calls that take seconds, also longer than their caller waits
    outages,     // the store is away for all
    clocks,      // calendars that differ and jump
    clients,     // cancels, retries, pauses and new limits
    workers,     // tasks for workers, and sessions that run them
    schedules,
    stubborn,  // handlers that ignore their stop
};
constexpr std::array<std::string_view, 11> trouble_names = {
    "kills",  "deploys", "partitions", "flaky",     "slow",    "outages",
    "clocks", "clients", "workers",    "schedules", "stubborn"};

// Bugs that a broken_store puts back.
enum class bug : unsigned char {
    none,
    settle_without_fence,
    late_failure_reopens,
    rescue_of_live_nodes,
    heartbeat_shortens,
    slot_fires_twice,
    rescue_leaks_a_slot,
    cancel_lost_at_rescue,
    idempotency_key_not_kept,
    unique_key_not_kept,
    claim_beyond_limits,
    claim_given_twice,
    settle_not_written,
    submit_not_written,
    purge_of_pending_tasks,
    delay_not_kept,
    rescue_does_nothing,
    step_overwritten,
    worker_claim_given_twice,
    worker_lease_not_extended,
};

struct plan {
    plan() = default;
    explicit plan(std::uint64_t number) : seed(number) {}

    bool has(trouble what) const noexcept {
        return ((off >> static_cast<unsigned>(what)) & 1u) == 0;
    }
    void leave_out(trouble what) noexcept { off |= 1u << static_cast<unsigned>(what); }

    std::uint64_t seed = 0;
    std::size_t nodes = 0;                 // 0: drawn from the seed
    clock::duration trouble_time = 3min;   // then all faults stop
    clock::duration time_to_end = 20min;   // in which all tasks must end then
    clock::duration submit_every = 250ms;  // on average
    clock::duration trouble_every = 4s;    // on average
    clock::duration lease = 10s;
    clock::duration poll = 1s;
    clock::duration check_every = 20s;  // of the tasks and counts
    std::chrono::seconds kept = 24h;    // ended tasks
    bug broken = bug::none;
    unsigned off = 0;  // kinds of trouble that are left out
};

struct verdict {
    verdict() = default;

    bool is_failed() const noexcept { return !violation.empty(); }
    std::string violation;
    std::string last_events;
    std::uint64_t tasks = 0;
    std::uint64_t runs = 0;
    std::uint64_t calls = 0;        // of the store
    std::uint64_t fingerprint = 0;  // of all that the judge has seen
};

// Plays the world of the plan to its end, or to the first violation.
verdict play(const plan& how);
// Without the kinds of trouble that the failure does not need.
plan shrink(plan failing);
std::string describe(const plan& how);

}  // namespace weir::service::testing
