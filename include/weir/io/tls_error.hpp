// SPDX-License-Identifier: MIT
// Errors of TLS, by cause. Every message names the peer and the cause.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weir {

enum class tls_failure : std::uint8_t {
    verification,  // the peer's certificate was refused, or the peer refused ours
    version,       // no version of the protocol in common
    alpn,          // no application protocol in common
    not_tls,       // the peer speaks something else: plain HTTP, for instance
    handshake,     // the handshake failed in another way: cut off, an alert, no cipher in common
    truncated,     // the connection ended without the peer's close_notify: bytes may be missing
    protocol,      // after the handshake: a manipulated record, an alert
};
const char* to_string(tls_failure kind) noexcept;

// what() reads 'TLS handshake with example.org: certificate has expired (certificate verify
// failed)'. Errors of the transport, such as a reset, are passed on unchanged.
class tls_error : public std::runtime_error {
public:
    tls_error(tls_failure kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
    tls_failure kind() const noexcept { return kind_; }

private:
    tls_failure kind_;
};

}  // namespace weir
