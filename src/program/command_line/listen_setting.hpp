// SPDX-License-Identifier: MIT
// The address that `weir serve` listens on, from the options --listen and --port.
#pragma once

#include "program/command_line/options.hpp"

#include <weir/io/address.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weir::program {

class listen_setting {
public:
    // An address with or without a port, a port alone, or 'unix:' and a path. Throws
    // invalid_argument.
    void set_address(const std::string& text);
    void set_port(std::uint16_t port) { port_ = port; }

    // The port of the option with the stronger source; two of the same source must agree. Throws
    // invalid_argument that names both.
    io::address resolve(std::span<const options::found> found) const;

private:
    static constexpr std::uint16_t default_port = 8080;

    io::address address_ = io::address::loopback(default_port);
    bool has_port_ = false;  // address_ was given with one
    std::optional<std::uint16_t> port_;
};

}  // namespace weir::program
