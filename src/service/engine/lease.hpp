// SPDX-License-Identifier: MIT
// A lease: the node name under which a service claims and runs tasks, and until when the store
// honours it. A service that has lost its lease takes a new one, while the tasks it ran under the
// old one come to their end.
#pragma once

#include "service/engine/node_identity.hpp"

#include <weir/clock.hpp>
#include <weir/service/task.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

// Written by the lease_keeper alone.
struct lease {
    lease(std::uint64_t random, timestamp now) : name(random), taken_at(now) {}

    const std::string& node() const noexcept { return name.text(); }

    node_name name;
    timestamp taken_at;
    bool is_sent = false;        // a heartbeat was sent: the store may know the node
    bool is_registered = false;  // a heartbeat was answered
    bool is_lost = false;
    clock::time_point registered_at{};
    clock::time_point expires_at{};
};

}  // namespace weir::service::detail
