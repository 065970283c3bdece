// SPDX-License-Identifier: MIT
// A lookup queries IPv4 and IPv6 at once, as two questions, for one candidate name after the other,
// and concludes when both are answered: with addresses if either question has some. A failed
// question is never cached as 'no such host'. Callbacks of c-ares put the lookup on a list;
// settle() processes the list when c-ares has returned, and is the only function that wakes
// waiters, starts the next question or destroys a lookup.

#include "io/dns/resolver_core.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::dns::detail {

namespace {

void on_answer(void* owner, int status, int, unsigned char* data, int size) {
    static_cast<question*>(owner)->ended(status, data, size);
}

}  // namespace

resolver_core::resolver_core(const resolver_options& options)
    : ares_client(options), options_(options), known_(options) {}

resolver_core::~resolver_core() {
    shut_down();  // ends all questions, whose callbacks need this object
    for (auto& [name, each] : lookups_) {
        fail(*each, "the resolver was destroyed");
    }
}

bool resolver_core::answer_at_once(resolve_operation& request) {
    const std::optional<answer> known = known_.find(request.host_);
    if (!known.has_value()) {
        return false;
    }
    if (known->addresses.empty()) {
        request.fail(known->failure);
    } else {
        request.finish(known->addresses);
    }
    return true;
}

bool resolver_core::join(resolve_operation& request) {
    bind_to_loop();
    if (lookups_.empty() && refresh()) {
        known_.clear_cache();  // another network may have other answers
    }
    auto found = lookups_.find(request.host_);
    if (found == lookups_.end()) {
        auto made = std::make_unique<lookup>();
        made->core = this;
        made->name = request.host_;
        made->candidates = configuration().candidates_for(request.host_);
        made->waiters.push_back(&request);
        lookup& added = *made;
        found = lookups_.emplace(added.name, std::move(made)).first;
        try {
            queue_.push_back(&added);
        } catch (...) {
            lookups_.erase(found);
            throw;
        }
        request.lookup_ = &added;
        start_queued();
        pump();
        return true;
    }
    lookup& shared = *found->second;
    if (!shared.early.empty()) {
        request.finish(shared.early);
        return false;
    }
    shared.waiters.push_back(&request);
    request.lookup_ = &shared;
    return true;
}

void resolver_core::leave(resolve_operation& request) noexcept {
    auto& waiters = std::exchange(request.lookup_, nullptr)->waiters;
    const auto found = std::find(waiters.begin(), waiters.end(), &request);
    *found = waiters.back();
    waiters.pop_back();
}

// Lookups without waiters are dropped.
void resolver_core::start_queued() noexcept {
    while (!queue_.empty() && running_ < options_.max_queries) {
        lookup& next = *queue_.front();
        queue_.pop_front();
        if (next.waiters.empty()) {
            lookups_.erase(lookups_.find(next.name));
            continue;
        }
        ++running_;
        start(next);
    }
}

void resolver_core::start(lookup& started) {
    const std::string& name = started.candidates[started.next_candidate++];
    started.questions[0].prepare(started, type_a, known_.wants(io::address::family::ipv4));
    started.questions[1].prepare(started, type_aaaa, known_.wants(io::address::family::ipv6));
    for (question& each : started.questions) {
        if (each.is_wanted) {
            ++queries_;
            send_question(name, each.type, &on_answer, &each);
        }
    }
}

void resolver_core::note_change(lookup& changed) noexcept {
    if (!changed.is_changed) {
        changed.is_changed = true;
        changed.next_changed = std::exchange(changed_, &changed);
    }
}

void resolver_core::settle() noexcept {
    if (impatient_ > 0) {
        const clock::time_point now = weir::now();
        for (auto& [name, each] : lookups_) {
            if (each->patience <= now) {
                note_change(*each);
            }
        }
    }
    do {
        while (changed_ != nullptr) {
            lookup& each = *changed_;
            changed_ = std::exchange(each.next_changed, nullptr);
            each.is_changed = false;
            try {
                settle_one(each);
            } catch (...) {
                fail(each, configuration().explain(ARES_ENOMEM));
                if (!each.is_pending()) {
                    remove(each);
                }
            }
        }
        start_queued();
    } while (changed_ != nullptr);
}

void resolver_core::forget_all() noexcept {
    queue_.clear();
    lookups_.clear();
    changed_ = nullptr;
    running_ = impatient_ = 0;
}

clock::time_point resolver_core::next_deadline() const noexcept {
    clock::time_point earliest = clock::time_point::max();
    if (impatient_ > 0) {
        for (const auto& [name, each] : lookups_) {
            earliest = std::min(earliest, each->patience);
        }
    }
    return earliest;
}

void resolver_core::settle_one(lookup& changed) {
    if (!changed.is_pending()) {
        conclude(changed);
    } else if (!changed.questions[0].is_pending && !changed.questions[0].found.empty()) {
        answer_early(changed);
    }
}

// IPv4 addresses have arrived, the answer for IPv6 has not.
void resolver_core::answer_early(lookup& partial) {
    if (!partial.early.empty()) {
        return;
    }
    const clock::time_point now = weir::now();
    if (partial.patience == clock::time_point::max()) {
        partial.patience = weir::detail::after(now, options_.resolution_delay);
        ++impatient_;
    }
    if (partial.patience > now) {
        return;
    }
    std::vector<io::address> found = partial.questions[0].found;
    known_.arrange(found);
    partial.early = std::move(found);
    partial.patience = clock::time_point::max();
    --impatient_;
    for (resolve_operation* each : std::exchange(partial.waiters, {})) {
        each->wake(partial.early);
    }
}

void resolver_core::conclude(lookup& ended) {
    std::vector<io::address> found = ended.questions[0].found;
    found.insert(found.end(), ended.questions[1].found.begin(), ended.questions[1].found.end());
    if (!found.empty()) {
        known_.arrange(found);
        succeed(ended, std::move(found));
        return;
    }
    for (const question& each : ended.questions) {
        if (!each.is_negative()) {
            fail(ended, configuration().explain(each.status));
            remove(ended);
            return;
        }
        ended.name_exists |= each.is_wanted && each.status == ARES_ENODATA;
    }
    if (ended.next_candidate < ended.candidates.size()) {
        start(ended);
        return;
    }
    const std::string why =
        configuration().explain(ended.name_exists ? ARES_ENODATA : ARES_ENOTFOUND);
    answer negative{.failure = failure_of(ended.name, why)};
    known_.remember(ended.name, std::move(negative), options_.negative_time);
    fail(ended, why);
    remove(ended);
}

// Cached for the shortest of the times to live; not for long if the question for one family failed.
void resolver_core::succeed(lookup& ended, std::vector<io::address> found) {
    clock::duration good_for = options_.max_time_to_live;
    for (const question& each : ended.questions) {
        if (!each.found.empty()) {
            const clock::duration time_to_live = std::chrono::seconds(each.time_to_live);
            good_for = std::min(good_for, std::max(time_to_live, options_.min_time_to_live));
        }
    }
    for (const question& each : ended.questions) {
        if (each.found.empty() && !each.is_negative()) {
            good_for = std::min(good_for, options_.negative_time);
        }
    }
    for (resolve_operation* each : std::exchange(ended.waiters, {})) {
        each->wake(found);
    }
    answer positive{.addresses = std::move(found)};
    known_.remember(ended.name, std::move(positive), good_for);
    remove(ended);
}

void resolver_core::fail(lookup& ended, const std::string& why) noexcept {
    const std::string failure = failure_of(ended.name, why);
    for (resolve_operation* each : ended.waiters) {
        each->wake_failed(failure);
    }
    ended.waiters.clear();
}

void resolver_core::remove(lookup& gone) noexcept {
    impatient_ -= gone.patience != clock::time_point::max() ? 1 : 0;
    --running_;
    lookups_.erase(lookups_.find(gone.name));
}

resolver_stats resolver_core::stats() const noexcept {
    return {.queries = queries_,
            .cache_hits = known_.cache_hits(),
            .cached = known_.cached(),
            .running = running_,
            .queued = lookups_.size() - running_};
}

}  // namespace weir::dns::detail
