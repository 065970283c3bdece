// SPDX-License-Identifier: MIT
// channel: items between loops, and between loops and plain threads, with a bound.
//
//     weir::channel<job> jobs(100);
//     co_await jobs.send(std::move(job));               // on one loop: waits while it is full
//     while (auto job = co_await jobs.receive()) {...}  // on another: until closed and empty
//     jobs.send_blocking(std::move(job));               // on a thread without a loop
//
// First in, first out; any number of senders and receivers, on any threads, served in the order of
// their calls. Within one loop weir::queue does the same without a lock. Waking another loop costs
// at most one system call, and none while that loop is awake; further items before it has woken up
// cost none. Cancelling a sender or receiver loses nothing: its item goes to the next one. The
// channel must outlive all its users. Simulated time does not wait for other threads that may send:
// announce them with loop.expect_post().
#pragma once

#include <weir/base/frame_alignment.hpp>
#include <weir/io/detail/channel_core.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace weir {

// Nothing more can be sent.
class channel_closed : public std::runtime_error {
public:
    channel_closed() : std::runtime_error("the channel is closed") {}
};
// Thrown by send, with the item that was not sent.
template <class T>
class unsent final : public channel_closed {
public:
    explicit unsent(T&& item) noexcept : item_(std::move(item)) {}
    T& item() noexcept { return item_; }
    const T& item() const noexcept { return item_; }

private:
    T item_;
};

struct channel_stats {
    std::size_t items = 0;
    std::size_t waiting_senders = 0;
    std::size_t waiting_receivers = 0;
    std::uint64_t sent = 0;  // so far
};

template <class T>
class channel {
    static_assert(std::is_object_v<T> && std::is_nothrow_move_constructible_v<T>,
                  "a channel's items are moved under a lock: their move constructor must be "
                  "noexcept; send a std::unique_ptr otherwise");
    WEIR_CHECK_ALIGNMENT(T);
    class send_operation;
    class receive_operation;

public:
    using value_type = T;

    // Throws invalid_argument for a capacity of 0.
    explicit channel(std::size_t capacity)
        : core_(capacity), slots_(std::allocator<T>().allocate(capacity)) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    ~channel() {
        for (std::size_t left = core_.items(); left > 0; --left) {
            std::destroy_at(&slots_[first_]);
            first_ = after(first_);
        }
        std::allocator<T>().deallocate(slots_, core_.capacity());
    }

    // co_await send(item): waits for room. Throws unsent<T>, a channel_closed with the item.
    // After a stop the item is not in the channel.
    send_operation send(T item) { return send_operation(*this, std::move(item)); }
    // False if send would wait or throw; the item is then untouched. On any thread.
    template <class Item = T>
        requires std::constructible_from<T, Item&&>
    bool try_send(Item&& item) {
        wake_list woken;
        const lock locked(core_);
        if (!core_.has_room()) {
            return false;
        }
        put(T(std::forward<Item>(item)), woken);
        return true;
    }
    // For threads without a loop: blocks while the channel is full. Throws as send does, and
    // loop_error where a loop runs, which it would block.
    void send_blocking(T item) {
        detail::channel_core::check_may_block("channel.send_blocking");
        wake_list woken;
        const lock locked(core_);
        if (!core_.has_room() && !core_.is_closed() && core_.block(side::sends) == granted) {
            core_.end_claim(side::sends);
        }
        if (core_.is_closed()) {
            throw unsent<T>(std::move(item));
        }
        put(std::move(item), woken);
    }

    // co_await receive(): std::optional<T>, empty when the channel is closed and nothing is left.
    receive_operation receive() noexcept { return receive_operation(*this); }
    // The same as receive(), which makes a channel a weir::stream.
    receive_operation next() noexcept { return receive_operation(*this); }
    // Empty if receive would wait, and at the end. On any thread.
    std::optional<T> try_receive() noexcept {
        std::optional<T> item;
        wake_list woken;
        const lock locked(core_);
        if (core_.has_item()) {
            take(item, woken);
        }
        return item;
    }
    // For threads without a loop: blocks while the channel is empty. Throws loop_error where a loop
    // runs.
    std::optional<T> receive_blocking() {
        detail::channel_core::check_may_block("channel.receive_blocking");
        std::optional<T> item;
        wake_list woken;
        const lock locked(core_);
        if (!core_.has_item()) {
            if (core_.is_at_end() || core_.block(side::receives) != granted) {
                return item;
            }
            core_.end_claim(side::receives);
        }
        take(item, woken);
        return item;
    }

    // Ends sending: senders get channel_closed, also those that wait. Receivers get the remaining
    // items, then the end. On any thread; a second call has no effect.
    void close() noexcept {
        wake_list woken;
        const lock locked(core_);
        core_.close(woken);
    }
    bool is_closed() const noexcept {
        const lock locked(core_);
        return core_.is_closed();
    }

    std::size_t capacity() const noexcept { return core_.capacity(); }
    std::size_t size() const noexcept { return stats().items; }
    channel_stats stats() const noexcept {
        const lock locked(core_);
        return {core_.items(), core_.waiting(side::sends), core_.waiting(side::receives), sent_};
    }

private:
    using side = detail::channel_side;
    using lock = detail::channel_core::lock;
    using wake_list = detail::channel_core::wake_list;  // declared before the lock: wakes after it
    using answer = detail::channel_waiter::answer;
    static constexpr answer granted = answer::granted;

    std::size_t after(std::size_t slot) const noexcept {
        return slot + 1 == core_.capacity() ? 0 : slot + 1;
    }
    void put(T&& item, wake_list& woken) noexcept {
        std::construct_at(&slots_[end_], std::move(item));
        end_ = after(end_);
        ++sent_;
        core_.item_added(woken);
    }
    void take(std::optional<T>& into, wake_list& woken) noexcept {
        T& front = slots_[first_];
        into.emplace(std::move(front));
        std::destroy_at(&front);
        first_ = after(first_);
        core_.item_removed(woken);
    }

    class WEIR_MUST_AWAIT send_operation final : public detail::channel_operation {
    public:
        send_operation(channel& to, T&& item) noexcept
            : channel_operation(to.core_, side::sends), to_(&to), item_(std::move(item)) {}
        send_operation(send_operation&&) noexcept = default;

        bool ready() noexcept override {
            detail::charge(detail::channel_core::cost);
            wake_list woken;
            const lock locked(to_->core_);
            return try_send(woken);
        }
        bool start() noexcept override {
            wake_list woken;
            const lock locked(to_->core_);
            if (try_send(woken)) {
                return false;
            }
            this->enter_line();
            return true;
        }
        void resume() {
            if (this->answer_ == granted) {
                use_claim();
            }
            if (!is_sent_) {
                throw unsent<T>(std::move(item_));
            }
        }

    private:
        // True if there is no need to wait: the item is sent, or never will be.
        bool try_send(wake_list& woken) noexcept {
            if (to_->core_.has_room()) {
                to_->put(std::move(item_), woken);
                is_sent_ = true;
            }
            return is_sent_ || to_->core_.is_closed();
        }
        void use_claim() noexcept {
            wake_list woken;
            const lock locked(to_->core_);
            this->answer_ = answer::none;
            to_->core_.end_claim(side::sends);
            try_send(woken);
        }

        channel* to_;
        T item_;
        bool is_sent_ = false;
    };

    class WEIR_MUST_AWAIT receive_operation final : public detail::channel_operation {
    public:
        explicit receive_operation(channel& from) noexcept
            : channel_operation(from.core_, side::receives), from_(&from) {}
        receive_operation(receive_operation&& unawaited) noexcept = default;

        bool ready() noexcept override {
            detail::charge(detail::channel_core::cost);
            wake_list woken;
            const lock locked(from_->core_);
            return try_receive(woken);
        }
        bool start() noexcept override {
            wake_list woken;
            const lock locked(from_->core_);
            if (try_receive(woken)) {
                return false;
            }
            this->enter_line();
            return true;
        }
        std::optional<T> resume() noexcept {
            if (this->answer_ == granted) {
                use_claim();
            }
            return std::move(item_);
        }

    private:
        // True if there is no need to wait: an item was taken, or none will come.
        bool try_receive(wake_list& woken) noexcept {
            if (from_->core_.has_item()) {
                from_->take(item_, woken);
                return true;
            }
            return from_->core_.is_at_end();
        }
        void use_claim() noexcept {
            wake_list woken;
            const lock locked(from_->core_);
            this->answer_ = answer::none;
            from_->core_.end_claim(side::receives);
            try_receive(woken);
        }

        channel* from_;
        std::optional<T> item_;
    };

    detail::channel_core core_;
    T* const slots_;
    std::size_t first_ = 0;
    std::size_t end_ = 0;
    std::uint64_t sent_ = 0;
};

}  // namespace weir
