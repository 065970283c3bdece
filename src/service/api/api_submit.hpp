// SPDX-License-Identifier: MIT
// What submitting one task and submitting many have in common.
#pragma once

#include "service/api/json_forms.hpp"

#include <weir/http/request.hpp>
#include <weir/service/store.hpp>

#include <string>

namespace weir::service::detail {

// What is needed for the answer, without the payload.
struct submitted {
    explicit submitted(const new_task& asked)
        : queue(asked.queue), key(asked.idempotency_key), run_at(asked.run_at) {}

    std::string queue;
    std::string key;
    std::optional<timestamp> run_at;
};

// Members of an object that is open.
void write_made(json_writer& to, const submit_result& made, const submitted& asked, timestamp now);
std::string conflict_text(const submit_result& first, const submitted& asked);
std::string full_text(const submitted& asked);
// Of the header Idempotency-Key, which some write in quotes; empty if there is none.
std::string header_key(const http::request& asked);

}  // namespace weir::service::detail
