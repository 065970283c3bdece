// SPDX-License-Identifier: MIT
// A store has one observer; this one passes changes on to the desk of workers, while workers use
// it, to the news for other processes, and to the observer of the service. The store makes no
// events for none of them.
#pragma once

#include <weir/service/store.hpp>

#include <span>
#include <string_view>
#include <utility>

namespace weir::service::detail {

class observer_relay final : public store_observer {
public:
    explicit observer_relay(store& source) noexcept : source_(source) {}
    observer_relay(const observer_relay&) = delete;
    observer_relay& operator=(const observer_relay&) = delete;
    ~observer_relay() {
        if (is_attached()) {
            source_.observe(nullptr);
        }
    }

    // Null: none.
    void set_inner(store_observer* observer) noexcept {
        inner_ = observer;
        attach();
    }
    // The store may have the observer of somebody else, unless this one was attached.
    void set_news(store_observer* observer) noexcept {
        if (std::exchange(news_, observer) != observer) {
            attach();
        }
    }
    void set_outer(store_observer* observer) noexcept {
        outer_ = observer;
        attach();
    }

    void changed(std::span<const task_event> events) noexcept override {
        if (inner_ != nullptr) {
            inner_->changed(events);
        }
        if (news_ != nullptr) {
            news_->changed(events);
        }
        if (outer_ != nullptr) {
            outer_->changed(events);
        }
    }
    void queue_changed(std::string_view queue) noexcept override {
        if (inner_ != nullptr) {
            inner_->queue_changed(queue);
        }
        if (news_ != nullptr) {
            news_->queue_changed(queue);
        }
        if (outer_ != nullptr) {
            outer_->queue_changed(queue);
        }
    }

private:
    bool is_attached() const noexcept {
        return inner_ != nullptr || news_ != nullptr || outer_ != nullptr;
    }
    void attach() noexcept { source_.observe(is_attached() ? this : nullptr); }

    store& source_;
    store_observer* inner_ = nullptr;
    store_observer* news_ = nullptr;
    store_observer* outer_ = nullptr;
};

}  // namespace weir::service::detail
