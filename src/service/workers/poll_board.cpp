// SPDX-License-Identifier: MIT
// Groups live as long as polls wait in them. Inside a group the oldest poll comes first, and a
// worker that polls again goes to the end: workers take turns.

#include "service/workers/poll_board.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

std::string group_name(std::vector<std::string> kinds, std::vector<std::string> queues) {
    std::ranges::sort(kinds);
    std::ranges::sort(queues);
    std::string name;
    for (const std::string& each : kinds) {
        name += each;
        name += '\n';  // names have no control characters
    }
    for (const std::string& each : queues) {
        name += '\r';
        name += each;
    }
    return name;
}

}  // namespace

struct waiting_poll::group {
    bool takes_from(std::string_view queue) const {
        return queues.empty() || std::ranges::find(queues, queue) != queues.end();
    }

    std::string name;
    std::vector<std::string> kinds;
    std::vector<std::string> queues;
    std::list<std::shared_ptr<waiting_poll>> polls;
    std::size_t wanted = 0;  // tasks that may be ready
    std::size_t fresh = 0;   // polls
};

void waiting_poll::end(poll_answer::verdict how) {
    if (is_over()) {
        return;
    }
    answer.what = how;
    is_ending_ = true;
    if (!is_in_flight_) {
        done.set();
    }
}

void waiting_poll::end_after_look(poll_answer::verdict how) {
    if (was_looked_at_) {
        end(how);
    } else if (!is_over()) {
        answer.what = how;
        is_ending_ = true;
    }
}

void waiting_poll::end(poll_answer with) {
    answer = std::move(with);
    is_in_flight_ = false;
    done.set();
}

poll_board::poll_board() = default;
poll_board::~poll_board() = default;

poll_board::group& poll_board::group_of(const std::vector<std::string>& kinds,
                                        const std::vector<std::string>& queues) {
    std::string name = group_name(kinds, queues);
    const auto found = groups_.find(name);
    if (found != groups_.end()) {
        return *found->second;
    }
    auto made = std::make_unique<group>();
    made->name = name;
    made->kinds = kinds;
    made->queues = queues;
    group& added = *made;
    for (const std::string& each : kinds) {
        by_kind_[each].push_back(&added);
    }
    groups_.emplace(std::move(name), std::move(made));
    return added;
}

void poll_board::forget(group& empty) noexcept {
    for (const std::string& each : empty.kinds) {
        const auto found = by_kind_.find(each);
        std::erase(found->second, &empty);
        if (found->second.empty()) {
            by_kind_.erase(found);
        }
    }
    groups_.erase(groups_.find(empty.name));
}

void poll_board::add(std::shared_ptr<waiting_poll> poll, const std::vector<std::string>& kinds,
                     const std::vector<std::string>& queues) {
    waiting_poll& added = *poll;
    group& in = group_of(kinds, queues);
    added.group_ = &in;
    added.place_ = in.polls.insert(in.polls.end(), std::move(poll));
    ++in.fresh;
    ++fresh_;
    ++size_;
}

void poll_board::remove(waiting_poll& poll) noexcept {
    group* const from = std::exchange(poll.group_, nullptr);
    if (from == nullptr) {
        return;
    }
    if (poll.is_fresh_) {
        --from->fresh;
        --fresh_;
    }
    --size_;
    from->polls.erase(poll.place_);
    if (from->polls.empty()) {
        forget(*from);
    }
}

std::vector<std::shared_ptr<waiting_poll>> poll_board::all() const {
    std::vector<std::shared_ptr<waiting_poll>> polls;
    for (const auto& [name, each] : groups_) {
        polls.insert(polls.end(), each->polls.begin(), each->polls.end());
    }
    return polls;
}

bool poll_board::tasks_ready(std::string_view kind, std::string_view queue, std::size_t count) {
    const auto found = by_kind_.find(kind);
    if (found == by_kind_.end()) {
        return false;
    }
    bool is_found = false;
    for (group* const each : found->second) {
        if (each->takes_from(queue)) {
            each->wanted += count;
            is_found = true;
        }
    }
    return is_found;
}

bool poll_board::task_ended(std::string_view kind) {
    const auto found = by_kind_.find(kind);
    if (found == by_kind_.end()) {
        return false;
    }
    for (group* const each : found->second) {
        each->wanted = std::max<std::size_t>(each->wanted, 1);
    }
    return true;
}

void poll_board::anything_ready() {
    for (const auto& [name, each] : groups_) {
        each->wanted = std::max<std::size_t>(each->wanted, 1);
    }
}

bool poll_board::is_wanted() const noexcept {
    return fresh_ > 0 ||
           std::ranges::any_of(groups_, [](const auto& each) { return each.second->wanted > 0; });
}

std::vector<std::shared_ptr<waiting_poll>> poll_board::begin_claim() {
    std::vector<std::shared_ptr<waiting_poll>> claimed;
    for (const auto& [name, each] : groups_) {
        group& in = *each;
        for (const std::shared_ptr<waiting_poll>& poll : in.polls) {
            if ((in.wanted == 0 && in.fresh == 0) || claimed.size() >= max_claims) {
                break;
            }
            if (!(poll->is_fresh_ || in.wanted > 0) || poll->is_in_flight_ || poll->is_over()) {
                continue;
            }
            if (std::exchange(poll->is_fresh_, false)) {
                --in.fresh;
                --fresh_;
            }
            if (poll->asked.is_client_connected && !poll->asked.is_client_connected()) {
                continue;
            }
            in.wanted -= std::min(in.wanted, poll->asked.free);
            poll->is_in_flight_ = true;
            claimed.push_back(poll);
        }
        if (claimed.size() >= max_claims) {
            break;
        }
        in.wanted = 0;  // the rest has no poll, and a new one is claimed for
    }
    return claimed;
}

void poll_board::claim_failed(const std::vector<std::shared_ptr<waiting_poll>>& polls) {
    for (const std::shared_ptr<waiting_poll>& each : polls) {
        each->is_in_flight_ = false;
        each->is_uncertain_ = true;
        if (each->is_ending_) {
            each->done.set();
        } else if (each->group_ != nullptr && !std::exchange(each->is_fresh_, true)) {
            ++each->group_->fresh;
            ++fresh_;
        }
    }
}

void poll_board::claim_answered(waiting_poll& poll, std::size_t count) {
    poll.is_in_flight_ = false;
    poll.is_uncertain_ = false;
    poll.was_looked_at_ = true;
    if (count >= poll.asked.free && poll.group_ != nullptr) {
        poll.group_->wanted = std::max<std::size_t>(poll.group_->wanted, 1);
    }
    if (poll.is_ending_ && count == 0) {
        poll.done.set();
    }
}

}  // namespace weir::service::detail
