// SPDX-License-Identifier: MIT
// keyed<Key, Value>: one value per key, created on first use, up to a maximum number: a pipeline
// for each host, a combined limiter for each tenant.
//
//     weir::keyed<std::string, host_calls> hosts({.max_size = 1000}, make_calls_for);
//     auto calls = hosts.get("example.com");     // a lease: the value exists during its lifetime
//     co_await calls->run(fetch);
//
// When a new value needs room, the least recently used one is evicted, among the values without a
// lease for which still_matters returns false (an open breaker must not be replaced by a new,
// closed one). If there is none, the new key is refused: too_many_keys. There is no background
// task: values that have been idle for idle_for are evicted when other keys are requested, or by
// evict_idle(). Belongs to one loop.
#pragma once

#include <weir/error.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/detail/time_slot.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace weir {

template <class Key, class Value>
struct keyed_options {
    std::size_t max_size = 1000;
    clock::duration idle_for = clock::duration::max();       // then evicted even if there is room
    hook<bool(const Key&, Value&)> still_matters = nullptr;  // null: none does
    std::string_view name = "keyed";
    hash_seed seed = {};  // all 0: random
};

struct keyed_stats {
    std::uint64_t found = 0;
    std::uint64_t made = 0;
    std::uint64_t evicted = 0;
    std::uint64_t refused = 0;
    std::size_t size = 0;
    std::size_t in_use = 0;  // with a lease
};

namespace detail {

void check_keyed_registry_options(std::string_view name, std::size_t max_size,
                                  clock::duration idle_for);
void write_registry_metrics(metric_writer& to, std::string_view name, const keyed_stats& stats);

}  // namespace detail

template <class Key, class Value, class Hash = seeded_hash<Key>>
class keyed {
    struct entry;

public:
    using options = keyed_options<Key, Value>;
    using key_view = detail::lookup_key<Key>;

    // Access to a value, which stays alive at its address even if the registry is destroyed or the
    // key erased.
    class [[nodiscard]] lease {
    public:
        lease() noexcept = default;
        lease(lease&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
        lease& operator=(lease&& other) noexcept {
            lease old(std::move(*this));
            entry_ = std::exchange(other.entry_, nullptr);
            return *this;
        }
        ~lease() {
            if (entry_ != nullptr) {
                keyed::give_back(*entry_);
            }
        }
        explicit operator bool() const noexcept { return entry_ != nullptr; }
        Value& operator*() const noexcept { return entry_->value; }
        Value* operator->() const noexcept { return &entry_->value; }
        const Key& key() const noexcept { return entry_->key; }

    private:
        friend class keyed;
        explicit lease(entry& held) noexcept : entry_(&held) {}
        entry* entry_ = nullptr;
    };

    // The factory creates the value of a key; it may throw.
    template <class Factory>
        requires std::is_invocable_r_v<Value, Factory&, const Key&>
    keyed(const options& given, Factory factory)
        : factory_(std::move(factory)),
          max_size_(given.max_size),
          idle_for_(given.idle_for),
          still_matters_(given.still_matters),
          name_(given.name),
          entries_(0,
                   entry_hash{given.seed == hash_seed{} ? hash_seed::random() : given.seed, {}}) {
        detail::check_keyed_registry_options(name_, max_size_, idle_for_);
    }
    keyed(const keyed&) = delete;
    keyed& operator=(const keyed&) = delete;
    ~keyed() {
        for (auto& [key, owned] : entries_) {
            release(std::move(owned));
        }
    }

    // The value of the key, created if necessary. Refused if there is no room.
    admission<lease> try_get(key_view key);
    // Throws refused.
    lease get(key_view key) { return try_get(key).value(name_); }
    // An empty lease if the key has no value; creates nothing.
    lease find(key_view key) {
        const auto found = entries_.find(key);
        return found == entries_.end() ? lease() : lend(*found->second);
    }
    bool contains(key_view key) const { return entries_.contains(key); }
    // Removes a key. Leases keep the value; the next request creates a new one.
    bool erase(key_view key);
    // Evicts values that have been idle for idle_for and no longer matter; returns their number.
    std::size_t evict_idle() {
        return idle_for_ == clock::duration::max() ? 0 : evict_older_than(now(), entries_.size());
    }

    // Calls visit(key, value) for each key.
    template <class Visit>
    void for_each(Visit visit) {
        for (auto& [key, owned] : entries_) {
            visit(std::as_const(owned->key), owned->value);
        }
    }

    std::size_t size() const noexcept { return entries_.size(); }
    std::size_t max_size() const noexcept { return max_size_; }
    const std::string& name() const noexcept { return name_; }
    keyed_stats stats() const noexcept {
        return {found_, made_, evicted_, refused_, entries_.size(), entries_.size() - idle_.size()};
    }
    void write_metrics(metric_writer& to) const {
        detail::write_registry_metrics(to, name_, stats());
    }

private:
    using idle_list = std::list<entry*>;
    struct entry {
        entry(keyed& registry, key_view given) : key(given), value(registry.factory_(key)) {
            place.push_back(this);
        }
        const Key key;
        Value value;
        keyed* owner = nullptr;  // null: removed, lives as long as its leases
        std::size_t leases = 0;
        clock::time_point used{};
        idle_list place;  // its list node, while it has leases
        typename idle_list::iterator in_idle{};
    };
    struct entry_hash {
        using is_transparent = void;
        hash_seed seed;
        [[no_unique_address]] Hash hash;
        std::size_t operator()(key_view key) const noexcept { return hash(key, seed); }
    };

    lease lend(entry& used) noexcept {
        if (used.leases++ == 0 && used.place.empty()) {
            used.place.splice(used.place.begin(), idle_, used.in_idle);
        }
        return lease(used);
    }
    static void give_back(entry& back) noexcept {
        if (--back.leases != 0) {
            return;
        }
        if (back.owner == nullptr) {
            delete &back;
            return;
        }
        keyed& owner = *back.owner;
        back.in_idle = back.place.begin();
        owner.idle_.splice(owner.idle_.end(), back.place);
        if (owner.idle_for_ != clock::duration::max() && detail::this_thread.loop != nullptr) {
            back.used = now();
        }
    }
    // Disposes of an entry that has left the map.
    void release(std::unique_ptr<entry> gone) noexcept {
        if (gone->leases != 0) {
            gone->owner = nullptr;
            (void)gone.release();
        } else if (gone->place.empty()) {
            idle_.erase(gone->in_idle);
        }
    }
    void evict(entry& gone) {
        const auto found = entries_.find(gone.key);
        std::unique_ptr<entry> owned = std::move(found->second);
        entries_.erase(found);
        ++evicted_;
        release(std::move(owned));
    }
    bool matters(entry& one) const { return still_matters_ && still_matters_(one.key, one.value); }
    bool make_room();
    std::size_t evict_older_than(clock::time_point at, std::size_t most);

    std::function<Value(const Key&)> factory_;
    std::size_t max_size_;
    clock::duration idle_for_;
    hook<bool(const Key&, Value&)> still_matters_;
    std::string name_;
    idle_list idle_;  // without leases, least recently used first
    std::unordered_map<Key, std::unique_ptr<entry>, entry_hash, std::equal_to<>> entries_;
    std::uint64_t found_ = 0;
    std::uint64_t made_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t refused_ = 0;
};

template <class Key, class Value, class Hash>
auto keyed<Key, Value, Hash>::try_get(key_view key) -> admission<lease> {
    if (const auto found = entries_.find(key); found != entries_.end()) {
        ++found_;
        return lend(*found->second);
    }
    if (idle_for_ != clock::duration::max()) {
        evict_older_than(now(), 2);
    }
    if (!make_room()) {
        ++refused_;
        return refusal{refusal_reason::too_many_keys};
    }
    auto made = std::make_unique<entry>(*this, key);
    // The factory may have used the registry itself.
    if (const auto found = entries_.find(key); found != entries_.end()) {
        ++found_;
        return lend(*found->second);
    }
    if (!make_room()) {
        ++refused_;
        return refusal{refusal_reason::too_many_keys};
    }
    entry& added = *made;
    entries_.emplace(added.key, std::move(made));
    added.owner = this;
    ++made_;
    return lend(added);
}

template <class Key, class Value, class Hash>
bool keyed<Key, Value, Hash>::erase(key_view key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
        return false;
    }
    std::unique_ptr<entry> owned = std::move(found->second);
    entries_.erase(found);
    release(std::move(owned));
    return true;
}

template <class Key, class Value, class Hash>
bool keyed<Key, Value, Hash>::make_room() {
    if (entries_.size() < max_size_) {
        return true;
    }
    for (entry* oldest : idle_) {
        if (!matters(*oldest)) {
            evict(*oldest);
            return true;
        }
    }
    return false;
}

template <class Key, class Value, class Hash>
std::size_t keyed<Key, Value, Hash>::evict_older_than(clock::time_point at, std::size_t most) {
    std::size_t evicted = 0;
    for (auto next = idle_.begin(); next != idle_.end() && most > 0; --most) {
        entry& oldest = **next++;
        if (at - oldest.used < idle_for_) {
            break;
        }
        if (!matters(oldest)) {
            evict(oldest);
            ++evicted;
        }
    }
    return evicted;
}

}  // namespace weir
