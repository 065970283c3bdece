// SPDX-License-Identifier: MIT
// How a shared limiter decides: Redis answers questions; while it does not, the process decides
// alone.
#pragma once

#include <weir/clock.hpp>
#include <weir/db/redis/limiter.hpp>
#include <weir/flow/admission.hpp>
#include <weir/task.hpp>

#include <vector>

namespace weir::redis::detail {

// A grant that was not used.
struct refund {
    double weight;
    server_time taken;
};

// Whether these weights may pass, in this order. A negative weight belongs to a caller that does
// not wait: if it cannot pass now, those behind it are still considered. Behind a caller that
// waits, none passes.
struct shared_question {
    std::vector<double> weights;
    std::vector<refund> refunds;  // applied first
    bool only_look = false;       // takes nothing
};

// Fewer waits than weights: the last of them holds up the rest.
struct shared_answer {
    server_time at;
    std::vector<clock::duration> waits;  // zero: it passes; refusal::never: it never can
};

class shared_decision {
public:
    virtual ~shared_decision() = default;
    // One round trip. Throws if there is no answer: Redis may have granted the weights then.
    virtual task<shared_answer> ask(const shared_question& question) = 0;
    virtual double capacity() const noexcept = 0;
    // The shortest time until this weight more may pass; zero if unknown.
    virtual clock::duration time_of(double weight) const noexcept = 0;
    // Within the share of this process while Redis is away.
    virtual task<admission<let_through>> admit_alone(double weight) = 0;
    virtual admission<let_through> try_alone(double weight) = 0;
};

}  // namespace weir::redis::detail
