// SPDX-License-Identifier: MIT
// The attempts of one hedged call: who runs, who has won, and when the next one starts.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/flow/call.hpp>
#include <weir/flow/hedge_options.hpp>
#include <weir/spawn.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace weir::detail {

class hedge_race;

// Waits until an attempt ends, or until a point in time.
class [[nodiscard]] hedge_news final : public operation, private timer {
public:
    hedge_news(hedge_race& race, clock::time_point until) noexcept
        : timer(until.time_since_epoch().count()), race_(race) {}
    hedge_news(hedge_news&&) noexcept = default;
    ~hedge_news() { let_go(); }

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override {
        let_go();
        return true;
    }
    const char* name() const noexcept override { return "hedge"; }
    void resume() const noexcept {}
    void wake() noexcept;

private:
    void fire() noexcept override;
    void let_go() noexcept;

    hedge_race& race_;
};

// Shared by the caller and the attempts, some of which may outlive the caller: then policy_ is
// null.
class hedge_race {
public:
    hedge_race(hedge_policy& policy, call_context& call);
    hedge_race(const hedge_race&) = delete;
    hedge_race& operator=(const hedge_race&) = delete;

    // An attempt, while it runs. One that is stopped leaves the race.
    class entrant {
    public:
        entrant(hedge_race& race, std::size_t number) noexcept : race_(race), number_(number) {}
        entrant(const entrant&) = delete;
        entrant& operator=(const entrant&) = delete;
        ~entrant() { race_.leave(number_); }
        std::size_t number() const noexcept { return number_; }

    private:
        hedge_race& race_;
        std::size_t number_;
    };

    std::size_t enter(call_context& own);  // the number of a new attempt
    void started(std::size_t number, any_handle attempt) noexcept;
    // Decided, or nobody is left to decide it.
    bool is_over() const noexcept { return winner_ != none || (running_ == 0 && !may_replace()); }
    hedge_news news() noexcept { return hedge_news(*this, next_start_); }
    // After news: is it time for another attempt, and is one allowed?
    bool wants_another();
    // Cancels what runs, and waits for it as long as it may.
    task<> end_losers();
    // The caller is gone, and with it the policy and the budget.
    void detach() noexcept;

protected:
    static constexpr std::size_t none = SIZE_MAX;

    // An attempt has ended. True: it is the first success.
    bool wins(std::size_t number, const outcome_view& ended);
    void failed(bool by_cancellation) noexcept;

private:
    friend class hedge_news;
    struct attempt {
        any_handle task;
        clock::time_point begun;
        retry_budget::extra extra;
        bool has_ended = false;
    };

    bool may_replace() const noexcept;
    void leave(std::size_t number) noexcept;
    void plan(clock::time_point now) noexcept;
    void tell(std::string_view what, clock::time_point at, double value) const noexcept;

    hedge_policy* policy_;
    std::vector<attempt> attempts_;
    retry_budget::call budget_;
    retry_budget::extra granted_;  // for the attempt that is about to enter
    hedge_news* waiter_ = nullptr;
    clock::time_point next_start_ = clock::time_point::max();
    std::size_t running_ = 0;
    std::size_t winner_ = none;
    int hedges_left_;
    bool has_news_ = false;
    bool has_failed_ = false;
    bool counts_ = false;  // this call is counted by the budget here, and not further out
};

// Leaves the race when the caller does.
class hedge_seat {
public:
    explicit hedge_seat(hedge_race& race) noexcept : race_(race) {}
    hedge_seat(const hedge_seat&) = delete;
    hedge_seat& operator=(const hedge_seat&) = delete;
    ~hedge_seat() { race_.detach(); }

private:
    hedge_race& race_;
};

template <class T>
class typed_hedge_race final : public hedge_race {
public:
    using hedge_race::hedge_race;

    void take(const entrant& from, outcome<T>&& ended) {
        try {
            if (wins(from.number(), outcome_view(ended))) {
                success_.emplace(std::move(ended));
                return;
            }
        } catch (...) {  // the predicate's: the attempt has failed with it
            ended = outcome<T>::from_error(std::current_exception());
        }
        if (!failure_ || failure_->is_cancelled()) {
            failure_.emplace(std::move(ended));
        }
    }
    // The outcome of the call.
    outcome<T> finish() {
        if (success_) {
            return std::move(*success_);
        }
        failed(!failure_ || failure_->is_cancelled());
        if (failure_) {
            return std::move(*failure_);
        }
        return outcome<T>::from_cancellation("hedge: all attempts were cancelled");
    }

private:
    std::optional<outcome<T>> success_;
    std::optional<outcome<T>> failure_;
};

}  // namespace weir::detail
