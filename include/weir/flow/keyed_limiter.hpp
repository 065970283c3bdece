// SPDX-License-Identifier: MIT
// keyed_limiter: a rate limit for each key (client, tenant, address), in bounded memory.
//
//     weir::keyed_limiter<std::string> per_client({.rate = 10, .burst = 20});
//     if (auto admitted = per_client.try_acquire(address); !admitted) {
//         answer_429(admitted.refusal().retry_after);
//     }
//
// A token bucket per key: 16 bytes for a number, 48 for a string, and some slack. A key whose
// bucket is full again may be evicted when other keys arrive, which makes no difference to it; a
// key that still limits is never evicted. When max_keys keys limit at once, new keys are refused,
// or share one bucket. The hash is seeded, so an attacker cannot choose keys that collide.
//
// Waiters of a key are served in the order of arrival; neither they nor try_acquire() overtake. A
// cancelled wait changes nothing, and a grant whose task was stopped before it continued is given
// back. Belongs to one loop. If it is destroyed while fibers wait, they throw invalid_state.
//
// Cost: a decision reads one or two cache lines; keys without waiters have no waiting state.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/decision/keyed_gcra.hpp>
#include <weir/flow/detail/keyed_line.hpp>
#include <weir/flow/detail/time_slot.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/timeout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir {

// What happens to a new key while max_keys other keys limit.
enum class when_keys_full : unsigned char {
    refuse,  // refused: too_many_keys
    share,   // all such keys share one bucket
};

template <class Key>
struct keyed_limiter_options {
    double rate = 0;                                // tokens of each key ...
    clock::duration per = std::chrono::seconds(1);  // ... per this period
    double burst = 1;                               // capacity of a key's bucket
    std::size_t max_keys = 1'000'000;
    weir::when_keys_full when_keys_full = weir::when_keys_full::refuse;
    // Keys with other rates: class_of returns 0 for the rate above, n for the n-th of `classes`.
    std::span<const key_rate> classes = {};
    hook<std::size_t(detail::lookup_key<Key>)> class_of = nullptr;
    std::size_t max_waiting = 10'000;  // of all keys together
    clock::duration max_wait = clock::duration::max();
    std::string_view name = "keyed_limiter";
    weir::observer* observer = nullptr;  // notified of "full", at most once a minute
    hash_seed seed = {};                 // all 0: random
};

struct keyed_limiter_stats {
    std::uint64_t granted = 0;
    std::uint64_t limited = 0;     // refused: the key's own rate
    std::uint64_t full = 0;        // refused: too many keys
    std::uint64_t not_waited = 0;  // refused: the line was full, or the wait too long
    std::uint64_t returned = 0;    // given back by tasks that were stopped before they continued
    std::uint64_t evicted = 0;     // keys evicted
    std::size_t keys = 0;          // keys in the table, including some that no longer limit
    std::size_t waiting = 0;
    std::size_t bytes = 0;
};

template <class Key, class Hash = seeded_hash<Key>>
class keyed_limiter {
public:
    using options = keyed_limiter_options<Key>;
    using key_view = detail::lookup_key<Key>;
    class bound;

    explicit keyed_limiter(const options& given, Hash hash = Hash());
    keyed_limiter(const keyed_limiter&) = delete;
    keyed_limiter& operator=(const keyed_limiter&) = delete;

    // Takes tokens of the key without waiting. More than the burst is always refused; throws
    // invalid_argument unless the number is positive.
    admission<let_through> try_acquire(key_view key, double tokens = 1) {
        return try_acquire_at(now(), key, tokens);
    }
    admission<let_through> try_acquire_at(clock::time_point at, key_view key, double tokens = 1) {
        check(tokens);
        const decision::pace& rate = rate_of(key);
        if (waiting_ != 0) [[unlikely]] {
            if (const line* waiters = find_line(key);
                waiters != nullptr && waiters->has_waiting()) {
                return refuse(decision_.look(key, tokens, rate, at, waiters->queued()));
            }
        }
        const decision::keyed_answer answer = decision_.take(key, tokens, rate, at);
        if (answer.granted()) [[likely]] {
            ++granted_;
            return let_through{};
        }
        return refuse(answer);
    }
    // co_await admit(key): the same, after a wait if that helps.
    auto admit(Key key, double tokens = 1) {
        check(tokens);
        return detail::keyed_wait<Key, keyed_limiter, false>(*this, std::move(key), tokens);
    }
    // co_await acquire(key): the time waited. Throws refused.
    auto acquire(Key key, double tokens = 1) {
        check(tokens);
        return detail::keyed_wait<Key, keyed_limiter, true>(*this, std::move(key), tokens);
    }
    // How long until try_acquire() would succeed behind the current waiters, without new requests.
    clock::duration retry_after(key_view key, double tokens = 1) const {
        return retry_after_at(now(), key, tokens);
    }
    clock::duration retry_after_at(clock::time_point at, key_view key, double tokens = 1) const {
        check(tokens);
        const line* waiters = find_line(key);
        return decision_
            .look(key, tokens, rate_of(key), at, waiters == nullptr ? 0 : waiters->queued())
            .wait;
    }
    // Undoes a try_acquire() of the same time.
    void give_back_at(clock::time_point at, key_view key, double tokens = 1) noexcept;

    // The limiter of one key: for pipelines and combined limiters. The limiter must outlive it.
    bound for_key(Key key) { return bound(*this, std::move(key)); }

    // Changes the rate of the keys of a class from now on; tokens already used stay used. Visits
    // all keys.
    void set_rate(const key_rate& rate, std::size_t rate_class = 0);
    // Evicts all keys that no longer limit, and returns memory. Visits all keys.
    void forget_idle() { decision_.forget_idle(now()); }

    std::size_t waiting() const noexcept { return waiting_; }
    std::size_t limiting_keys() const { return decision_.limiting_keys(now()); }
    const std::string& name() const noexcept { return name_; }
    keyed_limiter_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    template <class, class, bool>
    friend class detail::keyed_wait;
    template <class, class>
    friend class detail::keyed_line;
    using line = detail::keyed_line<Key, keyed_limiter>;
    struct line_hash {
        using is_transparent = void;
        hash_seed seed;
        [[no_unique_address]] Hash hash;
        std::size_t operator()(key_view key) const noexcept { return hash(key, seed); }
    };

    static void check(double tokens) {
        if (!(tokens > 0)) [[unlikely]] {
            detail::throw_bad_tokens(tokens);
        }
    }
    const decision::pace& rate_of(key_view key) const {
        if (!class_of_) [[likely]] {
            return rates_[0];
        }
        const std::size_t which = class_of_(key);
        if (which >= rates_.size()) [[unlikely]] {
            detail::throw_bad_class(name_, which, rates_.size());
        }
        return rates_[which];
    }
    const line* find_line(key_view key) const {
        const auto found = lines_.find(key);
        return found == lines_.end() ? nullptr : &found->second;
    }
    line& line_of(const Key& key) {
        const auto [found, is_new] = lines_.try_emplace(key, *this);
        if (is_new) {
            found->second.set_key(found->first);
        }
        return found->second;
    }
    void end_if_empty(line& left) noexcept {
        if (left.is_empty()) {
            lines_.erase(lines_.find(left.key()));
        }
    }
    template <class Waiter>
    bool decide_at_once(Waiter& waiter);
    refusal refuse(const decision::keyed_answer& answer);
    void report_full(clock::time_point at) noexcept;

    decision::keyed_gcra<Key, Hash> decision_;
    std::vector<decision::pace> rates_;
    hook<std::size_t(key_view)> class_of_;
    std::size_t waiting_ = 0;
    std::uint64_t granted_ = 0;
    std::uint64_t limited_ = 0;
    std::uint64_t full_ = 0;
    std::uint64_t not_waited_ = 0;
    std::uint64_t returned_ = 0;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    weir::observer* observer_;
    std::string name_;
    std::unordered_map<Key, line, line_hash, std::equal_to<>> lines_;
    clock::time_point reported_full_{};
};

// A keyed_limiter with a fixed key.
template <class Key, class Hash>
class keyed_limiter<Key, Hash>::bound {
public:
    static constexpr policy_kind kind = policy_kind::rate_limiter;
    using pass = let_through;

    bound(keyed_limiter& limiter, Key key) : limiter_(&limiter), key_(std::move(key)) {}

    admission<let_through> try_acquire(double tokens = 1) {
        return limiter_->try_acquire(key_, tokens);
    }
    admission<let_through> try_acquire_at(clock::time_point at, double tokens = 1) {
        return limiter_->try_acquire_at(at, key_, tokens);
    }
    auto admit(double tokens = 1) { return limiter_->admit(key_, tokens); }
    auto acquire(double tokens = 1) { return limiter_->acquire(key_, tokens); }
    clock::duration retry_after(double tokens = 1) const {
        return limiter_->retry_after(key_, tokens);
    }
    clock::duration retry_after_at(clock::time_point at, double tokens = 1) const {
        return limiter_->retry_after_at(at, key_, tokens);
    }
    void give_back_at(clock::time_point at, double tokens = 1) noexcept {
        limiter_->give_back_at(at, key_, tokens);
    }
    const Key& key() const noexcept { return key_; }

    // If this would throw (no memory) the call is refused here, and enter() throws.
    admission<let_through> try_enter(call_context& call) noexcept {
        try {
            return limiter_->try_acquire_at(call.now(), key_, call.weight());
        } catch (...) {
            return refusal{refusal_reason::too_many_keys};
        }
    }
    task<admission<let_through>> enter(call_context& call) {
        auto admitted = co_await limiter_->admit(key_, call.weight());
        call.time_passed();
        co_return admitted;
    }

private:
    keyed_limiter* limiter_;
    Key key_;
};

template <class Key, class Hash>
keyed_limiter<Key, Hash>::keyed_limiter(const options& given, Hash hash)
    : decision_(given.max_keys, given.when_keys_full == when_keys_full::share,
                given.seed == hash_seed{} ? hash_seed::random() : given.seed, hash),
      class_of_(given.class_of),
      max_waiting_(given.max_waiting),
      max_wait_(given.max_wait),
      observer_(given.observer),
      name_(given.name),
      lines_(0, line_hash{hash_seed::random(), hash}) {
    rates_.emplace_back(key_rate{given.rate, given.per, given.burst}, name_);
    for (const key_rate& each : given.classes) {
        rates_.emplace_back(each, name_);
    }
    detail::check_keyed_options(name_, given.max_keys, given.max_wait);
}

template <class Key, class Hash>
refusal keyed_limiter<Key, Hash>::refuse(const decision::keyed_answer& answer) {
    if (answer.verdict == decision::keyed_verdict::full) {
        ++full_;
        if (observer_ != nullptr) {
            report_full(now());
        }
        return {refusal_reason::too_many_keys, answer.wait};
    }
    ++limited_;
    return {refusal_reason::rate_limited, answer.wait};
}

template <class Key, class Hash>
void keyed_limiter<Key, Hash>::report_full(clock::time_point at) noexcept {
    if (full_ == 1 || at - reported_full_ >= std::chrono::minutes(1)) {
        reported_full_ = at;
        observer_->on_event({.kind = "keyed_limiter",
                             .name = name_,
                             .what = "full",
                             .at = at,
                             .value = static_cast<double>(decision_.keys())});
    }
}

// True: granted or refused, nothing to wait for.
template <class Key, class Hash>
template <class Waiter>
bool keyed_limiter<Key, Hash>::decide_at_once(Waiter& waiter) {
    const clock::time_point at = now();
    waiter.since_ = at;
    const decision::pace& rate = rate_of(waiter.key_);
    const line* waiters = waiting_ == 0 ? nullptr : find_line(waiter.key_);
    const bool is_line = waiters != nullptr && waiters->has_waiting();
    auto answer = is_line ? decision_.look(waiter.key_, waiter.tokens_, rate, at, waiters->queued())
                          : decision_.take(waiter.key_, waiter.tokens_, rate, at);
    if (answer.granted() && !is_line) {
        ++granted_;
        return true;
    }
    if (answer.verdict == decision::keyed_verdict::too_much ||
        answer.verdict == decision::keyed_verdict::full) {
        waiter.refuse(refuse(answer));
        return true;
    }
    if (waiting_ >= max_waiting_) {
        ++not_waited_;
        waiter.refuse({refusal_reason::queue_full, answer.wait});
        return true;
    }
    const clock::time_point deadline = current_deadline();
    const clock::time_point latest = detail::after(at, max_wait_);
    if (detail::after(at, answer.wait) > std::min(deadline, latest)) {
        ++not_waited_;
        waiter.refuse({detail::late_reason(deadline, latest), answer.wait});
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
void keyed_limiter<Key, Hash>::set_rate(const key_rate& rate, std::size_t rate_class) {
    if (rate_class >= rates_.size()) {
        detail::throw_bad_class(name_, rate_class, rates_.size());
    }
    const decision::pace changed(rate, name_);
    const clock::time_point at = now();
    decision_.rescale(
        at, [&](const Key& key) -> const decision::pace& { return rate_of(key); },
        [&](const Key& key) -> const decision::pace& {
            const decision::pace& old = rate_of(key);
            return &old == &rates_[rate_class] ? changed : old;
        });
    if (rate_class == 0) {
        decision_.rescale_shared(at, rates_[0], changed);
    }
    rates_[rate_class] = changed;
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
