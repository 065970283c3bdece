// SPDX-License-Identifier: MIT
// The new settings are validated as a whole, as at the start, before the first of them is applied.

#include "program/serve/live_settings.hpp"

#include "program/serve/log.hpp"
#include "program/serve/service_bundle.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

namespace weir::program {

namespace {

using service::log_level;

constexpr const char* changeable[] = {
    "token-file", "origin",     "name",           "tls-certificate", "tls-key",
    "log-level",  "access-log", "keep-completed", "keep-failed",     "keep-cancelled"};

bool is_changeable(const std::string& option) {
    return std::find(std::begin(changeable), std::end(changeable), option) != std::end(changeable);
}

void add_once(std::string& list, const std::string& name) {
    if ((", " + list + ",").find(", " + name + ",") == std::string::npos) {
        list += (list.empty() ? "" : ", ") + name;
    }
}

bool is_same(const std::optional<tls::certificate>& left,
             const std::optional<tls::certificate>& right) {
    return left.has_value() == right.has_value() &&
           (!left ||
            (left->certificate_pem == right->certificate_pem && left->key_pem == right->key_pem));
}

}  // namespace

live_settings::live_settings(const serve_settings& settings, const serve_plan& plan,
                             service::access_control& access, service::service& tasks)
    : settings_(settings),
      plan_(plan),
      tokens_(plan.tokens),
      certificate_(plan.certificate),
      access_(access),
      tasks_(tasks),
      logs_requests_(plan.access_log) {}

void live_settings::reload() noexcept {
    try {
        serve_settings fresh = settings_.reread();
        fresh.variables = settings_.variables;
        fresh.reread = settings_.reread;
        apply(fresh);
    } catch (const std::exception& error) {
        write_log(log_level::error,
                  std::string("the configuration was not reloaded, and the former one stays: ") +
                      error.what());
    }
}

void live_settings::apply(const serve_settings& settings) {
    const serve_plan fresh(settings);
    std::string changed;
    std::string needs_restart;
    for (const options::found& each : settings.found) {
        const auto former =
            std::find_if(settings_.found.begin(), settings_.found.end(),
                         [&](const options::found& one) { return one.name == each.name; });
        if (former == settings_.found.end() || former->value != each.value) {
            add_once(is_changeable(each.name) ? changed : needs_restart, each.name);
        }
    }
    if (fresh.key_lines.lines != plan_.key_lines.lines) {
        add_once(needs_restart, "webhook-key-file");
    }
    if (fresh.tls.has_value() != plan_.tls.has_value()) {
        add_once(needs_restart, "tls-certificate");
    }
    if (fresh.tokens.lines != tokens_.lines) {
        add_once(changed, "tokens");
    }
    const bool has_new_certificate =
        plan_.tls && fresh.tls && !is_same(fresh.certificate, certificate_);

    replace_access(access_, fresh);  // may throw; the certificate was validated with the plan
    if (has_new_certificate) {
        add_once(changed, "certificate");
        plan_.tls->replace_certificate(*fresh.certificate);
    }
    set_log_level(settings.log_level);
    logs_requests_ = fresh.access_log;
    tasks_.keep(fresh.service.kept);
    tokens_ = fresh.tokens;
    certificate_ = fresh.certificate;
    // Those that need a restart are reported by each reload until then.
    for (options::found& each : settings_.found) {
        const auto now =
            std::find_if(settings.found.begin(), settings.found.end(),
                         [&](const options::found& one) { return one.name == each.name; });
        if (is_changeable(each.name) && now != settings.found.end()) {
            each = *now;
        }
    }
    write_log(log_level::info,
              "the configuration was reloaded; " +
                  (changed.empty() ? "nothing has changed" : "changed: " + changed));
    if (!needs_restart.empty()) {
        write_log(log_level::warning, "these changes need a restart: " + needs_restart);
    }
}

}  // namespace weir::program
