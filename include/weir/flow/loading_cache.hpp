// SPDX-License-Identifier: MIT
// loading_cache: values that are loaded on demand and kept for a while.
//
//     weir::loading_cache<user_id, user> users({.expire_after = 1min}, load_user);
//     user found = co_await users.get(id);      // from the cache, or loaded once for all who wait
//
// A value is loaded when it is asked for and absent or older than expire_after; callers that ask
// meanwhile share the load (see single_flight.hpp: it belongs to no caller). With refresh_after, a
// value older than that is still returned at once, and one load in the background replaces it; if
// that fails, the old value stays until it expires, and is tried again after keep_errors. With
// keep_errors, the error of a load is returned to all who ask within that time, so that something
// that is missing is not looked up for each of them. At most `capacity` values are kept: the one
// that was used least recently goes.
//
// Values are copied to callers: use std::shared_ptr<const T> for large ones. erase() and clear()
// also see to it that a load which began before does not bring the old value back. Belongs to one
// loop.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/single_flight.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir {

struct loading_cache_options {
    std::size_t capacity = 1000;
    clock::duration expire_after = clock::duration::max();
    clock::duration refresh_after = clock::duration::max();  // less than expire_after
    clock::duration keep_errors{0};                          // 0: errors are not kept
    std::string_view name = "loading_cache";
};

struct loading_cache_stats {
    std::uint64_t hits = 0;    // answered from the cache, errors and old values included
    std::uint64_t misses = 0;  // waited for a load
    std::uint64_t loads = 0;
    std::uint64_t failures = 0;  // of loads
    std::uint64_t evicted = 0;   // to make room
    std::size_t size = 0;
};

namespace detail {

void check_loading_cache_options(const loading_cache_options& options);
void write_cache_metrics(metric_writer& to, std::string_view name,
                         const loading_cache_stats& stats);

}  // namespace detail

template <class Key, class Value, class Hash = seeded_hash<Key>>
class loading_cache {
    class store;

public:
    // The cache owns the function, which loads the value of a key: task<Value>(const Key&). Invalid
    // options throw invalid_argument.
    template <class Function>
        requires std::is_invocable_v<Function&, const Key&>
    loading_cache(const loading_cache_options& options, Function load)
        : store_(std::make_shared<store>(options)), loads_(loader(store_, std::move(load))) {}
    loading_cache(const loading_cache&) = delete;
    loading_cache& operator=(const loading_cache&) = delete;

    // co_await get(key): the value. Throws the error of the load.
    task<Value> get(Key key) {
        if (const kept* const found = store_->use(key)) {
            ++store_->stats.hits;
            kept given = *found;
            if (weir::now() >= given.refresh_at && !loads_.is_closed()) {
                loads_.start(key);  // an eager start may remove what was found
            }
            return answer(std::move(given));
        }
        ++store_->stats.misses;
        return loads_.call(std::move(key));
    }
    // The value if it is there and has not expired; loads nothing.
    std::optional<Value> peek(const Key& key) const { return store_->peek(key); }
    // As if it had been loaded now. A load in flight does not replace it.
    void put(const Key& key, Value value) {
        loads_.forget(key);
        store_->erase(key);
        store_->keep(key, {std::move(value), nullptr, weir::now()});
    }
    // Removes a value. False: there was none.
    bool erase(const Key& key) {
        loads_.forget(key);
        return store_->erase(key);
    }
    void clear() {
        loads_.forget_all();
        store_->clear();
    }
    std::size_t size() const noexcept { return store_->size(); }

    // co_await close(): stops loads and waits for their ends; their callers get invalid_state, and
    // so do those of get() from then on, unless the value is there and has not expired.
    task<void> close() { return loads_.close(); }

    loading_cache_stats stats() const noexcept {
        loading_cache_stats now = store_->stats;
        now.size = store_->size();
        return now;
    }
    void write_metrics(metric_writer& writer) const {
        detail::write_cache_metrics(writer, store_->name(), stats());
    }

private:
    // What a load has ended with.
    struct kept {
        std::optional<Value> value;
        std::exception_ptr error;  // or this
        clock::time_point since;
        clock::time_point refresh_at = clock::time_point::max();
    };

    // The kept values, the one that was used last in front.
    class store {
    public:
        explicit store(const loading_cache_options& options)
            : options_(options), name_(options.name) {
            detail::check_loading_cache_options(options);
        }

        const std::string& name() const noexcept { return name_; }
        std::size_t size() const noexcept { return places_.size(); }
        // Null if there is none that may be returned.
        const kept* use(const Key& key) {
            const auto found = places_.find(key);
            if (found == places_.end()) {
                return nullptr;
            }
            if (is_over(found->second->second)) {
                remove(found);
                return nullptr;
            }
            entries_.splice(entries_.begin(), entries_, found->second);
            return &found->second->second;
        }
        std::optional<Value> peek(const Key& key) const {
            const auto found = places_.find(key);
            return found == places_.end() || is_over(found->second->second)
                       ? std::nullopt
                       : found->second->second.value;
        }
        void keep(const Key& key, kept entry) {
            if (entry.value) {
                entry.refresh_at = weir::detail::after(entry.since, options_.refresh_after);
            }
            const auto found = places_.find(key);
            if (found != places_.end()) {
                found->second->second = std::move(entry);
                entries_.splice(entries_.begin(), entries_, found->second);
                return;
            }
            entries_.emplace_front(key, std::move(entry));
            places_.emplace(key, entries_.begin());
            if (places_.size() > options_.capacity) {
                remove(places_.find(entries_.back().first));
                ++stats.evicted;
            }
        }
        // A value that has not expired stays, and is refreshed no sooner than errors are forgotten.
        void keep_error(const Key& key, std::exception_ptr error) {
            const auto found = places_.find(key);
            if (found != places_.end() && !is_over(found->second->second)) {
                found->second->second.refresh_at =
                    weir::detail::after(weir::now(), options_.keep_errors);
            } else if (options_.keep_errors > clock::duration::zero()) {
                keep(key, {std::nullopt, std::move(error), weir::now()});
            }
        }
        bool erase(const Key& key) {
            loading_.erase(key);
            const auto found = places_.find(key);
            if (found == places_.end()) {
                return false;
            }
            remove(found);
            return true;
        }
        void clear() noexcept {
            loading_.clear();
            places_.clear();
            entries_.clear();
        }

        // A load begins. The number is for end_load().
        std::uint64_t begin_load(const Key& key) {
            ++stats.loads;
            return loading_[key] = ++last_load_;
        }
        // True: it is still the newest of its key, and no erase(), put() or clear() came meanwhile.
        bool end_load(const Key& key, std::uint64_t number) {
            const auto found = loading_.find(key);
            if (found == loading_.end() || found->second != number) {
                return false;
            }
            loading_.erase(found);
            return true;
        }

        loading_cache_stats stats;

    private:
        using entry_list = std::list<std::pair<Key, kept>>;
        using place_map = std::unordered_map<Key, typename entry_list::iterator,
                                             detail::seeded_key_hash<Key, Hash>>;

        bool is_over(const kept& of) const {
            const clock::duration limit =
                of.error != nullptr ? options_.keep_errors : options_.expire_after;
            return limit != clock::duration::max() && weir::now() - of.since >= limit;
        }
        void remove(typename place_map::iterator place) {
            entries_.erase(place->second);
            places_.erase(place);
        }

        loading_cache_options options_;
        std::string name_;
        entry_list entries_;
        place_map places_;
        std::unordered_map<Key, std::uint64_t, detail::seeded_key_hash<Key, Hash>> loading_;
        std::uint64_t last_load_ = 0;
    };

    // A load that runs: what it ends with is kept, unless it was overtaken.
    class load_record {
    public:
        load_record(std::shared_ptr<store> to, Key key)
            : store_(std::move(to)), key_(std::move(key)), number_(store_->begin_load(key_)) {}
        load_record(const load_record&) = delete;
        load_record& operator=(const load_record&) = delete;
        ~load_record() { store_->end_load(key_, number_); }

        const Key& key() const noexcept { return key_; }
        void end(const outcome<Value>& ended) {
            if (!ended) {
                ++store_->stats.failures;
            }
            if (!store_->end_load(key_, number_)) {
                return;
            }
            if (ended) {
                store_->keep(key_, {ended.value(), nullptr, weir::now()});
            } else if (!ended.is_cancelled()) {
                store_->keep_error(key_, ended.error());
            }
        }

    private:
        std::shared_ptr<store> store_;
        Key key_;
        std::uint64_t number_;
    };

    template <class Function>
    static auto loader(std::shared_ptr<store> to, Function load) {
        return [to = std::move(to), load = std::move(load)](const Key& key) mutable {
            return load_and_keep(to, load, key);
        };
    }
    // The function lives as long as the calls of loads_.
    template <class Function>
    static task<Value> load_and_keep(std::shared_ptr<store> to, Function& load, Key key) {
        load_record record(std::move(to), std::move(key));
        outcome<Value> ended = co_await weir::settle(load(record.key()));
        record.end(ended);
        co_return std::move(ended).value();
    }

    static task<Value> answer(kept found) {
        if (found.error != nullptr) {
            std::rethrow_exception(found.error);
        }
        co_return std::move(*found.value);
    }

    std::shared_ptr<store> store_;
    single_flight<Key, Value, Hash> loads_;
};

}  // namespace weir
