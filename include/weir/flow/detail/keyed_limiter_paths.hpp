// SPDX-License-Identifier: MIT
// The rarer paths of keyed_limiter: making one, refusing, beginning to wait, changing rates.
#pragma once

#include <weir/flow/keyed_limiter.hpp>

namespace weir {

template <class Key, class Hash>
keyed_limiter<Key, Hash>::keyed_limiter(const options& with, Hash hash)
    : decision_(with.max_keys, with.when_keys_full == when_keys_full::share,
                with.seed == hash_seed{} ? hash_seed::random() : with.seed, hash),
      class_of_(with.class_of),
      max_waiting_(with.max_waiting),
      max_wait_(with.max_wait),
      observer_(with.observer),
      name_(with.name),
      lines_(0, line_hash{hash_seed::random(), hash}) {
    rates_.emplace_back(key_rate{with.rate, with.per, with.burst}, name_);
    for (const key_rate& each : with.classes) {
        rates_.emplace_back(each, name_);
    }
    detail::check_keyed_options(name_, with.max_keys, with.max_wait);
}

template <class Key, class Hash>
refusal keyed_limiter<Key, Hash>::refuse(const decision::keyed_answer& said) {
    if (said.verdict == decision::keyed_verdict::full) {
        ++full_;
        if (observer_ != nullptr) {
            tell_full(now());
        }
        return {refusal_reason::too_many_keys, said.wait};
    }
    ++limited_;
    return {refusal_reason::rate_limited, said.wait};
}

template <class Key, class Hash>
void keyed_limiter<Key, Hash>::tell_full(clock::time_point at) noexcept {
    if (full_ == 1 || at - told_full_ >= std::chrono::minutes(1)) {
        told_full_ = at;
        observer_->on_event({.kind = "keyed_limiter",
                             .name = name_,
                             .what = "full",
                             .at = at,
                             .value = static_cast<double>(decision_.keys())});
    }
}

// True if nothing is left to wait for: granted, or refused.
template <class Key, class Hash>
template <class Waiter>
bool keyed_limiter<Key, Hash>::decide_at_once(Waiter& waiter) {
    const clock::time_point at = now();
    waiter.since_ = at;
    const decision::pace& rate = rate_of(waiter.key_);
    const line* taken = waiting_ == 0 ? nullptr : find_line(waiter.key_);
    const bool is_line = taken != nullptr && taken->has_waiting();
    auto said = is_line ? decision_.look(waiter.key_, waiter.tokens_, rate, at, taken->queued())
                        : decision_.take(waiter.key_, waiter.tokens_, rate, at);
    if (said.granted() && !is_line) {
        ++granted_;
        return true;
    }
    if (said.verdict == decision::keyed_verdict::too_much ||
        said.verdict == decision::keyed_verdict::full) {
        waiter.refuse(refuse(said));
        return true;
    }
    if (waiting_ >= max_waiting_) {
        ++not_waited_;
        waiter.refuse({refusal_reason::queue_full, said.wait});
        return true;
    }
    if (said.wait > max_wait_ || detail::after(at, said.wait) > current_deadline()) {
        ++not_waited_;
        waiter.refuse({refusal_reason::wait_too_long, said.wait});
        return true;
    }
    return false;
}

template <class Key, class Hash>
void keyed_limiter<Key, Hash>::give_back_at(clock::time_point at, key_view key,
                                            double tokens) noexcept {
    decision_.give_back(key, tokens, rate_of(key), at);
    --granted_;
    ++returned_;
    if (const auto found = lines_.find(key); found != lines_.end()) {
        found->second.serve(at);
        end_if_empty(found->second);
    }
}

template <class Key, class Hash>
void keyed_limiter<Key, Hash>::set_rate(const key_rate& rate, std::size_t of_class) {
    if (of_class >= rates_.size()) {
        detail::throw_bad_class(name_, of_class, rates_.size());
    }
    const decision::pace changed(rate, name_);
    const clock::time_point at = now();
    decision_.rescale(
        at, [&](const Key& key) -> const decision::pace& { return rate_of(key); },
        [&](const Key& key) -> const decision::pace& {
            const decision::pace& old = rate_of(key);
            return &old == &rates_[of_class] ? changed : old;
        });
    if (of_class == 0) {
        decision_.rescale_shared(at, rates_[0], changed);
    }
    rates_[of_class] = changed;
    for (auto& [key, waiting] : lines_) {
        waiting.serve(at);
    }
    std::erase_if(lines_, [](const auto& each) { return each.second.is_empty(); });
}

template <class Key, class Hash>
keyed_limiter_stats keyed_limiter<Key, Hash>::stats() const noexcept {
    return {.granted = granted_,
            .limited = limited_,
            .full = full_,
            .not_waited = not_waited_,
            .returned = returned_,
            .evicted = decision_.evicted(),
            .keys = decision_.keys(),
            .waiting = waiting_,
            .bytes = decision_.bytes()};
}

template <class Key, class Hash>
void keyed_limiter<Key, Hash>::write_metrics(metric_writer& to) const {
    detail::write_keyed_metrics(to, name_, stats());
}

}  // namespace weir
