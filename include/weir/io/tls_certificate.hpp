// SPDX-License-Identifier: MIT
// Makes certificates, for tests, development and services that trust only each other.
//
//     weir::tls::certificate_authority authority("Test");
//     auto site = authority.issue({.names = "localhost,127.0.0.1"});
//     auto server = weir::tls::context::server({.certificate_pem = site.certificate_pem,
//                                               .key_pem = site.key_pem});
//     auto client = weir::tls::context::client({.ca_pem = authority.certificate_pem()});
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace weir::tls {

struct certificate {
    std::string certificate_pem;
    std::string key_pem;
};

struct certificate_options {
    // Host names and IP addresses, separated by commas; the first is the subject's common name.
    std::string_view names{};
    // When the validity begins, relative to now, and how long it lasts.
    std::chrono::seconds begins = -std::chrono::minutes(5);
    std::chrono::seconds lasts = std::chrono::hours(24 * 30);
};

// Keys are on the curve P-256, which browsers support. Throws invalid_argument for invalid names.
class certificate_authority {
public:
    explicit certificate_authority(std::string_view name);
    ~certificate_authority();
    certificate_authority(const certificate_authority&) = delete;
    certificate_authority& operator=(const certificate_authority&) = delete;

    // The certificate that peers must trust.
    const std::string& certificate_pem() const noexcept { return pem_; }
    certificate issue(const certificate_options& options) const;

private:
    struct state;
    std::unique_ptr<state> state_;
    std::string pem_;
};

// A certificate that is its own authority.
certificate make_self_signed(const certificate_options& options);

}  // namespace weir::tls
