// SPDX-License-Identifier: MIT
// Why a page could not be fetched: a fixed set of kinds for programs, a text for people, and the
// stage of the fetch that failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::crawl {

enum class error_kind : std::uint8_t {
    none,       // the page was fetched
    dns,        // its host name could not be resolved
    connect,    // no connection to the host
    tls,        // the handshake failed, or the certificate is not trusted
    timeout,    // the fetch took longer than its limit
    truncated,  // the connection ended before the body did, or the framing is invalid
    too_large,  // the head or the decoded body is larger than its limit
    http_4xx,   // the server answered with such a status
    http_5xx,
    redirect,         // too many redirects, a loop, or an invalid target
    robots,           // robots.txt disallows it, or could not be fetched
    address_refused,  // the address filter refuses the address of its host
    breaker,          // the host failed too often, and is left alone for some time
    content,          // the body is not what its type says, or a handler refused it
};

// 'dns', 'http_4xx', ...: stable, for output files.
std::string_view name_of(error_kind kind) noexcept;
std::optional<error_kind> error_kind_named(std::string_view name) noexcept;

// The part of a fetch that failed.
enum class fetch_stage : std::uint8_t {
    none,
    admit,    // before the host was contacted: robots.txt, address filter, breaker
    connect,  // name, connection, handshake
    head,
    body,
    handler,  // the user's on_page threw
};
std::string_view name_of(fetch_stage stage) noexcept;
std::optional<fetch_stage> fetch_stage_named(std::string_view name) noexcept;

struct page_error {
    page_error() = default;
    page_error(error_kind of, fetch_stage at, std::string why)
        : kind(of), stage(at), text(std::move(why)) {}

    error_kind kind = error_kind::none;
    fetch_stage stage = fetch_stage::none;
    std::string text;  // never empty if kind is not none

    explicit operator bool() const noexcept { return kind != error_kind::none; }
};

// Whether a later attempt may succeed: not for robots, redirect, address_refused, too_large,
// content and http_4xx (429 is a status that the fetcher's caller treats as retryable).
bool is_transient(error_kind kind) noexcept;

}  // namespace weir::crawl
