// SPDX-License-Identifier: MIT
// A port inside --listen and the port of --port are the same setting: they contradict each other
// only if one source gives both.

#include "program/command_line/listen_setting.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <string_view>

namespace weir::program {

namespace {

const options::found* find(std::span<const options::found> all, std::string_view name) {
    const auto one = std::find_if(all.begin(), all.end(), [&](const options::found& each) {
        return each.name == name && each.from != source::none;
    });
    return one != all.end() ? &*one : nullptr;
}

// '--port is '8081'', 'weir.toml:3: port is '8081''.
std::string described(const options::found& option) {
    const std::string place =
        option.from == source::file ? option.place + ": " + option.name : option.place;
    return place + " is '" + option.value + "'";
}

bool is_without_port(std::string_view host) {
    return host == "::" || host == "::1" || host.find(':') == std::string_view::npos ||
           (host.starts_with('[') && host.ends_with(']'));
}

}  // namespace

void listen_setting::set_address(const std::string& text) {
    constexpr std::string_view localhost = "localhost";
    const bool is_port = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const bool is_local = text == localhost || text.starts_with(std::string(localhost) + ":");
    const std::string host = is_port    ? "127.0.0.1:" + text
                             : is_local ? "127.0.0.1" + text.substr(localhost.size())
                                        : text;
    has_port_ = !is_without_port(host);
    try {
        address_ = has_port_ ? io::address::parse(host) : io::address::parse(host, default_port);
    } catch (const invalid_argument& error) {
        throw invalid_argument(
            "it must be an address and a port such as 127.0.0.1:8080, [::1]:8080 or"
            " unix:/run/weir.sock; port 0 is any free one (" +
            std::string(error.what()) + ")");
    }
}

io::address listen_setting::resolve(std::span<const options::found> found) const {
    if (!port_) {
        return address_;
    }
    const options::found* const address = find(found, "listen");
    const options::found* const port = find(found, "port");
    if (address == nullptr || port == nullptr) {
        return address_.with_port(*port_);
    }
    if (address_.kind() == io::address::family::local) {
        if (address->from > port->from) {
            return address_;
        }
        throw invalid_argument(described(*port) + " but " + described(*address) +
                               ", a Unix socket, which has no port");
    }
    if (!has_port_ || port->from > address->from || address_.port() == *port_) {
        return address_.with_port(*port_);
    }
    if (address->from > port->from) {
        return address_;
    }
    throw invalid_argument(described(*address) + " but " + described(*port) +
                           "; give the port in one of them");
}

}  // namespace weir::program
