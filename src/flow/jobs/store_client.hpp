// SPDX-License-Identifier: MIT
// store_client: calls a task_store and repeats calls that fail. A call that threw may have taken
// effect all the same, so the client looks the record up before it repeats or gives up.
#pragma once

#include "flow/jobs/job_engine.hpp"

#include <weir/flow/task_store.hpp>
#include <weir/outcome.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace weir::detail {

class store_client {
public:
    enum class write_status : unsigned char { stored, conflict, failed };
    struct write_result {
        explicit write_result(write_status ended, std::exception_ptr thrown = nullptr) noexcept
            : status(ended), error(std::move(thrown)) {}
        write_status status;
        std::exception_ptr error;  // of a failed one
    };

    // Reports "store_error" to the engine's observer.
    store_client(task_store& store, unsigned attempts, clock::duration first_delay,
                 const job_engine& reporter) noexcept
        : store_(store), attempts_(attempts), first_delay_(first_delay), reporter_(reporter) {}

    // False: the id is taken. Throws the store's error if all attempts failed.
    task<bool> insert(const managed_task& fresh);
    task<write_result> transition(const managed_task& next, task_state expected);
    // The stored record. An error: the store did not answer.
    task<outcome<std::optional<managed_task>>> look_up(const std::string& id);
    // One attempt each: a later call makes up for one that fails.
    task<void> save_progress(const managed_task& running);
    task<bool> remove(const managed_task& finished);

    task_store& store() const noexcept { return store_; }
    std::uint64_t errors() const noexcept { return errors_; }

private:
    task<void> pause_before_retry(unsigned attempt);
    void count_error() noexcept;

    task_store& store_;
    unsigned attempts_;
    clock::duration first_delay_;
    const job_engine& reporter_;
    std::uint64_t errors_ = 0;
};

}  // namespace weir::detail
