// SPDX-License-Identifier: MIT
// A delivery goes over the members that the topic had when it began. What is published to the topic
// meanwhile gets its number and its place in the log at once, and is delivered after it. So every
// member sees the numbers in order, whatever members do in post().
//
// A join counts as a delivery too: it takes its frames from the log first and posts them then, and
// what is published in between comes behind them.

#include "ws/hub/hub_core.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir::ws::detail {

namespace {

// How many old messages of other topics one call forgets: their work is spread over the calls.
constexpr std::size_t forgotten_per_call = 32;

}  // namespace

// Keeps a topic from being dropped and, as a delivery, holds back what is published to it.
class hub_core::use {
public:
    enum class kind : bool { lookup, delivery };
    use(hub_core& core, topic& used, kind how) noexcept : core_(core), topic_(used) {
        ++topic_.pins;
        core_.set_idle(topic_, false);
        if (how == kind::delivery && !topic_.is_delivering) {
            topic_.is_delivering = true;
            delivers_ = true;
        }
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() {
        if (delivers_) {
            while (topic_.later_begun < topic_.later.size()) {
                const frame next = std::move(topic_.later[topic_.later_begun++]);
                core_.deliver(topic_, next);
            }
            topic_.later.clear();
            topic_.later_begun = 0;
            topic_.is_delivering = false;
            core_.close_holes(topic_);
        }
        --topic_.pins;
        core_.drop_if_unused(topic_);
    }
    // Is this the delivery, not a part of one?
    bool is_outermost() const noexcept { return delivers_; }

private:
    hub_core& core_;
    topic& topic_;
    bool delivers_ = false;
};

// ---- joining
// -------------------------------------------------------------------------------------

void hub_core::join(const subscriber_ref& to, std::string_view name, membership& made) {
    topic& in = find_or_make(name);
    const use here(*this, in, use::kind::lookup);
    add_member(in, to, made);
    made.caught_up_.at = {in.epoch, in.current()};
}

hub_core::replay hub_core::plan(const topic& in, const position& seen, outbox_room room) {
    const std::uint64_t newest = in.current();
    replay made;
    made.found.at = {in.epoch, newest};
    made.found.is_known = seen.epoch == 0 || (seen.epoch == in.epoch && seen.number <= newest);
    const bool continues = seen.epoch != 0 && made.found.is_known;
    const std::uint64_t unseen = newest - (continues ? seen.number : 0);

    const kept_message* at = in.log.messages.newest;
    for (std::uint64_t ahead = in.last - newest; ahead > 0 && at != nullptr; --ahead) {
        at = at->in_topic.older;
    }
    for (; at != nullptr && made.found.replayed < unseen; at = at->in_topic.older) {
        const std::size_t bytes = made.bytes + at->message.size();
        if (made.found.replayed == room.messages || bytes > room.bytes) {
            break;
        }
        made.bytes = bytes;
        made.newest_first.push_back(at->message);
        ++made.found.replayed;
    }
    made.found.missed = unseen - made.found.replayed;
    return made;
}

void hub_core::join(const subscriber_ref& to, std::string_view name, const position& seen,
                    frame (*greet)(void*, const catch_up&), void* greeter, membership& made) {
    const clock::time_point now = weir::now();
    forget_old(now, forgotten_per_call);
    topic& in = find_or_make(name);
    const use here(*this, in, use::kind::delivery);
    while (in.log.count != 0 && now - in.log.messages.oldest->since >= options_.keep_for) {
        store_.drop_oldest(in.log);
    }

    const outbox_room room = to.room();
    outbox_room left = room;
    left.messages -= greet != nullptr && left.messages != 0 ? 1 : 0;
    replay missed = plan(in, seen, left);
    frame hello;
    if (greet != nullptr) {
        hello = greet(greeter, missed.found);
        while (missed.found.replayed != 0 && missed.bytes + hello.size() > room.bytes) {
            left.bytes = std::min(left.bytes - 1, room.bytes - std::min(room.bytes, hello.size()));
            missed = plan(in, seen, left);
            hello = greet(greeter, missed.found);
        }
    }
    if (hello) {
        missed.newest_first.push_back(std::move(hello));
    }
    if (is_closed_) {
        return;  // by the greeting
    }

    add_member(in, to, made);
    made.caught_up_ = missed.found;
    counts_.missed += missed.found.missed;
    counts_.replayed += missed.found.replayed;
    const auto& frames = missed.newest_first;
    for (auto each = frames.rbegin(); each != frames.rend() && made.topic_ != nullptr; ++each) {
        if (post(in, to, *each) == posted::refused && made.topic_ != nullptr) {
            remove(in, made.index_);
            ++counts_.removed;
        }
    }
}

// ---- publishing
// ----------------------------------------------------------------------------------

position hub_core::publish(std::string_view name, const frame& message, const position* at) {
    if (!message) {
        throw invalid_argument("ws::hub: there is nothing in the frame for topic " + shown(name));
    }
    const clock::time_point now = weir::now();
    if (at != nullptr && next(name) != *at) {
        throw invalid_state("ws::hub: the function that makes a message for topic " + shown(name) +
                            " has published to it");
    }
    topic& to = find_or_make(name);
    const use here(*this, to, use::kind::delivery);
    auto kept = options_.keep_messages != 0 ? store_.make(message) : nullptr;
    if (!here.is_outermost()) {
        to.later.push_back(message);
    }
    const position made{to.epoch, ++to.last};
    ++counts_.published;
    if (kept != nullptr) {
        store_.add(to.log, std::move(kept), to, now);
        while (to.log.count > options_.keep_messages || to.log.bytes > options_.keep_bytes) {
            store_.drop_oldest(to.log);
        }
        while (store_.bytes() > options_.keep_total_bytes) {
            drop_message(*store_.oldest()->of);
        }
        forget_old(now, forgotten_per_call);
    }
    if (here.is_outermost()) {
        deliver(to, message);
    }
    return made;
}

void hub_core::tell(const topic& in, const std::exception_ptr& error) noexcept {
    try {
        loop::current().tell({report_kind::callback_error,
                              "ws::hub: a member of topic " + shown(in.name) +
                                  " threw and was removed: " + describe(error),
                              error,
                              {},
                              {}});
    } catch (...) {  // no memory for the text, or no loop
    }
}

// A member that throws is as good as one that is closed.
posted hub_core::post(const topic& in, const subscriber_ref& to, const frame& message) noexcept {
    try {
        return to.post(message);
    } catch (...) {
        const std::exception_ptr error = std::current_exception();
        tell(in, error);
        return posted::refused;
    }
}

void hub_core::deliver(topic& to, const frame& message) noexcept {
    const std::size_t end = to.members.size();
    std::uint64_t delivered = 0;
    for (std::size_t at = 0; at < end; ++at) {
        const subscriber_ref who = to.members[at].to;  // by value: the vector may grow
        if (who.to == nullptr) {
            continue;
        }
        const posted how = post(to, who, message);
        if (how == posted::queued) [[likely]] {
            ++delivered;
        } else if (how == posted::queued_dropping) {
            ++delivered;
            ++counts_.dropped;
        } else if (to.members[at].to.to != nullptr) {
            remove(to, at);
            ++counts_.removed;
        }
    }
    counts_.delivered += delivered;
}

// ---- what is kept
// --------------------------------------------------------------------------------

void hub_core::drop_message(topic& of) noexcept {
    store_.drop_oldest(of.log);
    if (of.log.count == 0) {
        drop_if_unused(of);
    }
}

void hub_core::forget_old(clock::time_point now, std::size_t at_most) noexcept {
    for (; at_most > 0 && store_.oldest() != nullptr; --at_most) {
        if (now - store_.oldest()->since < options_.keep_for) {
            return;
        }
        drop_message(*store_.oldest()->of);
    }
}

hub_stats hub_core::stats() {
    if (loop* const running = loop::current_or_null()) {
        forget_old(running->now(), store_.count());
    }
    hub_stats all = counts_;
    all.topics = topics_.size();
    all.members = members_;
    all.kept_messages = store_.count();
    all.kept_bytes = store_.bytes();
    return all;
}

}  // namespace weir::ws::detail
