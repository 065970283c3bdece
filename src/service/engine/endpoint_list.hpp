// SPDX-License-Identifier: MIT
// endpoint_list: the endpoints that have said that they are gone for good, as this node knows them.
// Tasks for them fail without a run.
#pragma once

#include "service/engine/handler_registry.hpp"
#include "service/engine/store_client.hpp"

#include <weir/service/store.hpp>
#include <weir/sync/event.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weir::service::detail {

class endpoint_list {
public:
    endpoint_list(store_client& store, const handler_registry& handlers) noexcept
        : store_(store), handlers_(handlers) {}
    endpoint_list(const endpoint_list&) = delete;
    endpoint_list& operator=(const endpoint_list&) = delete;

    // Reads them from the store; to be called before the first run. Retries until it succeeds.
    task<> load();
    // Reads them again and again, for changes by other nodes.
    task<> run();

    // The error of the task if its endpoint is disabled.
    std::optional<std::string> refusal(const task_record& task) const;

    // A run of this node has found the endpoint gone, or a client has enabled it.
    void disabled(endpoint_record endpoint);
    void enabled(const std::string& kind, const std::string& name);

private:
    task<> read();

    store_client& store_;
    const handler_registry& handlers_;
    std::map<std::pair<std::string, std::string>, endpoint_record> all_;  // by kind and name
    std::uint64_t changes_ = 0;  // by this node: an answer of the store may be older than these
};

}  // namespace weir::service::detail
