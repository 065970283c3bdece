// SPDX-License-Identifier: MIT
// How not to write a pool: a semaphore and a list of idle connections, as one writes it down first,
// with one mistake at a time.
#pragma once

#include "properties.hpp"

#include <weir/sync/event.hpp>
#include <weir/sync/semaphore.hpp>

#include <memory>

namespace pool_tests {

enum class mistake {
    none,
    connection_on_the_pool,   // the lent connection is a member of the pool
    failed_connect_is_taken,  // a connect that throws keeps its place
    cancelled_user_keeps,     // only a user that reaches the end returns it
    broken_is_lent_again,     // returned objects are lent again in any state
    newcomers_first,          // a free place goes to the first that looks
};

template <mistake Mistake>
class naive_pool {
    using shared = std::shared_ptr<connection>;

public:
    explicit naive_pool(server& at, int most = most_connections)
        : at_(at), places_(most), free_(most) {}

    class lease_type {
    public:
        lease_type(naive_pool& from, shared lent) : from_(&from), lent_(std::move(lent)) {}
        lease_type(lease_type&&) noexcept = default;
        ~lease_type() {
            if constexpr (Mistake != mistake::cancelled_user_keeps) {
                release();
            }
        }
        connection& operator*() const {
            return Mistake == mistake::connection_on_the_pool ? *from_->current_ : *lent_;
        }
        connection* operator->() const { return &**this; }
        void invalidate() { is_broken_ = Mistake != mistake::broken_is_lent_again; }
        void release() {
            if (lent_ == nullptr) {
                return;
            }
            if (!is_broken_) {
                from_->idle_.push_back(lent_);
            }
            lent_ = nullptr;
            from_->give_place();
        }

    private:
        naive_pool* from_;
        shared lent_;
        bool is_broken_ = false;
    };

    task<lease_type> acquire() {
        co_await take_place();
        place held(*this);
        if constexpr (Mistake == mistake::failed_connect_is_taken) {
            held.from = nullptr;
        }
        shared found = find_idle();
        if (found == nullptr) {
            connection made = co_await at_.connect();
            found = std::make_shared<connection>(std::move(made));
        }
        held.from = nullptr;
        if constexpr (Mistake == mistake::connection_on_the_pool) {
            current_ = found;
        }
        co_return lease_type(*this, std::move(found));
    }

    void disturb(dice&) {}
    void calm() {}
    task<> finish() {
        idle_.clear();
        co_return;
    }

private:
    struct place {
        explicit place(naive_pool& pool) : from(&pool) {}
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() {
            if (from != nullptr) {
                from->give_place();
            }
        }
        naive_pool* from;
    };

    task<> take_place() {
        if constexpr (Mistake == mistake::newcomers_first) {
            while (free_ == 0) {
                changed_.clear();
                co_await changed_.wait();
            }
            --free_;
        } else {
            auto permit = co_await places_.acquire();
            permit.detach();
        }
    }
    void give_place() {
        if constexpr (Mistake == mistake::newcomers_first) {
            ++free_;
            changed_.set();
        } else {
            places_.release();
        }
    }
    shared find_idle() {
        shared found;
        while (!idle_.empty() && found == nullptr) {
            found = std::move(idle_.back());
            idle_.pop_back();
            if (Mistake != mistake::broken_is_lent_again && at_.broken.contains(found->id)) {
                found = nullptr;
            }
        }
        return found;
    }

    server& at_;
    weir::semaphore places_;
    weir::event changed_;
    int free_;
    std::vector<shared> idle_;
    shared current_;
};

}  // namespace pool_tests
