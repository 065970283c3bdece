// SPDX-License-Identifier: MIT
// A job as the job engine sees it: an id, work to run, and what is needed to cancel it.
#pragma once

#include <weir/cancel.hpp>
#include <weir/handle.hpp>
#include <weir/local.hpp>
#include <weir/scope.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

class job_engine;

enum class job_stage : unsigned char {
    entering,  // its id is reserved; it is not in the queue yet
    queued,
    running,
    ending,  // too late to cancel
    ended,
};

class job_base {
public:
    job_base() = default;
    job_base(const job_base&) = delete;
    job_base& operator=(const job_base&) = delete;
    virtual ~job_base() = default;

    std::string id;
    job_stage stage = job_stage::entering;
    std::weak_ptr<job_engine> engine;
    std::optional<context> locals;  // task-local values of the submitter, if it has any
    any_handle fiber;               // while the job runs on a fiber of its own
    cancel_scope* scope = nullptr;  // while it runs on the submitter's fiber
    bool cancel_requested = false;
    std::string cancel_reason;

    // The work. The engine learns how it ended from its owner's on_end().
    virtual task<void> run() = 0;
    // A cancellation was requested while the job runs. False: it had no effect.
    virtual bool stop(std::string_view reason) {
        if (scope != nullptr) {
            scope->cancel(reason);
            return true;
        }
        return fiber.valid() && fiber.cancel(reason);
    }
    // Names the job's fiber in dumps; empty: no name.
    virtual std::string_view fiber_name() const noexcept { return {}; }

    void keep_locals_of_submitter() {
        if (this_thread.running != nullptr && this_thread.running->extras != nullptr) {
            locals.emplace(context::copy_of_current());
        }
    }
};

}  // namespace weir::detail
