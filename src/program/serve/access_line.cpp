// SPDX-License-Identifier: MIT
// Queries have keys of customers and tags in them, so their values are left out. The log turns
// control characters into blanks.

#include "program/serve/access_line.hpp"

#include "program/output/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weir::program {

namespace {

constexpr std::size_t max_target = 1000;

std::string client_text(const io::address& client) {
    if (client.is_ip()) {
        return client.host();
    }
    return client.kind() == io::address::family::local ? "unix:" : "-";
}

}  // namespace

std::string without_query_values(std::string_view target) {
    const std::size_t path_end = std::min(target.find('?'), target.size());
    std::string kept(target.substr(0, path_end));
    for (std::size_t begin = path_end; begin < target.size();) {
        const std::size_t end = std::min(target.find('&', begin + 1), target.size());
        const std::string_view parameter = target.substr(begin, end - begin);  // with '?' or '&'
        const std::size_t equals = parameter.find('=');
        kept += equals == std::string_view::npos ? parameter : parameter.substr(0, equals + 1);
        begin = end;
    }
    return kept;
}

std::string access_line(const http::access_record& record) {
    const double milliseconds = std::chrono::duration<double, std::milli>(record.duration).count();
    char duration[40];
    std::snprintf(duration, sizeof duration, "%.3f ms", milliseconds);
    return "request " + client_text(record.client) + " " + std::string(record.method) + " " +
           shown(without_query_values(record.target), max_target) + " " +
           (record.code ? std::to_string(number_of(*record.code)) : "-") + " " +
           (record.bytes ? std::to_string(*record.bytes) : "-") + " " + duration + " " +
           (record.principal.empty() ? "-" : std::string(record.principal));
}

}  // namespace weir::program
