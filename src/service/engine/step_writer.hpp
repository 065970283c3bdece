// SPDX-License-Identifier: MIT
// Keeps the results of steps in the store: see job::step().
#pragma once

#include "service/engine/lease.hpp"
#include "service/engine/store_client.hpp"
#include "service/engine/wall_clock.hpp"

#include <weir/service/job.hpp>
#include <weir/service/store.hpp>

#include <string>

namespace weir::service::detail {

class step_writer {
public:
    step_writer(store_client& store, const wall_clock& time) noexcept
        : store_(store), time_(time) {}
    step_writer(const step_writer&) = delete;
    step_writer& operator=(const step_writer&) = delete;

    // See step_keeper. Retries while the store is unavailable and the lease is not lost. A stop
    // waits for the call in flight, and then ends the retries.
    task<std::string> keep(const lease& owner, run_key key, step_record step);

private:
    // False if the store is unavailable.
    task<bool> try_keep(const lease& owner, run_key key, const step_record& step, step_answer& to);

    store_client& store_;
    const wall_clock& time_;
};

// The steps of one run.
class run_steps final : public step_keeper {
public:
    run_steps(step_writer& writer, run_key key, const lease& owner) noexcept
        : writer_(writer), key_(key), owner_(owner) {}
    task<std::string> keep(std::string name, std::string json) override;

private:
    step_writer& writer_;
    const run_key key_;
    const lease& owner_;
};

}  // namespace weir::service::detail
