// SPDX-License-Identifier: MIT
// While the store answers its heartbeats, a node owns its tasks. When the store does not answer,
// the node stops its runs before the lease expires and other nodes take them, and continues under a
// new name. Only heartbeats are sent here: slow answers to other calls must not cost the lease.

#include "service/engine/lease_keeper.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration release_limit = 2s;
constexpr clock::duration min_limit = 1ms;  // for the last heartbeat of a lease
}  // namespace

void lease_keeper::take_first() {
    leases_.clear();
    leases_.emplace_back(loop::current().fresh_seed(), time_.now());
}

task<> lease_keeper::register_node() {
    is_answered_ = co_await send_heartbeat();
    registered_.clear();
}

task<> lease_keeper::run() {
    decision::backoff delays(store_backoff_options);
    for (;;) {
        clock::duration pause = options_.heartbeat;
        if (!is_confirmed()) {
            pause = std::min(pause, store_.next_delay(delays));
        }
        clock::time_point next = weir::now() + pause;
        if (current().is_registered) {
            next = std::min(next, current().expires_at - margin());
        }
        co_await wait_until(is_beat_due_, next);
        is_beat_due_.clear();
        if (current().is_registered && weir::now() >= current().expires_at) {
            lose("it was not renewed in time");
        }
        try {
            is_answered_ = co_await send_heartbeat();
        } catch (const std::exception& error) {
            log_.write(log_level::error, std::string("the heartbeat failed: ") + error.what());
            is_answered_ = false;
        }
        if (is_answered_) {
            delays.restart();
        } else if (current().is_registered && weir::now() >= current().expires_at - margin()) {
            lose("the store is unavailable");
        }
    }
}

// False if the store is unavailable, or the lease has ended.
task<bool> lease_keeper::send_heartbeat() {
    lease& renewed = mine();
    const clock::time_point begun = weir::now();
    const clock::time_point expires_at =
        renewed.is_registered ? renewed.expires_at : begun + options_.lease;
    const clock::duration limit = std::min(
        store_.timeout(), std::max<clock::duration>(expires_at - margin() - begun, min_limit));
    node_record node;
    node.id = renewed.node();
    node.host = this_host();
    node.pid = this_process();
    node.started_at = renewed.taken_at;
    renewed.is_sent = true;
    const moment at = time_.moment_now();
    node.expires_at = at.steady + std::chrono::floor<std::chrono::microseconds>(options_.lease);
    node.clock_offset = time_.offset();
    heartbeat_answer answer;
    try {
        answer = co_await store_.write_within(limit, store_->heartbeat(std::move(node), at));
    } catch (const store_unavailable&) {
        co_return false;
    }
    if (!answer.is_alive) {
        lose("other nodes have taken its tasks");
        co_return false;
    }
    renewed.expires_at = begun + options_.lease;
    time_.set_offset(answer.clock_offset);
    time_.follow_calendar(answer.calendar, begun);
    if (!std::exchange(renewed.is_registered, true)) {
        renewed.registered_at = begun;
        claims_.claim_now();
        registered_.set();
    }
    for (const run_key& each : answer.cancelling) {
        runs_.cancel(renewed, each);
    }
    co_return true;
}

void lease_keeper::lose(std::string_view reason) {
    lease& lost = mine();
    lost.is_lost = true;
    std::string message = "the lease is lost: ";
    message += reason;
    message += "; stopping " + std::to_string(runs_.running(lost)) + " tasks";
    log_.write(log_level::warning, message);
    runs_.stop_all(lost, stop_cause::lease_lost);
    leases_.emplace_back(loop::current().fresh_seed(), time_.now());
}

task<> lease_keeper::wait_for_registration(clock::time_point until) {
    co_await wait_until(registered_, until);
    registered_.clear();
}

task<> lease_keeper::retire(const lease& old) {
    co_await store_.call(store_->retire(old.node()));
    std::erase_if(leases_, [&](const lease& each) { return &each == &old; });
}

task<> lease_keeper::release_all() {
    cancel_scope limit(release_limit);
    static_cast<void>(co_await limit.run(release_each()));
}

task<> lease_keeper::release_each() {
    decision::backoff delays(store_backoff_options);
    while (!leases_.empty()) {
        bool is_repeated = false;
        try {
            if (current().is_sent) {
                co_await store_.call_within(std::min(store_.timeout(), release_limit / 3),
                                            store_->retire(current().node()));
            }
        } catch (const store_unavailable&) {
            is_repeated = true;  // the store_client has logged it
        } catch (const std::exception& error) {
            log_.write(log_level::error,
                       std::string("releasing the lease failed: ") + error.what());
        }
        if (is_repeated) {
            co_await sleep(store_.next_delay(delays));
        } else {
            leases_.pop_back();
        }
    }
}

}  // namespace weir::service::detail
