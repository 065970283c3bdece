// SPDX-License-Identifier: MIT
// The decision of keyed_limiter: a token bucket for each key, in bounded memory.
//
// A key whose bucket is full again is equivalent to a new key, so it may be evicted; a key that
// still limits is never evicted. If max_keys keys limit at the same time, the table is full for a
// new key. A time that goes backwards counts as the latest one.
#pragma once

#include <weir/flow/decision/pace.hpp>
#include <weir/flow/detail/time_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weir::decision {

enum class keyed_verdict : unsigned char {
    granted,
    too_early,  // not before `wait`
    too_much,   // more than the burst: never granted
    full,       // max_keys others limit; the first of them stops limiting after `wait`
};

struct keyed_answer {
    keyed_verdict verdict = keyed_verdict::granted;
    bool from_shared = false;
    clock::duration wait{};
    // For refund().
    std::int64_t cost = 0;
    std::int64_t started = 0;

    bool granted() const noexcept { return verdict == keyed_verdict::granted; }
};

template <class Key, class Hash = seeded_hash<Key>>
class keyed_gcra {
public:
    using key_view = detail::lookup_key<Key>;

    // When the table is full, new keys are refused, or share one bucket.
    keyed_gcra(std::size_t max_keys, bool shares_when_full, hash_seed seed, Hash hash = Hash())
        : table_(max_keys, seed, std::move(hash)), shares_(shares_when_full) {}

    // Takes the tokens, or nothing. Throws bad_alloc without changes.
    keyed_answer take(key_view key, double tokens, const pace& rate, clock::time_point at) {
        const std::int64_t now = tick(at);
        const std::int64_t cost = rate.cost(tokens);
        if (++turns_ % turns_per_tidying == 0) [[unlikely]] {
            table_.tidy(now);
        }
        const std::uint64_t hash = table_.hash(key);
        const auto place = table_.locate(key, hash, now);
        if (place.is_found()) [[likely]] {
            const std::int64_t wait = rate.wait(place.time(), now, cost);
            if (wait > 0) {
                return refusal_of(rate, cost, wait);
            }
            const std::int64_t start = std::max(place.time(), now);
            table_.raise(place, start + cost);
            return {.cost = cost, .started = start};
        }
        if (!rate.can_ever(cost)) {
            return {.verdict = keyed_verdict::too_much, .wait = clock::duration::max()};
        }
        if (cost == 0 || table_.put(place, key, hash, now + cost, now)) {
            return {.cost = cost, .started = now};
        }
        return take_without_place(rate, cost, now);
    }

    // How long until the tokens could be taken, after `ahead` others. Takes nothing.
    keyed_answer look(key_view key, double tokens, const pace& rate, clock::time_point at,
                      double ahead = 0) const {
        const std::int64_t now = clamped(at);
        const std::int64_t cost = rate.cost(tokens);
        const auto place = table_.locate(key, table_.hash(key), now);
        if (!rate.can_ever(cost)) {
            return {.verdict = keyed_verdict::too_much, .wait = clock::duration::max()};
        }
        std::int64_t full_at = now;
        if (place.is_found()) {
            full_at = std::max(now, place.time());
        } else if (const std::int64_t until = table_.full_until(); until > now) {
            if (!shares_) {
                return {.verdict = keyed_verdict::full, .wait = pace::duration(until - now)};
            }
            full_at = std::max(now, shared_);
        }
        const std::int64_t wait = rate.wait(full_at + rate.cost(ahead), now, cost);
        if (wait > 0) {
            return refusal_of(rate, cost, wait);
        }
        return {.cost = cost};
    }

    // Gives back the tokens of a grant; never more than the bucket would hold without the grant:
    // tokens that arrived since are lost if the bucket may have been full meanwhile.
    void refund(key_view key, const keyed_answer& grant, clock::time_point at) noexcept {
        const std::int64_t now = tick(at);
        const std::int64_t back = grant.cost - std::max<std::int64_t>(0, now - grant.started);
        if (back <= 0) {
            return;
        }
        if (grant.from_shared) {
            shared_ -= back;
            return;
        }
        const auto place = table_.locate(key, table_.hash(key), now);
        if (place.is_found()) {
            table_.change(place, place.time() - back);
        }
    }

    // Undoes a take of the same time.
    void give_back(key_view key, double tokens, const pace& rate, clock::time_point at) noexcept {
        refund(key, {.cost = rate.cost(tokens), .started = tick(at)}, at);
    }

    // Adopts new rates: the used tokens of a key stay used, so there is no burst. `old_rate` and
    // `new_rate` map a key to its pace.
    template <class OldRate, class NewRate>
    void rescale(clock::time_point at, OldRate old_rate, NewRate new_rate) {
        const std::int64_t now = tick(at);
        table_.change_all([&](const Key& key, std::int64_t full_at) {
            return full_at <= now ? full_at
                                  : now + converted(full_at - now, old_rate(key), new_rate(key));
        });
    }
    void rescale_shared(clock::time_point at, const pace& from, const pace& to) noexcept {
        const std::int64_t now = tick(at);
        if (shared_ > now) {
            shared_ = now + converted(shared_ - now, from, to);
        }
    }

    // Evicts every key that no longer limits, and returns memory. Visits the whole table.
    void forget_idle(clock::time_point at) { table_.tidy_all(tick(at)); }

    std::size_t keys() const noexcept { return table_.size(); }
    std::size_t max_keys() const noexcept { return table_.max_size(); }
    std::size_t limiting_keys(clock::time_point at) const noexcept {
        return table_.count_busy(clamped(at));
    }
    std::uint64_t evicted() const noexcept { return table_.evicted(); }
    std::size_t bytes() const noexcept { return table_.bytes(); }

private:
    static constexpr std::uint32_t turns_per_tidying = 256;

    static constexpr std::int64_t longest_ns = pace::longest / pace::ticks_per_nanosecond;

    // Nanoseconds since the origin; the difference of two times may overflow a duration.
    std::int64_t since_origin(clock::time_point at) const noexcept {
        std::int64_t difference = 0;
        const bool overflows = __builtin_sub_overflow(
            at.time_since_epoch().count(), origin_.time_since_epoch().count(), &difference);
        return overflows ? 4 * longest_ns : std::min(difference, 4 * longest_ns);
    }
    // Ticks since the first time; after two years, all times are shifted.
    std::int64_t tick(clock::time_point at) noexcept {
        if (at > latest_) [[likely]] {
            if (latest_ == clock::time_point::min()) [[unlikely]] {
                origin_ = at;
            } else if (since_origin(at) >= longest_ns) [[unlikely]] {
                move_origin(at);
            }
            latest_ = at;
        }
        return (latest_ - origin_).count() * pace::ticks_per_nanosecond;
    }
    std::int64_t clamped(clock::time_point at) const noexcept {
        return latest_ == clock::time_point::min()
                   ? 0
                   : since_origin(std::max(at, latest_)) * pace::ticks_per_nanosecond;
    }
    void move_origin(clock::time_point to) noexcept {
        const std::int64_t by = since_origin(to) * pace::ticks_per_nanosecond;
        origin_ = to;
        table_.change_all([by](const Key&, std::int64_t full_at) {
            return std::max<std::int64_t>(full_at - by, -1);
        });
        shared_ = std::max<std::int64_t>(shared_ - by, -1);
    }

    static std::int64_t converted(std::int64_t owed, const pace& from, const pace& to) noexcept {
        const long double tokens =
            static_cast<long double>(owed) / static_cast<long double>(from.interval());
        const long double ticks = std::ceil(tokens * static_cast<long double>(to.interval()));
        return static_cast<std::int64_t>(
            std::min(ticks, static_cast<long double>(2 * pace::longest)));
    }
    static keyed_answer refusal_of(const pace& rate, std::int64_t cost,
                                   std::int64_t wait) noexcept {
        if (!rate.can_ever(cost)) {
            return {.verdict = keyed_verdict::too_much, .wait = clock::duration::max()};
        }
        return {.verdict = keyed_verdict::too_early, .wait = pace::duration(wait)};
    }
    keyed_answer take_without_place(const pace& rate, std::int64_t cost,
                                    std::int64_t now) noexcept {
        if (!shares_) {
            return {.verdict = keyed_verdict::full,
                    .wait = pace::duration(table_.full_until() - now)};
        }
        const std::int64_t wait = rate.wait(shared_, now, cost);
        if (wait > 0) {
            return refusal_of(rate, cost, wait);
        }
        const std::int64_t start = std::max(shared_, now);
        shared_ = start + cost;
        return {.from_shared = true, .cost = cost, .started = start};
    }

    detail::time_table<Key, Hash> table_;
    clock::time_point latest_ = clock::time_point::min();
    clock::time_point origin_{};
    std::int64_t shared_ = -1;
    std::uint32_t turns_ = 0;
    bool shares_;
};

}  // namespace weir::decision
