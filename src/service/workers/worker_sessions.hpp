// SPDX-License-Identifier: MIT
// The sessions of workers that have called this server. The store has all sessions, and any server
// answers any call: a session that is not known here is looked up.
#pragma once

#include "service/engine/store_client.hpp"
#include "service/workers/poll_board.hpp"

#include <weir/service/worker.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

struct worker_session {
    worker_session() = default;
    worker_session(const worker_session&) = delete;
    worker_session& operator=(const worker_session&) = delete;

    std::string id;
    std::vector<std::string> kinds;
    std::vector<std::string> queues;
    std::uint64_t last_poll = 0;       // the highest number seen here
    std::weak_ptr<waiting_poll> open;  // the poll that waits, if one does
    bool has_news = false;             // the next poll ends at once, so that a heartbeat follows
    clock::time_point heard_at{};
};

class worker_sessions {
public:
    explicit worker_sessions(store_client& store) noexcept : store_(store) {}
    worker_sessions(const worker_sessions&) = delete;
    worker_sessions& operator=(const worker_sessions&) = delete;

    std::shared_ptr<worker_session> add(const worker_record& record);
    // Null: not known here.
    std::shared_ptr<worker_session> known(std::string_view id) const;
    // Null: the store has no such session, either.
    task<std::shared_ptr<worker_session>> find(std::string id);
    void forget(std::string_view id);
    // Those that were not heard of since then.
    void forget_silent(clock::time_point since);
    std::size_t size() const noexcept { return all_.size(); }

private:
    task<> load();

    store_client& store_;
    std::unordered_map<std::string, std::shared_ptr<worker_session>> all_;
    std::uint64_t loads_begun_ = 0;
    std::uint64_t loads_ended_ = 0;
    event loaded_;
    bool is_loading_ = false;
};

}  // namespace weir::service::detail
