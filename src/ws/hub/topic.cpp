// SPDX-License-Identifier: MIT
// Members are a vector; each member knows its membership, and the membership its index. During a
// delivery the vector only grows: a member that leaves becomes a gap, which is closed when the
// delivery has ended.

#include "ws/hub/topic.hpp"

#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <exception>
#include <utility>

namespace weir::ws::detail {

namespace {

void report_throwing_member(std::string_view topic, const std::exception_ptr& error) noexcept {
    try {
        loop::current().tell({report_kind::callback_error,
                              "ws::hub: a member of topic " + base::quoted(topic) +
                                  " threw and was removed: " + describe(error),
                              error,
                              {},
                              {}});
    } catch (...) {  // no memory for the text, or no loop
    }
}

}  // namespace

void topic::add(const subscriber_ref& to, membership& owner) {
    members_.push_back({to, &owner});
    owner.topic_ = this;
    owner.index_ = members_.size() - 1;
    ++stats_.members;
}

void topic::move(membership& to) noexcept {
    members_[to.index_].owner = &to;
}

void topic::remove(const membership& owner) noexcept {
    remove_at(owner.index_);
}

void topic::remove_at(std::size_t index) noexcept {
    member& gone = members_[index];
    gone.owner->topic_ = nullptr;
    gone.to.to = nullptr;
    gone.owner = nullptr;
    ++gaps_;
    --stats_.members;
    if (!is_delivering_) {
        members_[index] = members_.back();
        members_.pop_back();
        --gaps_;
        if (index < members_.size()) {
            members_[index].owner->index_ = index;
        }
    }
}

void topic::close_gaps() noexcept {
    if (gaps_ == 0) {
        return;
    }
    std::size_t kept = 0;
    for (const member& each : members_) {
        if (each.to.to != nullptr) {
            each.owner->index_ = kept;
            members_[kept++] = each;
        }
    }
    members_.resize(kept, members_.front());
    gaps_ = 0;
}

posted topic::post(const subscriber_ref& to, const frame& message) const noexcept {
    try {
        return to.post(message);
    } catch (...) {
        const std::exception_ptr error = std::current_exception();
        report_throwing_member(name_, error);
        return posted::refused;
    }
}

bool topic::begin_delivery() noexcept {
    return !std::exchange(is_delivering_, true);
}

void topic::deliver(const frame& message) noexcept {
    const std::size_t end = members_.size();
    std::uint64_t delivered = 0;
    for (std::size_t at = 0; at < end; ++at) {
        const subscriber_ref to = members_[at].to;  // by value: the vector may grow
        if (to.to == nullptr) {
            continue;
        }
        const posted result = post(to, message);
        if (result == posted::queued) [[likely]] {
            ++delivered;
        } else if (result == posted::queued_dropping) {
            ++delivered;
            ++stats_.dropped;
        } else if (members_[at].to.to != nullptr) {
            remove_at(at);
            ++stats_.removed;
        }
    }
    stats_.delivered += delivered;
}

void topic::end_delivery() noexcept {
    while (waiting_count() != 0) {
        const frame next = std::move(waiting_[waiting_begun_++]);
        deliver(next);
    }
    waiting_.clear();
    waiting_begun_ = 0;
    is_delivering_ = false;
    close_gaps();
}

void topic::close() noexcept {
    pin();
    is_delivering_ = true;
    for (std::size_t at = 0; at < members_.size(); ++at) {
        if (members_[at].to.to != nullptr) {
            remove_at(at);
        }
    }
}

}  // namespace weir::ws::detail
