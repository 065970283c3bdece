// SPDX-License-Identifier: MIT
// The store has the list. A node reads it every few seconds, since other nodes change it as well;
// what this node learns by its own runs and clients counts at once.

#include "service/engine/endpoint_list.hpp"

#include <chrono>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration endpoint_interval = 5s;
}  // namespace

task<> endpoint_list::load() {
    decision::backoff delays(store_backoff_options);
    for (;;) {
        try {
            co_await read();
            co_return;
        } catch (const store_unavailable&) {
            // The store_client has logged it.
        }
        co_await store_.wait_before_retry(delays);
    }
}

task<> endpoint_list::run() {
    for (;;) {
        co_await sleep(endpoint_interval);
        try {
            co_await read();
        } catch (const store_unavailable&) {
            // The list stays as it is.
        }
    }
}

task<> endpoint_list::read() {
    const std::uint64_t before = changes_;
    const std::vector<endpoint_record> found = co_await store_.call(store_->disabled_endpoints());
    if (before == changes_) {
        all_.clear();
        for (const endpoint_record& each : found) {
            all_.emplace(std::pair(each.kind, each.name), each);
        }
    }
}

std::optional<std::string> endpoint_list::refusal(const task_record& task) const {
    if (all_.empty()) {
        return std::nullopt;
    }
    const std::string name = handlers_.endpoint_of(task);
    const auto found = name.empty() ? all_.end() : all_.find({task.kind, name});
    if (found == all_.end()) {
        return std::nullopt;
    }
    return "the endpoint " + name + " is disabled: " + found->second.reason +
           " (enable it with POST /destinations/enable or `weir enable`)";
}

void endpoint_list::disabled(endpoint_record endpoint) {
    std::pair name(endpoint.kind, endpoint.name);
    all_.try_emplace(std::move(name), std::move(endpoint));
    ++changes_;
}

void endpoint_list::enabled(const std::string& kind, const std::string& name) {
    all_.erase({kind, name});
    ++changes_;
}

}  // namespace weir::service::detail
