// SPDX-License-Identifier: MIT
// After a restart all workers call at once, and none of their sessions is known. One look at the
// store brings all of them, and requests that come meanwhile wait for it.

#include "service/workers/worker_sessions.hpp"

#include <utility>

namespace weir::service::detail {

std::shared_ptr<worker_session> worker_sessions::add(const worker_record& record) {
    std::shared_ptr<worker_session>& place = all_[record.id];
    if (place == nullptr) {
        place = std::make_shared<worker_session>();
        place->id = record.id;
    }
    place->kinds = record.kinds;
    place->queues = record.queues;
    place->heard_at = weir::now();
    return place;
}

std::shared_ptr<worker_session> worker_sessions::known(std::string_view id) const {
    const auto found = all_.find(std::string(id));
    return found != all_.end() ? found->second : nullptr;
}

task<std::shared_ptr<worker_session>> worker_sessions::find(std::string id) {
    // A look that has begun before this call may have missed the session.
    const std::uint64_t before = loads_begun_;
    for (;;) {
        if (std::shared_ptr<worker_session> session = known(id)) {
            session->heard_at = weir::now();
            co_return session;
        }
        if (loads_ended_ > before) {
            co_return nullptr;
        }
        if (is_loading_) {
            co_await loaded_.wait();
        } else {
            co_await load();
        }
    }
}

task<> worker_sessions::load() {
    // Also if the load fails or is stopped.
    class loading {
    public:
        explicit loading(worker_sessions& of) noexcept : of_(of) {
            of_.is_loading_ = true;
            of_.loaded_.clear();
        }
        loading(const loading&) = delete;
        loading& operator=(const loading&) = delete;
        ~loading() {
            of_.is_loading_ = false;
            of_.loaded_.set();
        }

    private:
        worker_sessions& of_;
    };
    const loading guard(*this);
    const std::uint64_t number = ++loads_begun_;
    const std::vector<worker_status> found = co_await store_.call(store_->workers());
    for (const worker_status& each : found) {
        if (!all_.contains(each.id)) {
            add(each);
        }
    }
    loads_ended_ = number;
}

void worker_sessions::forget(std::string_view id) {
    all_.erase(std::string(id));
}

void worker_sessions::forget_silent(clock::time_point since) {
    std::erase_if(all_, [since](const auto& each) {
        return each.second->heard_at < since && each.second->open.expired();
    });
}

}  // namespace weir::service::detail
