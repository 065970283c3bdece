// SPDX-License-Identifier: MIT
// spdlog writes; a message is made one line first, so that text from clients cannot forge a line.

#include "program/serve/log.hpp"

#include "program/output/text.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace weir::program {

namespace {

bool as_json = false;

spdlog::level::level_enum level_named(std::string_view name) {
    return name == "debug"     ? spdlog::level::debug
           : name == "warning" ? spdlog::level::warn
           : name == "error"   ? spdlog::level::err
                               : spdlog::level::info;
}

spdlog::level::level_enum level_of(service::log_level level) {
    switch (level) {
        case service::log_level::debug:
            return spdlog::level::debug;
        case service::log_level::warning:
            return spdlog::level::warn;
        case service::log_level::error:
            return spdlog::level::err;
        default:
            return spdlog::level::info;
    }
}

}  // namespace

void set_up_log(std::string_view format, std::string_view level) {
    as_json = format == "json";
    auto logger = spdlog::stderr_color_mt("weir");
    logger->set_level(level_named(level));
    logger->flush_on(spdlog::level::debug);
    logger->set_pattern(
        as_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","message":%v})"
                : "%Y-%m-%d %H:%M:%S.%e %^%l%$ %v",
        as_json ? spdlog::pattern_time_type::utc : spdlog::pattern_time_type::local);
    spdlog::set_default_logger(std::move(logger));
}

void set_log_level(std::string_view level) {
    spdlog::default_logger()->set_level(level_named(level));
}

void write_log(service::log_level level, std::string_view message) {
    const std::string line = as_json ? json_string(message) : shown(message);
    spdlog::log(level_of(level), "{}", line);
}

}  // namespace weir::program
