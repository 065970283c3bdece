// SPDX-License-Identifier: MIT
// The objects that belong to a loop, one of each class: see loop::service.
#pragma once

#include <weir/loop.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace weir::detail {

class service_registry {
public:
    // Null if no service has this key.
    loop_service* find(const void* key) const noexcept {
        for (const auto& [known, service] : services_) {
            if (known == key) {
                return service.get();
            }
        }
        return nullptr;
    }
    loop_service& add(const void* key, std::unique_ptr<loop_service> service) {
        return *services_.emplace_back(key, std::move(service)).second;
    }
    // Last in, first out: later services may use earlier ones.
    void close() noexcept {
        while (!services_.empty()) {
            services_.pop_back();
        }
    }

private:
    std::vector<std::pair<const void*, std::unique_ptr<loop_service>>> services_;
};

}  // namespace weir::detail
