// SPDX-License-Identifier: MIT
// Which answers lead elsewhere, and what is asked for there.
#pragma once

#include "http/transfer/transfer.hpp"

#include <weir/http/client.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace weir::http::detail {

// Headers that go to the origin they were meant for, and to no other.
inline constexpr std::array<std::string_view, 4> secrets_of_an_origin{
    "Authorization", "Cookie", "Proxy-Authorization", "Host"};

// None: the answer is the caller's. Throws redirect_error if it must not be followed, though
// redirects of its kind are.
std::optional<http::url> redirect_target(const transfer& answered, const client_request& wanted,
                                         redirects followed, const client_options& options);
// Makes the request the one that the redirect asks for. The transfer that was redirected has ended.
void follow(client_request& wanted, transfer& answered, const http::url& target);

}  // namespace weir::http::detail
