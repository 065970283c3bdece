// SPDX-License-Identifier: MIT
// Keeps this node's lease with heartbeats. When the lease is lost, it stops the runs under it and
// takes a new one.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/lease.hpp"
#include "service/engine/runner.hpp"
#include "service/engine/store_client.hpp"

#include <list>
#include <string_view>

namespace weir::service::detail {

class lease_keeper {
public:
    lease_keeper(store_client& store, wall_clock& time, const event_log& log, runner& runs,
                 claim_trigger& claims, const service_options& options) noexcept
        : store_(store), time_(time), log_(log), runs_(runs), claims_(claims), options_(options) {}
    lease_keeper(const lease_keeper&) = delete;
    lease_keeper& operator=(const lease_keeper&) = delete;

    // Takes the first lease, unregistered. The calls below need one.
    void take_first();
    void forget_all() noexcept { leases_.clear(); }
    // The first heartbeat. If the store is unavailable, run() repeats it.
    task<> register_node();
    task<> run();
    // The next heartbeat is due: a run was cancelled, perhaps one of this node.
    void beat_now() { is_beat_due_.set(); }
    // Ends all leases in the store, so that other nodes need not wait for them to expire. To be
    // called last: a later heartbeat would register the node again. Takes two seconds at most.
    task<> release_all();

    const lease& current() const noexcept { return leases_.back(); }
    // The oldest first, the current one last. References stay valid until retire().
    const std::list<lease>& all() const noexcept { return leases_; }
    // The store has answered the last heartbeat of the current lease.
    bool is_confirmed() const noexcept { return current().is_registered && is_answered_; }
    bool is_valid() const { return current().is_registered && weir::now() < current().expires_at; }
    // Returns when a lease was registered since the last call, or at `until`. One caller at a time.
    task<> wait_for_registration(clock::time_point until);
    // Ends an old lease in the store and forgets it.
    task<> retire(const lease& old);

private:
    task<bool> send_heartbeat();
    void lose(std::string_view reason);
    task<> release_each();
    // Handlers have this part of the lease to end in after it is lost.
    clock::duration margin() const noexcept { return options_.lease / 5; }
    lease& mine() noexcept { return leases_.back(); }

    store_client& store_;
    wall_clock& time_;
    const event_log& log_;
    runner& runs_;
    claim_trigger& claims_;
    const service_options& options_;
    std::list<lease> leases_;
    bool is_answered_ = true;  // the last heartbeat
    event registered_;
    event is_beat_due_;
};

}  // namespace weir::service::detail
