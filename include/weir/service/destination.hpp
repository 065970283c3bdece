// SPDX-License-Identifier: MIT
// Destinations: what the tasks of a kind talk to, such as 'https://example.com'. A destination
// has limits of its own across all queues, flow keys and nodes. A task whose destination cannot be
// used now is not claimed: it waits in the store, where waiting costs nothing and holds up no other
// task.
//
//     tasks.handle("greet", greet, {}, {.name_of = host_of, .limits = {.max_running = 4}});
//
// A handler reports how its destination behaved (job::report). Failures in a row open the circuit
// of the destination: no task runs until open_for has passed, and then one, as a trial. Its success
// closes the circuit, its failure opens it again.
#pragma once

#include <weir/flow/circuit_state.hpp>
#include <weir/service/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::service {

// Of each destination. 0: no limit.
struct destination_limits {
    std::uint32_t max_running = 0;
    double rate = 0;               // starts per second
    std::uint32_t burst = 1;       // starts at once, with a rate
    std::uint32_t open_after = 0;  // failures in a row that open the circuit; 0: it stays closed
    std::chrono::milliseconds open_for = std::chrono::seconds(30);

    friend bool operator==(const destination_limits&, const destination_limits&) = default;
};
// Throws invalid_argument that names the limit, its value and the valid values.
void check(const destination_limits& limits);

enum class destination_outcome : unsigned char {
    unknown,   // the run says nothing about the destination
    answered,  // it works
    failed,    // no answer, or one that says that it does not work now
};

// What a run has learnt about its destination.
struct destination_report {
    destination_outcome outcome = destination_outcome::unknown;
    timestamp not_before{};  // the destination asked for a pause until then; 0: it did not
    // The endpoint of the task, if it has said that it is gone for good. The settlement's error
    // becomes the reason of the endpoint_record.
    std::string gone{};
};

// An endpoint is what one task talks to, such as 'https://example.com/hook': a destination has
// many. One that is gone for good is disabled: tasks for it fail without a run, with an error that
// says so, until somebody enables it. They fail instead of waiting, since waiting tasks would pile
// up for an endpoint that most likely never comes back; failed tasks are kept, and can be retried.
inline constexpr std::size_t max_endpoint_bytes = 2000;  // of its name; longer: never disabled
inline constexpr std::size_t max_disabled_endpoints = 10'000;

struct endpoint_record {
    endpoint_record() = default;

    std::string kind;  // of the tasks
    std::string name;
    timestamp since{};
    std::string reason;
};

struct destination_record {
    destination_record() = default;

    std::string kind;  // of the tasks
    std::string name;
    circuit_state circuit = circuit_state::closed;
    std::uint64_t running = 0;
    std::uint64_t due = 0;       // tasks that wait for it or for their turn
    std::uint64_t failures = 0;  // in a row
    // When its circuit, its rate or a pause that it asked for allows the next run; 0: now.
    timestamp free_at{};
};

}  // namespace weir::service
