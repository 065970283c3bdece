// SPDX-License-Identifier: MIT
// Certificates made on the spot, for tests, development and services that trust only each other.
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
    // From when on, relative to now, and for how long.
    std::chrono::seconds begins = -std::chrono::minutes(5);
    std::chrono::seconds lasts = std::chrono::hours(24 * 30);
};

// Keys are on the curve P-256, as browsers like them. Throws invalid_argument for bad names.
class certificate_authority {
public:
    explicit certificate_authority(std::string_view name);
    ~certificate_authority();
    certificate_authority(const certificate_authority&) = delete;
    certificate_authority& operator=(const certificate_authority&) = delete;

    // What others have to trust.
    const std::string& certificate_pem() const noexcept { return pem_; }
    certificate issue(const certificate_options& options) const;

private:
    struct state;
    std::unique_ptr<state> state_;
    std::string pem_;
};

// Vouched for by nobody but itself.
certificate make_self_signed(const certificate_options& options);

}  // namespace weir::tls
