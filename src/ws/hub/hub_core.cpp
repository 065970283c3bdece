// SPDX-License-Identifier: MIT
// A message that is published during a delivery to its topic gets its number and its place in the
// log at once, and is delivered afterwards. So every member sees the numbers in order, whatever
// members do in post().
//
// A join counts as a delivery too: it takes its frames from the log first and posts them then, and
// messages published in between come behind them.

#include "ws/hub/hub_core.hpp"

#include "base/option_checks.hpp"
#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir::ws::detail {

namespace {

// How many expired messages of other topics one call drops: the work is spread over the calls.
constexpr std::size_t dropped_per_call = 32;

const hub_options& checked(const hub_options& options) {
    using weir::detail::throw_bad_option;
    if (options.max_topics == 0) {
        throw_bad_option("ws::hub", "max_topics", 0, "at least 1");
    }
    if (options.max_topic_name == 0) {
        throw_bad_option("ws::hub", "max_topic_name", 0, "at least 1");
    }
    if (options.keep_total_bytes < options.keep_bytes) {
        throw_bad_option("ws::hub", "keep_total_bytes",
                         static_cast<double>(options.keep_total_bytes),
                         "at least keep_bytes, which is " + std::to_string(options.keep_bytes));
    }
    if (options.keep_for <= clock::duration::zero()) {
        throw_bad_option("ws::hub", "keep_for", options.keep_for,
                         "above 0; to keep nothing, set keep_messages to 0");
    }
    return options;
}

struct replay {
    catch_up result;
    std::size_t bytes = 0;
    std::vector<frame> newest_first;  // shared with the log, which may change meanwhile
};

// The newest messages after `seen` that fit into the room.
replay plan_replay(const topic& from, const position& seen, outbox_room room) {
    const position newest = from.delivered();
    replay plan;
    plan.result.at = newest;
    plan.result.is_known =
        seen.epoch == 0 || (seen.epoch == newest.epoch && seen.number <= newest.number);
    const bool continues = seen.epoch != 0 && plan.result.is_known;
    const std::uint64_t unseen = newest.number - (continues ? seen.number : 0);

    const auto oldest = from.log.messages.begin();
    auto at = from.log.messages.end();
    for (std::uint64_t waiting = from.newest().number - newest.number; waiting > 0 && at != oldest;
         --waiting) {
        --at;
    }
    while (at != oldest && plan.result.replayed < unseen) {
        const frame& message = (--at)->message;
        const std::size_t bytes = plan.bytes + message.size();
        if (plan.result.replayed == room.messages || bytes > room.bytes) {
            break;
        }
        plan.bytes = bytes;
        plan.newest_first.push_back(message);
        ++plan.result.replayed;
    }
    plan.result.missed = unseen - plan.result.replayed;
    return plan;
}

}  // namespace

// Keeps a topic from being dropped.
class hub_core::pinned {
public:
    pinned(hub_core& core, topic& used) noexcept : core_(core), topic_(used) {
        core_.topics_.pin(topic_);
    }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;
    ~pinned() { core_.topics_.unpin(topic_); }

private:
    hub_core& core_;
    topic& topic_;
};

// Also holds back what is published to the topic meanwhile, unless it is part of a delivery itself.
class hub_core::delivery {
public:
    delivery(hub_core& core, topic& to) noexcept
        : pinned_(core, to), topic_(to), is_outermost_(to.begin_delivery()) {}
    delivery(const delivery&) = delete;
    delivery& operator=(const delivery&) = delete;
    ~delivery() {
        if (is_outermost_) {
            topic_.end_delivery();
        }
    }
    bool is_outermost() const noexcept { return is_outermost_; }

private:
    pinned pinned_;
    topic& topic_;
    bool is_outermost_;
};

hub_core::hub_core(const hub_options& options)
    : store_(checked(options)), topics_(options, store_) {}

void hub_core::close() noexcept {
    is_closed_ = true;
    topics_.close_all();
}

catch_up hub_core::join(const subscriber_ref& to, std::string_view name, membership& made) {
    topic& joined = topics_.find_or_make(name, *this, stats_);
    const pinned pin(*this, joined);
    joined.add(to, made);
    catch_up result;
    result.at = joined.delivered();
    return result;
}

catch_up hub_core::join(const subscriber_ref& to, std::string_view name, const position& seen,
                        frame (*greet)(void*, const catch_up&), void* greeter, membership& made) {
    const clock::time_point now = weir::now();
    drop_expired(now, dropped_per_call);
    topic& joined = topics_.find_or_make(name, *this, stats_);
    const delivery here(*this, joined);
    store_.drop_expired(joined.log, now);

    const outbox_room room = to.room();
    outbox_room left = room;
    left.messages -= greet != nullptr && left.messages != 0 ? 1 : 0;
    replay missed = plan_replay(joined, seen, left);
    frame greeting;
    if (greet != nullptr) {
        greeting = greet(greeter, missed.result);
        while (missed.result.replayed != 0 && missed.bytes + greeting.size() > room.bytes) {
            left.bytes =
                std::min(left.bytes - 1, room.bytes - std::min(room.bytes, greeting.size()));
            missed = plan_replay(joined, seen, left);
            greeting = greet(greeter, missed.result);
        }
    }
    if (greeting) {
        missed.newest_first.push_back(std::move(greeting));
    }
    if (is_closed_) {
        return {};  // by the greeting
    }

    joined.add(to, made);
    stats_.missed += missed.result.missed;
    stats_.replayed += missed.result.replayed;
    const auto& frames = missed.newest_first;
    for (auto each = frames.rbegin(); each != frames.rend() && made.is_member(); ++each) {
        if (joined.post(to, *each) == posted::refused && made.is_member()) {
            joined.remove(made);
            ++stats_.removed;
        }
    }
    return missed.result;
}

void hub_core::leave(topic& from, const membership& owner) noexcept {
    from.remove(owner);
    topics_.drop_if_unused(from);
}

position hub_core::publish(std::string_view name, const frame& message, const position* expected) {
    if (!message) {
        throw invalid_argument("ws::hub: the frame for topic " + base::quoted(name) + " is empty");
    }
    const clock::time_point now = weir::now();
    if (expected != nullptr && next_position(name) != *expected) {
        throw invalid_state("ws::hub: the function that makes a message for topic " +
                            base::quoted(name) + " has published to that topic itself");
    }
    topic& to = topics_.find_or_make(name, *this, stats_);
    const delivery here(*this, to);
    std::unique_ptr<kept_message> kept = store_.make(message);
    if (!here.is_outermost()) {
        to.deliver_later(message);
    }
    const position made = to.take_number();
    ++stats_.published;
    if (kept != nullptr) {
        store_.add(to.log, std::move(kept), to, now);
        while (topic* const oldest = store_.over_limit()) {
            drop_message(*oldest);
        }
        drop_expired(now, dropped_per_call);
    }
    if (here.is_outermost()) {
        to.deliver(message);
    }
    return made;
}

void hub_core::drop_message(topic& from) noexcept {
    store_.drop_oldest(from.log);
    if (from.log.count == 0) {
        topics_.drop_if_unused(from);
    }
}

void hub_core::drop_expired(clock::time_point now, std::size_t at_most) noexcept {
    for (; at_most > 0; --at_most) {
        topic* const oldest = store_.expired(now);
        if (oldest == nullptr) {
            return;
        }
        drop_message(*oldest);
    }
}

hub_stats hub_core::stats() {
    if (loop* const running = loop::current_or_null()) {
        drop_expired(running->now(), store_.count());
    }
    hub_stats all = stats_;
    all.topics = topics_.size();
    all.kept_messages = store_.count();
    all.kept_bytes = store_.bytes();
    return all;
}

}  // namespace weir::ws::detail
