// SPDX-License-Identifier: MIT
// watch: one value and the fibers that follow its changes. The latest wins: a fiber that is slow
// sees the newest value, not each one.
//
//     weir::watch<settings> current(load());
//     current.set(reloaded);                        // wakes all that follow it
//
//     auto follower = current.follow();
//     while (auto value = co_await follower.next()) // the value now, then each change
//         apply(*value);                            // ends after close()
//
// A follower has seen a value when next() has returned it; values that were set in between are
// skipped. close() ends the following: a follower gets the last value if it has not seen it, and
// then nothing. A stopped next() has seen nothing. Belongs to one loop; made before there is one if
// need be. A follower must not outlive its watch. If the watch is destroyed while fibers wait, or
// before one that was woken has run, they throw invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace weir {

template <class T>
class watch;

namespace detail {

class watch_core {
public:
    watch_core() noexcept = default;
    watch_core(const watch_core&) = delete;
    watch_core& operator=(const watch_core&) = delete;
    ~watch_core() { waiters_.orphan(); }

    std::uint64_t version() const noexcept { return version_; }
    bool is_closed() const noexcept { return is_closed_; }
    void change() {
        waiters_.check_thread("watch::set()");
        ++version_;
        wake_all();
    }
    void close() {
        waiters_.check_thread("watch::close()");
        is_closed_ = true;
        wake_all();
    }

    wait_list& waiters() noexcept { return waiters_; }

private:
    // They stay in the list until they run: one that does so first may destroy the watch, and the
    // others have to know.
    void wake_all() noexcept {
        while (waiters_.has_waiting()) {
            waiters_.grant_first();
        }
    }

    wait_list waiters_;
    std::uint64_t version_ = 1;
    bool is_closed_ = false;
};

// Waits until there is a version that was not seen, or there will be none.
class watch_operation : public listed_operation {
public:
    bool ready() noexcept override { return core_->version() != *seen_ || core_->is_closed(); }
    bool start() noexcept override { return core_->waiters().enter(*this); }
    bool cancel() noexcept override {
        core_->waiters().remove(*this);
        state_ = wait_state::idle;
        return true;
    }
    const char* name() const noexcept override { return "watch.next"; }

protected:
    watch_operation(watch_core& core, std::uint64_t& seen) noexcept : core_(&core), seen_(&seen) {}
    watch_operation(watch_operation&&) noexcept = default;
    ~watch_operation() {
        if (state_ == wait_state::waiting) [[unlikely]] {
            core_->waiters().remove(*this);
        } else if (state_ == wait_state::granted) [[unlikely]] {
            core_->waiters().remove_granted(*this);
        }
    }
    // Is there a value that was not seen? It is seen now.
    bool take() {
        if (state_ > wait_state::granted) [[unlikely]] {
            throw_wait_error(std::exchange(state_, wait_state::idle), "watch");
        }
        if (std::exchange(state_, wait_state::idle) == wait_state::granted) {
            core_->waiters().remove_granted(*this);
        }
        return std::exchange(*seen_, core_->version()) != core_->version();
    }

private:
    watch_core* core_;
    std::uint64_t* seen_;
};

}  // namespace detail

template <class T>
class watch {
public:
    class WEIR_MUST_AWAIT next_operation final : public detail::watch_operation {
    public:
        next_operation(watch& followed, std::uint64_t& seen) noexcept
            : watch_operation(followed.core_, seen), watch_(&followed) {}
        std::optional<T> resume() {
            if (!this->take()) {
                return std::nullopt;
            }
            return watch_->value_;
        }

    private:
        watch* watch_;
    };

    class follower {
    public:
        // co_await next(): the value, once it is one that this follower has not seen; nothing after
        // close(). One call at a time.
        next_operation next() noexcept { return next_operation(*watch_, seen_); }
        // Would next() return a value at once?
        bool has_changed() const noexcept { return seen_ != watch_->core_.version(); }
        // Takes the present value for seen: next() waits for a change.
        void skip() noexcept { seen_ = watch_->core_.version(); }

    private:
        friend class watch;
        explicit follower(watch& followed) noexcept : watch_(&followed) {}

        watch* watch_;
        std::uint64_t seen_ = 0;
    };

    explicit watch(T value) : value_(std::move(value)) {}

    // A follower that has seen nothing: its first next() gives the value of that moment.
    follower follow() noexcept { return follower(*this); }

    const T& value() const noexcept { return value_; }
    void set(T value) {
        value_ = std::move(value);
        core_.change();
    }
    // Sets it if it differs. False: it was the same, and nobody was woken.
    bool set_if_changed(T value) {
        if (value == value_) {
            return false;
        }
        set(std::move(value));
        return true;
    }
    // Changes it in place.
    template <class Change>
    void modify(Change&& change) {
        std::forward<Change>(change)(value_);
        core_.change();
    }

    // No changes will follow. May be called again; set() still sets the value.
    void close() { core_.close(); }
    bool closed() const noexcept { return core_.is_closed(); }

private:
    T value_;
    detail::watch_core core_;
};

}  // namespace weir
