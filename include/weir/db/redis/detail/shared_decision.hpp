// SPDX-License-Identifier: MIT
// What a shared limiter decides with: somebody elsewhere who is asked, and what this process does
// alone.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/admission.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <vector>

namespace weir::redis {

// A moment by the clock of Redis.
using server_time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

namespace detail {

// Was taken, and not used.
struct refund {
    double weight;
    server_time taken;
};

// May these pass, in this order? A negative weight is of one who does not wait: if it cannot pass
// now, those behind it are looked at all the same. Behind one who waits, nobody passes.
struct shared_question {
    std::vector<double> weights;
    std::vector<refund> refunds;  // first of all
    bool only_look = false;       // takes nothing
};

// Fewer waits than weights: the last of them holds up the rest.
struct shared_answer {
    server_time at;
    std::vector<clock::duration> waits;  // zero: it passes; refusal::never: it cannot
};

class shared_decision {
public:
    virtual ~shared_decision() = default;
    // One round trip. Throws if there is no answer: what was asked for may have been taken then.
    virtual task<shared_answer> ask(const shared_question& question) = 0;
    virtual double capacity() const noexcept = 0;
    // How long it takes at least until so much more may pass; zero if nobody can say.
    virtual clock::duration time_of(double weight) const noexcept = 0;
    // Within the share that this process may use while nobody answers.
    virtual task<admission<let_through>> admit_alone(double weight) = 0;
    virtual admission<let_through> try_alone(double weight) = 0;
};

}  // namespace detail

}  // namespace weir::redis
