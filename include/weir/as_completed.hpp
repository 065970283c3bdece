// SPDX-License-Identifier: MIT
// as_completed: started tasks, in the order in which they end.
//
//     auto finished = weir::as_completed(handles);
//     while (auto next = co_await finished.next()) {
//         use(next->index, next->result());          // throws what the task failed with
//     }
//
// Each task comes once, as the handle that was given and its place in the input (of a handle given
// twice, the first). Tasks that end meanwhile wait to be taken. Leaving early loses nothing
// and stops nothing: the tasks belong to their owners. Several tasks may take at the same
// time and get different ones. A stop of the taker leaves the tasks alone, and what it was about to
// get goes to the next.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/detail/watch_list.hpp>
#include <weir/error.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace weir {

// A task that has ended.
template <class T>
struct completion {
    std::size_t index;  // its place in the input
    weir::handle<T> handle;

    // The value; throws the task's error, or cancelled.
    decltype(auto) result() const { return handle.result(); }
};

namespace detail {

class take_operation;

// The tasks that have ended and were not taken, the operations that wait for more, and the number
// of tasks still to come.
class completion_state : private member_watch::owner, private timer {
public:
    completion_state(std::size_t count, clock::time_point deadline);
    completion_state(const completion_state&) = delete;
    completion_state& operator=(const completion_state&) = delete;
    ~completion_state();

    std::size_t remaining() const noexcept { return total_ - taken_; }

protected:
    void watch(fiber& one) { watched_.add(one); }
    void begin() noexcept;

private:
    friend class take_operation;
    bool grant(take_operation& to) noexcept;
    void give_back(take_operation& from) noexcept;
    void taken() noexcept;
    void serve() noexcept;

    void push_back(std::size_t index) noexcept;
    void member_ended(member_watch& ended) noexcept override;
    void fire() noexcept override;

    loop& home_;
    watch_list watched_;
    std::unique_ptr<std::size_t[]>
        ended_;  // a ring of those not taken yet, in the order of their end
    std::size_t first_ended_ = 0;
    std::size_t ended_count_ = 0;
    std::size_t expired_count_ = 0;  // tasks that did not end in time and were not reported yet
    std::size_t running_ = 0;
    std::size_t total_ = 0;  // repetitions do not count
    std::size_t taken_ = 0;
    intrusive_list<take_operation> waiters_;
};

class take_operation : public operation, public list_link<> {
public:
    bool ready() noexcept override { return state_->grant(*this); }
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "as_completed"; }

protected:
    explicit take_operation(std::shared_ptr<completion_state> state) noexcept
        : state_(std::move(state)) {}
    take_operation(take_operation&&) noexcept = default;
    ~take_operation();

    // The index of what was granted; none if all have been taken. Throws timed_out.
    std::optional<std::size_t> take();

    std::shared_ptr<completion_state> state_;

private:
    friend class completion_state;
    enum class granted : unsigned char { nothing, item, expiry, end };

    std::size_t index_ = 0;
    granted granted_ = granted::nothing;
};

template <class T>
class completion_list final : public completion_state {
public:
    completion_list(std::vector<handle<T>> handles, clock::time_point deadline)
        : completion_state(handles.size(), deadline), handles_(std::move(handles)) {
        for (const handle<T>& each : handles_) {
            watch(each.checked());
        }
        begin();
    }
    const handle<T>& operator[](std::size_t at) const noexcept { return handles_[at]; }

private:
    std::vector<handle<T>> handles_;
};

template <class T>
class WEIR_MUST_AWAIT next_completion final : public take_operation {
public:
    explicit next_completion(std::shared_ptr<completion_list<T>> list) noexcept
        : take_operation(std::move(list)) {}
    next_completion(next_completion&&) noexcept = default;

    std::optional<completion<T>> resume() {
        const std::optional<std::size_t> index = take();
        if (!index) {
            return std::nullopt;
        }
        return completion<T>{*index, static_cast<completion_list<T>&>(*state_)[*index]};
    }
};

}  // namespace detail

template <class T>
class completions {
public:
    explicit completions(std::shared_ptr<detail::completion_list<T>> list) noexcept
        : list_(std::move(list)) {}

    // The next one that has ended or will; empty when all have been taken. With a limit: throws
    // timed_out once for each task that did not end in time; those run on.
    detail::next_completion<T> next() const { return detail::next_completion<T>(list_); }
    // How many are still to be taken.
    std::size_t remaining() const noexcept { return list_->remaining(); }

private:
    std::shared_ptr<detail::completion_list<T>> list_;
};

template <class T>
completions<T> as_completed(std::vector<handle<T>> handles) {
    return completions<T>(
        std::make_shared<detail::completion_list<T>>(std::move(handles), clock::time_point::max()));
}
// With a limit for all together, counted from the call.
template <class T, class Rep, class Period>
completions<T> as_completed(std::vector<handle<T>> handles,
                            std::chrono::duration<Rep, Period> limit) {
    return completions<T>(std::make_shared<detail::completion_list<T>>(
        std::move(handles), detail::deadline_after(limit)));
}

}  // namespace weir
