// SPDX-License-Identifier: MIT
// queue, lifo_queue and priority_queue: items from some fibers to others, with a bound.
//
//     weir::queue<job> jobs(100);
//     co_await jobs.put(job{...});                    // waits while it is full
//     while (auto job = co_await jobs.next()) {...}   // until it is closed and empty
//
// Waiting fibers are served in the order of their calls. A getter that is woken has a claim on one
// item, which stays in the queue until the getter runs and takes what the discipline says; a putter
// that is woken has a claim on one place, and brings its item when it runs. No newcomer gets what
// is claimed; items and places beyond the claims are taken at once, as in asyncio, also before the
// woken fibers have run: so a newcomer may get an earlier item than they do. A fiber that is
// stopped gives its claim to the next: no item is lost, and none appears of a put that did not
// return. close() ends the stream: items in the queue can still be taken. A queue belongs to the
// loop in which a fiber first had to wait for it. If it is destroyed while fibers wait, they throw
// invalid_state.
#pragma once

#include <weir/base/frame_alignment.hpp>
#include <weir/detail/queue_core.hpp>
#include <weir/detail/queue_storage.hpp>

#include <concepts>
#include <functional>
#include <optional>

namespace weir {

template <class T, class Storage>
class basic_queue : private detail::queue_core {
    class put_operation;
    class get_operation;
    class next_operation;
    class take_operation;

public:
    using value_type = T;
    class taken;

    // Throws invalid_argument for a capacity of 0; see unbounded().
    explicit basic_queue(std::size_t capacity, Storage storage = Storage())
        : queue_core(checked_capacity(capacity)), storage_(std::move(storage)) {
        WEIR_CHECK_ALIGNMENT(T);
    }
    // put never waits. Where producers can outrun consumers, this grows until memory ends.
    static basic_queue unbounded(Storage storage = Storage()) {
        return basic_queue(std::move(storage));
    }

    // co_await put(item): waits for room. Throws queue_closed; then, and after a stop, the item is
    // not in the queue.
    put_operation put(T item) { return put_operation(*this, std::move(item)); }
    // False if put would wait or throw; the item is then untouched.
    template <class Item = T>
        requires std::constructible_from<T, Item&&>
    bool try_put(Item&& item) {
        if (!has_room()) {
            return false;
        }
        add(T(std::forward<Item>(item)));
        return true;
    }
    // Throws queue_full where put would wait, or queue_closed; the item is then untouched.
    template <class Item = T>
        requires std::constructible_from<T, Item&&>
    void put_now(Item&& item) {
        if (!has_room()) {
            throw_no_room();
        }
        add(T(std::forward<Item>(item)));
    }

    // co_await get(): waits for an item. Throws queue_closed when no more will come.
    get_operation get() noexcept { return get_operation(*this); }
    // co_await next(): std::optional<T>, empty when no more will come.
    next_operation next() noexcept { return next_operation(*this); }
    // co_await take(): a `taken`, which calls task_done() when it goes out of scope; false when no
    // more will come.
    take_operation take() noexcept { return take_operation(*this); }
    // Empty where get would wait or throw.
    std::optional<T> try_get() {
        if (!has_item()) {
            return std::nullopt;
        }
        return remove<std::optional<T>>();
    }
    // Throws queue_empty where get would wait, or queue_closed.
    T get_now() {
        if (!has_item()) {
            throw_no_item();
        }
        return remove<T>();
    }

    // An item that was put is unfinished until task_done() was called for it. Throws invalid_state
    // if nothing is unfinished.
    using queue_core::task_done;
    // co_await join(): until nothing is unfinished.
    detail::join_queue_operation join() noexcept { return detail::join_queue_operation(*this); }
    std::size_t unfinished() const noexcept { return unfinished_; }

    // No more items: puts throw queue_closed, also the waiting ones. Items in the queue can be
    // taken; once it is empty, get() throws queue_closed and next() gives the empty result.
    void close() { begin_close(size() == 0); }
    // The same, and what is in the queue is dropped. join() does not wait for what was dropped.
    void close_now() {
        begin_close(true);
        Storage dropped(std::move(storage_));
        drop_items(dropped.size());
    }
    using queue_core::is_closed;

    // Items in the queue, those that woken getters have a claim on included.
    std::size_t size() const noexcept { return storage_.size(); }
    std::size_t capacity() const noexcept { return static_cast<std::size_t>(capacity_); }
    // Would get wait? Would put?
    bool empty() const noexcept { return !has_item(); }
    bool full() const noexcept { return !has_room(); }

    // An item that is finished when this goes out of scope. False when the queue had ended.
    class [[nodiscard]] taken {
    public:
        taken() noexcept = default;
        taken(taken&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
            : item_(std::move(other.item_)), from_(std::exchange(other.from_, nullptr)) {}
        taken& operator=(taken&&) = delete;
        ~taken() {
            if (from_ != nullptr) {
                from_->finish_one();
            }
        }

        // It is finished now.
        void done() {
            if (from_ != nullptr) {
                std::exchange(from_, nullptr)->task_done();
            }
        }
        explicit operator bool() const noexcept { return item_.has_value(); }
        T& operator*() noexcept { return *item_; }
        const T& operator*() const noexcept { return *item_; }
        T* operator->() noexcept { return &*item_; }
        const T* operator->() const noexcept { return &*item_; }

    private:
        friend class take_operation;
        friend Storage;
        explicit taken(T&& item) : item_(std::move(item)) {}

        std::optional<T> item_;
        queue_core* from_ = nullptr;
    };

private:
    explicit basic_queue(Storage storage) : queue_core(no_bound), storage_(std::move(storage)) {
        WEIR_CHECK_ALIGNMENT(T);
    }

    void add(T&& item) {
        getters_.check_thread("queue: put");
        storage_.push(std::move(item));
        --room_;
        item_added();
    }
    template <class Result>
    Result remove() {
        putters_.check_thread("queue: get");
        Result item = storage_.template pop<Result>();
        --items_;
        place_freed(storage_.size() == 0);
        return item;
    }

    class WEIR_MUST_AWAIT put_operation final : public detail::listed_operation {
    public:
        put_operation(basic_queue& to, T&& item) : queue_(&to), item_(std::move(item)) {}
        put_operation(put_operation&&) = default;
        ~put_operation() {
            if (state_ != detail::wait_state::idle) [[unlikely]] {
                queue_->abandon_put(*this);
            }
        }

        bool ready() noexcept override { return queue_->has_room() || queue_->is_closed(); }
        bool start() noexcept override { return queue_->putters_.enter(*this); }
        bool cancel() noexcept override {
            queue_->putters_.remove(*this);
            state_ = detail::wait_state::idle;
            return true;
        }
        const char* name() const noexcept override { return "queue.put"; }
        void resume() {
            if (state_ != detail::wait_state::idle) {
                resume_woken();
                return;
            }
            if (!queue_->has_room()) [[unlikely]] {
                queue_->throw_no_room();
            }
            queue_->add(std::move(item_));
        }

    private:
        void resume_woken() {
            if (state_ != detail::wait_state::granted) [[unlikely]] {
                throw_refused(std::exchange(state_, detail::wait_state::idle));
            }
            queue_->storage_.push(std::move(item_));
            queue_->putters_.remove_granted(*this);
            state_ = detail::wait_state::idle;
            queue_->item_added();
        }

        basic_queue* queue_;
        T item_;
    };

    // get, next and take differ in what they make of the item, and of the end.
    class get_base : public detail::listed_operation {
    public:
        bool ready() noexcept override {
            return queue_->has_item() || (queue_->is_closed() && queue_->size() == 0);
        }
        bool start() noexcept override { return queue_->getters_.enter(*this); }
        bool cancel() noexcept override {
            queue_->getters_.remove(*this);
            state_ = detail::wait_state::idle;
            return true;
        }
        const char* name() const noexcept override { return "queue.get"; }

    protected:
        explicit get_base(basic_queue& from) noexcept : queue_(&from) {}
        get_base(get_base&&) noexcept = default;
        ~get_base() {
            if (state_ != detail::wait_state::idle) [[unlikely]] {
                queue_->abandon_get(*this);
            }
        }

        // False: the queue has ended.
        bool has_item() {
            switch (state_) {
                case detail::wait_state::idle:
                    return queue_->has_item();
                case detail::wait_state::granted:
                    return true;
                case detail::wait_state::refused:
                    state_ = detail::wait_state::idle;
                    return false;
                default:
                    throw_refused(std::exchange(state_, detail::wait_state::idle));
            }
        }
        template <class Result>
        Result fetch() {
            return state_ == detail::wait_state::idle ? queue_->template remove<Result>()
                                                      : fetch_claimed<Result>();
        }

        basic_queue* queue_;

    private:
        template <class Result>
        Result fetch_claimed() {
            Result item = queue_->storage_.template pop<Result>();
            queue_->getters_.remove_granted(*this);
            state_ = detail::wait_state::idle;
            queue_->place_freed(queue_->size() == 0);
            return item;
        }
    };

    class WEIR_MUST_AWAIT get_operation final : public get_base {
    public:
        explicit get_operation(basic_queue& from) noexcept : get_base(from) {}
        T resume() {
            if (!this->has_item()) [[unlikely]] {
                throw queue_closed();
            }
            return this->template fetch<T>();
        }
    };
    class WEIR_MUST_AWAIT next_operation final : public get_base {
    public:
        explicit next_operation(basic_queue& from) noexcept : get_base(from) {}
        std::optional<T> resume() {
            return this->has_item() ? this->template fetch<std::optional<T>>() : std::nullopt;
        }
    };
    class WEIR_MUST_AWAIT take_operation final : public get_base {
    public:
        explicit take_operation(basic_queue& from) noexcept : get_base(from) {}
        taken resume() {
            taken item = this->has_item() ? this->template fetch<taken>() : taken();
            if (item) {
                item.from_ = this->queue_;
            }
            return item;
        }
    };

    Storage storage_;
};

// First in, first out.
template <class T>
using queue = basic_queue<T, detail::ring_storage<T>>;

// Last in, first out.
template <class T>
using lifo_queue = basic_queue<T, detail::stack_storage<T>>;

// The least first, as Compare orders them; equal ones in the order they were put.
template <class T, class Compare = std::less<T>>
using priority_queue = basic_queue<T, detail::heap_storage<T, Compare>>;

}  // namespace weir
