// SPDX-License-Identifier: MIT
// A table of topics by name. One without members and messages goes at once; one without members is
// in a line by its last use, whose head goes when there are too many.
//
// Members are a vector for each topic, each knowing its membership and the other way round. While a
// message is delivered the vector only grows: who leaves becomes a hole, closed when the delivery
// has ended.

#include "ws/hub/hub_core.hpp"

#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>
#include <weir/io/error.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir::ws::detail {

namespace {

void check(const hub_options& options) {
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
}

std::uint64_t fresh_epoch() {
    if (loop* const running = loop::current_or_null()) {
        return running->fresh_seed();
    }
    return hash_seed::random().first;
}

}  // namespace

std::string shown(std::string_view name) {
    constexpr std::size_t longest = 60;
    std::string text(name.substr(0, longest));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char each) { return each < 0x20 || each == 0x7f; },
        '?');
    return "'" + text + (name.size() > longest ? "...'" : "'");
}

hub_core::hub_core(const hub_options& options)
    : options_(options), epoch_(fresh_epoch()), topics_(0, name_hash{hash_seed::random()}) {
    check(options);
}

// ---- topics
// --------------------------------------------------------------------------------------

const topic* hub_core::find(std::string_view name) const {
    const auto found = topics_.find(name);
    return found == topics_.end() ? nullptr : &found->second;
}

topic& hub_core::find_or_make(std::string_view name) {
    if (const auto found = topics_.find(name); found != topics_.end()) {
        return found->second;
    }
    if (name.size() > options_.max_topic_name) {
        throw limit_exceeded(
            "ws::hub: the name of topic " + shown(name) + " has " + std::to_string(name.size()) +
            " bytes; " + std::to_string(options_.max_topic_name) + " are allowed (max_topic_name)");
    }
    if (topics_.size() >= options_.max_topics) {
        if (idle_oldest_ == nullptr) {
            throw limit_exceeded("ws::hub: there is no room for topic " + shown(name) + ": " +
                                 std::to_string(topics_.size()) + " are in use (max_topics)");
        }
        topic& unused = *idle_oldest_;
        while (unused.log.count > 1) {
            drop_message(unused);
        }
        drop_message(unused);  // and the topic with it
    }
    const auto made = topics_.try_emplace(std::string(name), *this, next_epoch()).first;
    epoch_ = made->second.epoch;
    made->second.name = made->first;
    return made->second;
}

position hub_core::next(std::string_view name) const {
    if (const topic* const found = find(name)) {
        return {found->epoch, found->last + 1};
    }
    return {next_epoch(), 1};
}

void hub_core::drop_if_unused(topic& asked) noexcept {
    const bool is_empty = asked.member_count() == 0;
    const bool is_free = asked.pins == 0;
    set_idle(asked, is_free && is_empty && asked.log.count != 0);
    if (is_free && is_empty && asked.log.count == 0) {
        topics_.erase(topics_.find(asked.name));
    }
}

void hub_core::set_idle(topic& changed, bool idle) noexcept {
    if (changed.is_idle) {
        topic* const before = changed.idle_before;
        topic* const after = changed.idle_after;
        (before != nullptr ? before->idle_after : idle_oldest_) = after;
        (after != nullptr ? after->idle_before : idle_newest_) = before;
    }
    changed.is_idle = idle;
    if (idle) {
        changed.idle_before = idle_newest_;
        changed.idle_after = nullptr;
        (idle_newest_ != nullptr ? idle_newest_->idle_after : idle_oldest_) = &changed;
        idle_newest_ = &changed;
    }
}

// ---- members
// -------------------------------------------------------------------------------------

void hub_core::add_member(topic& to, const subscriber_ref& who, membership& made) {
    to.members.push_back({who, &made});
    made.topic_ = &to;
    made.index_ = to.members.size() - 1;
    ++members_;
}

// Takes a member off the list; the membership knows.
void hub_core::remove(topic& from, std::size_t index) noexcept {
    member& gone = from.members[index];
    gone.owner->topic_ = nullptr;
    gone.to.to = nullptr;
    gone.owner = nullptr;
    ++from.holes;
    --members_;
    if (!from.is_delivering) {
        from.members[index] = from.members.back();
        from.members.pop_back();
        --from.holes;
        if (index < from.members.size()) {
            from.members[index].owner->index_ = index;
        }
    }
}

void hub_core::leave(topic& from, std::size_t index) noexcept {
    remove(from, index);
    drop_if_unused(from);
}

void hub_core::close_holes(topic& in) noexcept {
    if (in.holes == 0) {
        return;
    }
    std::size_t kept = 0;
    for (const member& each : in.members) {
        if (each.to.to != nullptr) {
            each.owner->index_ = kept;
            in.members[kept++] = each;
        }
    }
    in.members.resize(kept, in.members.front());
    in.holes = 0;
}

void hub_core::close() noexcept {
    is_closed_ = true;
    for (auto& [name, each] : topics_) {
        ++each.pins;  // stays until the hub itself goes
        each.is_delivering = true;
        for (std::size_t at = 0; at < each.members.size(); ++at) {
            if (each.members[at].to.to != nullptr) {
                remove(each, at);
            }
        }
    }
}

}  // namespace weir::ws::detail
