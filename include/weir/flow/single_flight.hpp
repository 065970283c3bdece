// SPDX-License-Identifier: MIT
// single_flight: callers that want the same thing at the same time share one call.
//
//     weir::single_flight<user_id, user> users(load_user);    // task<user> load_user(user_id)
//     user found = co_await users.call(id);                   // of many callers, one loads
//
// The call belongs to the single_flight and not to the caller that came first: it continues when
// that caller is stopped, and is stopped when the last of its callers is. All callers get a copy of
// its value, or its error. A caller that comes after the end begins a new call; one that comes
// while a call is being stopped begins a new one after that, so two calls of a key never overlap.
// The function is given once and must own what it uses, since it may run longer than any one
// caller.
//
// close() stops all calls and waits for their ends; callers get invalid_state. Destroying it stops
// the calls without waiting for them. Belongs to one loop.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/flow/seeded_hash.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {

namespace detail {

template <class Key, class Hash>
struct seeded_key_hash {
    hash_seed seed = hash_seed::random();
    std::size_t operator()(const Key& key) const {
        return static_cast<std::size_t>(Hash()(key, seed));
    }
};

}  // namespace detail

template <class Key, class Value, class Hash = seeded_hash<Key>>
class single_flight {
    class state;
    struct flight;

public:
    template <class Function>
        requires std::is_invocable_v<Function&, const Key&>
    explicit single_flight(Function function)
        : state_(std::make_shared<state>(std::move(function))) {}
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;
    ~single_flight() { state_->end_all("the single_flight was destroyed"); }

    // co_await call(key): the value of the call that is in flight for the key, or of a new one.
    // Throws its error.
    task<Value> call(Key key) { return join(state_, std::move(key)); }
    // Begins a call that nobody waits for, unless one is in flight. It runs to its end.
    void start(const Key& key) { state_->enter(key)->is_kept = true; }
    // Callers from now on begin a new call, beside the one in flight, whose callers still get its
    // value. False: none was in flight.
    bool forget(const Key& key) { return state_->forget(key); }
    void forget_all() { state_->forget_all(); }
    bool is_in_flight(const Key& key) const { return state_->find(key) != nullptr; }
    std::size_t size() const noexcept { return state_->size(); }

    bool is_closed() const noexcept { return state_->is_closed(); }

    // co_await close(): stops the calls, refuses new ones and returns when all have ended.
    task<void> close() { return close_shared(state_); }

private:
    // One call and those that wait for it, which keep it alive.
    struct flight {
        any_handle running;
        event has_ended;
        std::optional<outcome<Value>> ended;
        std::size_t callers = 0;
        bool is_kept = false;  // runs on without callers
        bool is_known = true;  // new callers find it

        void end_with(outcome<Value> how) {
            if (!ended) {
                ended.emplace(std::move(how));
                has_ended.set();
            }
        }
    };

    // Outlives the single_flight until its last call has ended.
    class state : public std::enable_shared_from_this<state> {
    public:
        explicit state(detail::unique_function<task<Value>(const Key&)> function)
            : function_(std::move(function)) {}

        flight* find(const Key& key) const {
            const auto found = flights_.find(key);
            return found == flights_.end() ? nullptr : found->second.get();
        }
        std::size_t size() const noexcept { return flights_.size(); }
        bool is_closed() const noexcept { return is_closed_; }

        std::shared_ptr<flight> enter(const Key& key) {
            if (is_closed_) {
                throw invalid_state("single_flight: it is closed");
            }
            if (const auto found = flights_.find(key); found != flights_.end()) {
                return found->second;
            }
            const auto made = std::make_shared<flight>();
            flights_.emplace(key, made);
            try {
                // With eager starts it may have ended when spawn returns, and be known no more.
                made->running = weir::spawn(run(landing(this->shared_from_this(), made, key)),
                                            {.name = "single_flight"});
            } catch (...) {
                remove(*made, key);
                throw;
            }
            if (is_closed_) {
                made->running.cancel();  // the function has closed it, eagerly
            }
            return made;
        }
        void leave(const std::shared_ptr<flight>& left, const Key& key) noexcept {
            if (--left->callers == 0 && !left->ended && !left->is_kept) {
                if (left->is_known) {
                    stopping_.emplace(key, left);
                }
                remove(*left, key);
                left->running.cancel();
            }
        }
        bool forget(const Key& key) {
            const auto found = flights_.find(key);
            if (found == flights_.end()) {
                return false;
            }
            const std::shared_ptr<flight> forgotten = found->second;
            flights_.erase(found);
            abandon(*forgotten);
            return true;
        }
        void forget_all() {
            const auto forgotten = std::exchange(flights_, {});
            for (const auto& [key, each] : forgotten) {
                abandon(*each);
            }
        }
        // Returns the calls that were in flight.
        std::vector<any_handle> end_all(const char* why) {
            is_closed_ = true;
            std::vector<any_handle> stopped;
            const auto ending = std::exchange(flights_, {});
            for (const auto& [key, each] : ending) {
                each->is_known = false;
                each->end_with(outcome<Value>::from_error(
                    std::make_exception_ptr(invalid_state(std::string("single_flight: ") + why))));
                if (each->running) {
                    each->running.cancel();
                    stopped.push_back(each->running);
                }
            }
            return stopped;
        }

    private:
        // No new callers; those that it has get its value.
        static void abandon(flight& forgotten) noexcept {
            forgotten.is_known = false;
            forgotten.is_kept = false;
            if (forgotten.callers == 0 && forgotten.running) {
                forgotten.running.cancel();
            }
        }
        void remove(flight& known, const Key& key) noexcept {
            if (std::exchange(known.is_known, false)) {
                flights_.erase(key);
            }
        }

        std::shared_ptr<flight> find_stopping(const Key& key) const {
            const auto found = stopping_.find(key);
            return found == stopping_.end() ? nullptr : found->second;
        }
        void has_stopped(const flight& stopped, const Key& key) noexcept {
            auto [place, end] = stopping_.equal_range(key);
            while (place != end) {
                place = place->second.get() == &stopped ? stopping_.erase(place) : std::next(place);
            }
        }

        // Ends the flight, however the fiber ends: a parameter of its task, so that this holds too
        // when the fiber is stopped before its first step.
        class landing {
        public:
            landing(std::shared_ptr<state> owner, std::shared_ptr<flight> landed, Key key)
                : owner_(std::move(owner)), flight_(std::move(landed)), key_(std::move(key)) {}
            landing(landing&&) noexcept = default;
            landing& operator=(landing&&) = delete;
            ~landing() {
                if (flight_ != nullptr && !flight_->ended) {
                    end(outcome<Value>::from_cancellation("the call was cancelled"));
                }
            }
            void end(outcome<Value> how) {
                owner_->remove(*flight_, key_);
                owner_->has_stopped(*flight_, key_);
                flight_->end_with(std::move(how));
            }
            std::shared_ptr<flight> predecessor() { return owner_->find_stopping(key_); }
            task<Value> load() { return owner_->function_(key_); }

        private:
            std::shared_ptr<state> owner_;
            std::shared_ptr<flight> flight_;
            Key key_;
        };

        static task<void> run(landing place) {
            while (const std::shared_ptr<flight> before = place.predecessor()) {
                co_await before->has_ended.wait();
            }
            outcome<Value> ended = co_await weir::settle(place.load());
            place.end(std::move(ended));
        }

        detail::unique_function<task<Value>(const Key&)> function_;
        std::unordered_map<Key, std::shared_ptr<flight>, detail::seeded_key_hash<Key, Hash>>
            flights_;
        // Calls without callers that have not ended yet: the next of their keys wait for them.
        std::unordered_multimap<Key, std::shared_ptr<flight>, detail::seeded_key_hash<Key, Hash>>
            stopping_;
        bool is_closed_ = false;
    };

    // A caller, from its entry to its end, however it ends.
    class caller {
    public:
        caller(std::shared_ptr<state> owner, Key key)
            : owner_(std::move(owner)), key_(std::move(key)), flight_(owner_->enter(key_)) {
            ++flight_->callers;
        }
        caller(const caller&) = delete;
        caller& operator=(const caller&) = delete;
        ~caller() { owner_->leave(flight_, key_); }

        flight& joined() const noexcept { return *flight_; }

    private:
        std::shared_ptr<state> owner_;
        Key key_;
        std::shared_ptr<flight> flight_;
    };

    static task<Value> join(std::shared_ptr<state> owner, Key key) {
        const caller self(std::move(owner), std::move(key));
        co_await self.joined().has_ended.wait();
        const outcome<Value>& ended = *self.joined().ended;
        co_return ended.value();
    }

    static task<void> close_shared(std::shared_ptr<state> owner) {
        const std::vector<any_handle> stopped = owner->end_all("it is closed");
        for (const any_handle& each : stopped) {
            co_await each.wait();
        }
    }

    std::shared_ptr<state> state_;
};

}  // namespace weir
