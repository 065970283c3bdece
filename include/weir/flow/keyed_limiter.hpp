// SPDX-License-Identifier: MIT
// keyed_limiter: a rate for each key (client, tenant, address), in bounded memory.
//
//     weir::keyed_limiter<std::string> per_client({.rate = 10, .burst = 20});
//     if (auto let_in = per_client.try_acquire(address); !let_in) { /* 429, let_in.refusal() */ }
//
// A token bucket per key: 16 bytes for a number, 48 for a string, and some slack. Keys whose bucket
// is full again are forgotten as others come, which changes nothing for them; a key that still
// limits is never forgotten. When max_keys keys limit at once, new ones are refused, or share one
// bucket. The hash is seeded, so nobody outside can choose keys that collide.
//
// Waiting is first come, first served for each key; nobody overtakes a line, try_acquire()
// included. Cancelling a wait leaves no trace, and a grant that its task never saw is given back.
// Belongs to one loop. If it is destroyed while fibers wait, they throw invalid_state.
//
// Cost: a decision reads one or two cache lines; keys without waiters have no waiting state.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/decision/keyed_gcra.hpp>
#include <weir/flow/detail/keyed_line.hpp>
#include <weir/flow/keyed_limiter_options.hpp>
#include <weir/flow/limiter.hpp>
#include <weir/flow/policy.hpp>
#include <weir/timeout.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

template <class Key, class Hash = seeded_hash<Key>>
class keyed_limiter {
public:
    using options = keyed_limiter_options<Key>;
    using key_view = detail::lookup_key<Key>;
    class bound;

    explicit keyed_limiter(const options& with, Hash hash = Hash());
    keyed_limiter(const keyed_limiter&) = delete;
    keyed_limiter& operator=(const keyed_limiter&) = delete;

    // Tokens of the key, now or not at all. More than the burst is refused for ever; a number that
    // is not above 0 throws invalid_argument.
    admission<let_through> try_acquire(key_view key, double tokens = 1) {
        return try_acquire_at(now(), key, tokens);
    }
    admission<let_through> try_acquire_at(clock::time_point at, key_view key, double tokens = 1) {
        check(tokens);
        const decision::pace& rate = rate_of(key);
        if (waiting_ != 0) [[unlikely]] {
            if (const line* taken = find_line(key); taken != nullptr && taken->has_waiting()) {
                return refuse(decision_.look(key, tokens, rate, at, taken->queued()));
            }
        }
        const decision::keyed_answer said = decision_.take(key, tokens, rate, at);
        if (said.granted()) [[likely]] {
            ++granted_;
            return let_through{};
        }
        return refuse(said);
    }
    // The same, waiting for the key's turn if that may help.
    [[nodiscard]] auto admit(Key key, double tokens = 1) {
        check(tokens);
        return detail::keyed_wait<Key, keyed_limiter, false>(*this, std::move(key), tokens);
    }
    // How long it waited. Throws refused.
    [[nodiscard]] auto acquire(Key key, double tokens = 1) {
        check(tokens);
        return detail::keyed_wait<Key, keyed_limiter, true>(*this, std::move(key), tokens);
    }
    // How long until try_acquire() would grant it, if nobody else comes; those who wait included.
    clock::duration retry_after(key_view key, double tokens = 1) const {
        return retry_after_at(now(), key, tokens);
    }
    clock::duration retry_after_at(clock::time_point at, key_view key, double tokens = 1) const {
        check(tokens);
        const line* taken = find_line(key);
        return decision_.look(key, tokens, rate_of(key), at, taken == nullptr ? 0 : taken->queued())
            .wait;
    }
    // Undoes a try_acquire() of the same moment.
    void give_back_at(clock::time_point at, key_view key, double tokens = 1) noexcept;

    // The limiter of one key: for pipelines and combined limiters. The limiter must outlive it.
    bound for_key(Key key) { return bound(*this, std::move(key)); }

    // Another rate for the keys of a class from now on: what they have used stays used. Walks over
    // all keys.
    void set_rate(const key_rate& rate, std::size_t of_class = 0);
    // Forgets all keys that no longer limit, and returns memory: for a quiet hour. Walks over all.
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
    refusal refuse(const decision::keyed_answer& said);
    void tell_full(clock::time_point at) noexcept;

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
    clock::time_point told_full_{};
};

// A keyed_limiter with the key filled in.
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
    [[nodiscard]] auto admit(double tokens = 1) { return limiter_->admit(key_, tokens); }
    [[nodiscard]] auto acquire(double tokens = 1) { return limiter_->acquire(key_, tokens); }
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

    // What would throw (no memory) is refused here, and thrown by enter().
    admission<let_through> try_enter(call_context& call) noexcept {
        try {
            return limiter_->try_acquire_at(call.now(), key_, call.weight());
        } catch (...) {
            return refusal{refusal_reason::too_many_keys};
        }
    }
    task<admission<let_through>> enter(call_context& call) {
        auto let_in = co_await limiter_->admit(key_, call.weight());
        call.time_passed();
        co_return let_in;
    }

private:
    keyed_limiter* limiter_;
    Key key_;
};

}  // namespace weir

#include <weir/flow/detail/keyed_limiter_paths.hpp>
