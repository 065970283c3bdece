// SPDX-License-Identifier: MIT
// The state of the random test: its counts, and the places that a stop can be aimed at.
//
// Every frame of a random tree knows the chain of places above it that a stop can be aimed at. With
// that, two things can be checked at every single wait: a wait that is stopped has a reason (a
// request for one of these places, not held off by a shield), and a wait that ends normally has not
// outlived such a request.
#pragma once

#include "support.hpp"

#include <random>

namespace cancel_tests {

struct tree_error : std::runtime_error {
    tree_error() : std::runtime_error("of the tree") {}
};

// Something that a stop can be aimed at, or a shield. Lives in the frame that makes it.
struct place {
    place* outer = nullptr;
    bool is_shield = false;
    bool is_fiber = false;
    bool requested = false;
    weir::clock::time_point asked_at = weir::clock::time_point::min();  // the latest request
    weir::clock::time_point deadline = weir::clock::time_point::max();
    weir::cancel_scope* scope = nullptr;
    weir::task_group* group = nullptr;
    weir::any_handle fiber{};

    void request() {
        requested = true;
        asked_at = weir::now();
    }
    bool has_reason() const {
        return requested || weir::now() >= deadline ||
               (scope != nullptr && (scope->cancel_called() || scope->expired())) ||
               (group != nullptr && group->state().is_aborting) ||
               (is_fiber && weir::current_task().cancelling() > 0);
    }
    bool was_asked_between(weir::clock::time_point begin, weir::clock::time_point end) const {
        return (asked_at > begin && asked_at < end) || (deadline > begin && deadline < end);
    }
};

struct world {
    std::mt19937_64 random;
    long pieces = 0;        // objects that are alive
    long cleanups_due = 0;  // clean-up that was registered or entered
    long cleanups_begun = 0;
    long cleanups_ended = 0;
    long fibers_begun = 0;
    long fibers_left = 0;
    long waits = 0;
    long stopped_waits = 0;
    std::vector<place*> targets;           // scopes and fibers that may be cancelled from outside
    std::vector<weir::any_handle> fibers;  // all that were spawned
    lines failures;

    explicit world(std::uint64_t seed) : random(seed) {}

    int below(int limit) { return static_cast<int>(random() % static_cast<std::uint64_t>(limit)); }
    bool once_in(int times) { return below(times) == 0; }
    weir::clock::duration a_while() { return below(20) * 1ms; }
    [[gnu::noinline]] void fail(std::string_view what) { failures.emplace_back(what); }
};

// An object that must be destroyed exactly once.
class piece {
public:
    explicit piece(world& in) : world_(in) { ++world_.pieces; }
    piece(const piece&) = delete;
    piece& operator=(const piece&) = delete;
    ~piece() {
        if (std::exchange(is_alive_, false)) {
            --world_.pieces;
        } else {
            world_.fail("destroyed twice");
        }
    }

private:
    world& world_;
    bool is_alive_ = true;
};

// Lists a place among those that may be cancelled from outside.
class listed {
public:
    listed(world& in, place& entry) : world_(in), place_(entry) {
        world_.targets.push_back(&entry);
    }
    listed(const listed&) = delete;
    listed& operator=(const listed&) = delete;
    ~listed() { std::erase(world_.targets, &place_); }

private:
    world& world_;
    place& place_;
};

// Around one wait.
class watched_wait {
public:
    watched_wait(world& in, const place& at) : world_(in), at_(at), begin_(weir::now()) {
        ++in.waits;
    }
    watched_wait(const watched_wait&) = delete;
    watched_wait& operator=(const watched_wait&) = delete;
    ~watched_wait() {
        if (is_over_) {
            return;
        }
        ++world_.stopped_waits;
        for (const place* each = &at_; each != nullptr && !each->is_shield; each = each->outer) {
            if (each->has_reason()) {
                return;
            }
        }
        world_.fail("a wait was stopped for no reason");
    }
    // It ended normally.
    void over(bool can_be_late = false) {
        is_over_ = true;
        for (const place* each = &at_; each != nullptr && !each->is_shield && !can_be_late;
             each = each->outer) {
            if (each->was_asked_between(begin_, weir::now())) {
                world_.fail("a wait outlived a request to stop");
            }
        }
    }

private:
    world& world_;
    const place& at_;
    weir::clock::time_point begin_;
    bool is_over_ = false;
};

// Completes in its own time, regardless of requests.
class late_operation final : public weir::operation {
public:
    late_operation(weir::clock::duration delay, bool keeps) noexcept
        : delay_(delay), keeps_(keeps) {}
    late_operation(late_operation&& other) noexcept : delay_(other.delay_), keeps_(other.keeps_) {}
    bool start() noexcept override {
        weir::loop::current().call_later(delay_,
                                         [this] { keeps_ ? complete_and_keep() : complete(); });
        return true;
    }
    bool cancel() noexcept override { return false; }
    void resume() const noexcept {}

private:
    weir::clock::duration delay_;
    bool keeps_;
};

}  // namespace cancel_tests
