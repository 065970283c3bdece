// SPDX-License-Identifier: MIT
// The log of a service: messages go to the hook in service_options, or nowhere.
#pragma once

#include <weir/service/service.hpp>

#include <string_view>

namespace weir::service::detail {

class event_log {
public:
    explicit event_log(hook<void(log_level, std::string_view)> sink) noexcept : sink_(sink) {}

    void write(log_level level, std::string_view message) const {
        if (sink_) {
            sink_(level, message);
        }
    }

private:
    hook<void(log_level, std::string_view)> sink_;
};

}  // namespace weir::service::detail
