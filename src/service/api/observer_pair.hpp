// SPDX-License-Identifier: MIT
// A store has one observer; this one passes changes on to two.
#pragma once

#include <weir/service/store.hpp>

#include <span>
#include <string_view>

namespace weir::service::detail {

class observer_pair final : public store_observer {
public:
    observer_pair(store_observer& first, store_observer& second) noexcept
        : first_(first), second_(second) {}
    observer_pair(const observer_pair&) = delete;
    observer_pair& operator=(const observer_pair&) = delete;

    void changed(std::span<const task_event> events) noexcept override {
        first_.changed(events);
        second_.changed(events);
    }
    void queue_changed(std::string_view queue) noexcept override {
        first_.queue_changed(queue);
        second_.queue_changed(queue);
    }

private:
    store_observer& first_;
    store_observer& second_;
};

}  // namespace weir::service::detail
