// SPDX-License-Identifier: MIT
// Sessions of workers, as the tables have them.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

struct session_row {
    std::int64_t number = 0;  // of its node
    std::string kinds;        // JSON
    std::string queues;       // JSON
    bool is_draining = false;
    std::uint64_t last_poll = 0;
    std::uint64_t last_claim = 0;
    std::uint64_t known_claim = 0;
    timestamp beat_at{};
};

// Empty: there is no such session, or its lease has ended. `now` is on the steady clock.
std::optional<session_row> read_session(sql_session& session, std::string_view worker,
                                        timestamp now);

// Sessions with a lease, or with one that has passed and not ended yet, without their runs, in the
// order of their start. With `alive_at`, on the steady clock: only those with a lease then.
std::vector<worker_status> read_sessions(sql_session& session,
                                         std::optional<timestamp> alive_at = {});

}  // namespace weir::service::detail
