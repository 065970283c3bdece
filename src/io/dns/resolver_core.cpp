// SPDX-License-Identifier: MIT
// A lookup asks for IPv4 and IPv6 at once, as two questions, one candidate name after the other,
// and concludes when both are answered: with addresses if either has some. What a failed question
// leaves open is never remembered as 'no such host'. Callbacks of c-ares put the lookup on a list;
// settle() works it off when c-ares has returned, and is the only place that wakes waiters, starts
// the next question or destroys a lookup.

#include "io/dns/resolver_core.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::dns::detail {

namespace {

void on_answer(void* asked, int status, int, unsigned char* data, int size) {
    static_cast<question*>(asked)->ended(status, data, size);
}

}  // namespace

resolver_core::resolver_core(const resolver_options& options)
    : ares_client(options),
      options_(options),
      hosts_(std::string(options.hosts_file)),
      cache_(options.cache_size) {}

resolver_core::~resolver_core() {
    shut_down();  // ends all questions, and they note that
    for (auto& [name, each] : lookups_) {
        fail(*each, "the resolver was destroyed");
    }
}

bool resolver_core::join(resolve_operation& asking) {
    bind_to_loop();
    if (lookups_.empty() && refresh()) {
        cache_.clear();  // another network may have other answers
    }
    auto found = lookups_.find(asking.host_);
    if (found == lookups_.end()) {
        auto made = std::make_unique<lookup>();
        made->core = this;
        made->name = asking.host_;
        made->candidates = candidates_for(asking.host_);
        made->waiters.push_back(&asking);
        lookup& added = *made;
        found = lookups_.emplace(added.name, std::move(made)).first;
        try {
            queue_.push_back(&added);
        } catch (...) {
            lookups_.erase(found);
            throw;
        }
        asking.asked_ = &added;
        start_queued();
        pump();
        return true;
    }
    lookup& shared = *found->second;
    if (!shared.early.empty()) {
        asking.finish(shared.early);
        return false;
    }
    shared.waiters.push_back(&asking);
    asking.asked_ = &shared;
    return true;
}

void resolver_core::leave(resolve_operation& gone) noexcept {
    auto& waiters = std::exchange(gone.asked_, nullptr)->waiters;
    const auto found = std::find(waiters.begin(), waiters.end(), &gone);
    *found = waiters.back();
    waiters.pop_back();
}

// Those that nobody waits for any more are not asked.
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
    started.questions[0].prepare(started, type_a, wants(io::address::family::ipv4));
    started.questions[1].prepare(started, type_aaaa, wants(io::address::family::ipv6));
    for (question& each : started.questions) {
        if (each.is_wanted) {
            ++queries_;
            ask(name, each.type, &on_answer, &each);
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
                fail(each, explain(ARES_ENOMEM));
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

// IPv4 is there, IPv6 is not.
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
    arrange(found);
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
        arrange(found);
        succeed(ended, std::move(found));
        return;
    }
    for (const question& each : ended.questions) {
        if (!each.is_negative()) {
            fail(ended, explain(each.status));
            remove(ended);
            return;
        }
        ended.name_exists |= each.is_wanted && each.status == ARES_ENODATA;
    }
    if (ended.next_candidate < ended.candidates.size()) {
        start(ended);
        return;
    }
    const std::string why = explain(ended.name_exists ? ARES_ENODATA : ARES_ENOTFOUND);
    answer negative{.failure = failure_of(ended.name, why)};
    cache_.put(ended.name, std::move(negative), weir::now(), options_.negative_time);
    fail(ended, why);
    remove(ended);
}

// Good for as long as the shortest of its parts; if one family could not be asked, not for long.
void resolver_core::succeed(lookup& ended, std::vector<io::address> found) {
    clock::duration good_for = options_.max_time_to_live;
    for (const question& each : ended.questions) {
        if (!each.found.empty()) {
            const clock::duration given = std::chrono::seconds(each.time_to_live);
            good_for = std::min(good_for, std::max(given, options_.min_time_to_live));
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
    cache_.put(ended.name, std::move(positive), weir::now(), good_for);
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
            .cache_hits = cache_hits_,
            .cached = cache_.size(),
            .running = running_,
            .queued = lookups_.size() - running_};
}

}  // namespace weir::dns::detail
