// SPDX-License-Identifier: MIT
// The flow keys of a queue: their settings, and lists of them.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace weir::service::detail {

std::vector<key_record> list_keys(sql_session& session, std::string_view queue,
                                  const key_query& query);
// Returns the new settings. Throws too_many_queues and too_many_keys.
key_settings change_key(sql_session& session, std::string_view queue, std::string_view key,
                        const key_change& change, moment now, std::size_t max_queues);

}  // namespace weir::service::detail
