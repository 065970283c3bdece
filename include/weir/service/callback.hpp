// SPDX-License-Identifier: MIT
// Callbacks: requests that the service delivers when a task has ended.
//
//     service::new_task task("resize", payload);
//     task.on_success = service::callback("https://example.com/resized");
//
// The end of the task creates a task of kind 'http', which delivers the request with retries of its
// own. Both are one transaction: a crash loses no callback and repeats none. docs/service.md shows
// the body.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace weir::service {

// The kind of the tasks that deliver callbacks.
inline constexpr std::string_view callback_kind = "http";

struct callback {
    callback() = default;
    explicit callback(std::string to) : url(std::move(to)) {}

    bool is_set() const noexcept { return !url.empty(); }

    std::string url;      // empty: no callback
    std::string headers;  // a JSON object of texts; empty: none
    std::string queue;    // of the task that delivers it; empty: the queue of the ended task
    // What the delivery talks to: see destination.hpp. The service sets it.
    std::string destination;

    friend bool operator==(const callback&, const callback&) = default;
};

// The payload of the task that delivers the callback. `body` is JSON.
std::string payload_of(const callback& request, std::string_view body);

}  // namespace weir::service
