// SPDX-License-Identifier: MIT
// The settings that a running service can change: SIGHUP reads the configuration again.
#pragma once

#include "program/command_line/settings.hpp"

#include <weir/service/access.hpp>
#include <weir/service/service.hpp>

#include <string>
#include <vector>

namespace weir::program {

// Tokens, origins and names, the TLS certificate, log level, access log and retention change at
// once; other changed options are named in a warning. Requests and tasks that run go on.
class live_settings {
public:
    // The arguments must outlive the object.
    live_settings(const serve_settings& settings, const serve_plan& plan,
                  service::access_control& access, service::service& tasks);

    // Writes to the log what has changed. Where something is invalid, it changes nothing, and the
    // log says why.
    void reload() noexcept;
    bool logs_requests() const noexcept { return logs_requests_; }

private:
    void apply(const serve_settings& settings);

    serve_settings settings_;
    const serve_plan& plan_;  // at the start
    secrets tokens_;
    std::optional<tls::certificate> certificate_;
    service::access_control& access_;
    service::service& tasks_;
    bool logs_requests_;
};

}  // namespace weir::program
