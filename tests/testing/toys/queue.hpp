// SPDX-License-Identifier: MIT
#pragma once

#include "testing/toys/waiters.hpp"

#include <optional>

namespace toys {

enum class queue_bug {
    none,
    item_lost_on_cancel,    // handed to a getter that is stopped before it runs
    newest_getter_first,    // getters are served in the wrong order
    close_forgets_waiters,  // close() wakes one getter instead of all
};

// An unbounded queue; get() gives an empty optional when it is closed and empty.
template <queue_bug Bug = queue_bug::none>
class queue {
public:
    class get_operation final : public weir::operation {
    public:
        explicit get_operation(queue& from) noexcept : queue_(from) {}
        ~get_operation() {
            if (item_ && Bug != queue_bug::item_lost_on_cancel) {
                queue_.put_back(*item_);
            }
        }
        bool ready() noexcept override {
            if (!queue_.items_.empty() && queue_.getters_.empty()) {
                item_ = queue_.items_.front();
                queue_.items_.pop_front();
                return true;
            }
            return queue_.is_closed_;
        }
        bool start() noexcept override {
            queue_.getters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            queue_.getters_.remove(*this);
            return true;
        }
        std::optional<int> resume() noexcept { return std::exchange(item_, std::nullopt); }

    private:
        friend queue;
        queue& queue_;
        std::optional<int> item_;
    };

    get_operation get() noexcept { return get_operation(*this); }

    void put(int item) {
        items_.push_back(item);
        serve();
    }
    void close() noexcept {
        is_closed_ = true;
        while (!getters_.empty()) {
            getters_.take_oldest().complete();
            if (Bug == queue_bug::close_forgets_waiters) {
                return;
            }
        }
    }
    std::size_t size() const noexcept { return items_.size(); }

private:
    void put_back(int item) {
        items_.push_front(item);
        serve();
    }
    void serve() {
        if (getters_.empty() || items_.empty()) {
            return;
        }
        get_operation& getter =
            Bug == queue_bug::newest_getter_first ? getters_.take_newest() : getters_.take_oldest();
        getter.item_ = items_.front();
        items_.pop_front();
        getter.complete();
    }

    std::deque<int> items_;
    waiters<get_operation> getters_;
    bool is_closed_ = false;
};

}  // namespace toys
