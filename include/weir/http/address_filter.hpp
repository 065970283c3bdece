// SPDX-License-Identifier: MIT
// Which addresses a client may connect to. Protects the own network from URLs of strangers
// (server-side request forgery).
//
//     auto filter = weir::http::address_filter::public_only();
//     filter.allow("10.1.0.0/16").allow_host("hooks.internal.example");
//
// A name says nothing until it is resolved, and may resolve to something else a moment later. So
// the client asks the filter about the very address that it is about to connect to, each time.
#pragma once

#include <weir/http/error.hpp>
#include <weir/io/address.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::http {

// The purpose of an address by the special-purpose registries (RFC 6890) and later RFCs.
enum class address_class : std::uint8_t {
    public_,        // none of the classes below
    loopback,       // 127.0.0.0/8, ::1
    private_,       // 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16
    link_local,     // 169.254.0.0/16, fe80::/10; includes cloud metadata services
    unique_local,   // fc00::/7
    site_local,     // fec0::/10, deprecated
    shared,         // 100.64.0.0/10, behind a carrier's NAT
    unspecified,    // 0.0.0.0/8, ::; Linux connects 0.0.0.0 to loopback
    multicast,      // 224.0.0.0/4, ff00::/8
    broadcast,      // 255.255.255.255
    documentation,  // 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24, 2001:db8::/32, 3fff::/20
    benchmarking,   // 198.18.0.0/15, 2001:2::/48
    protocol,       // 192.0.0.0/24, and what no other class has of 2001::/23
    platform,       // 168.63.129.16: services of a cloud platform at a public address
    nat64,          // 64:ff9b::/96, 64:ff9b:1::/48: an IPv4 address behind a translator
    six_to_four,    // 2002::/16, 192.88.99.0/24: an IPv4 address behind a relay
    teredo,         // 2001::/32: an IPv4 address behind a server
    v4_mapped,      // ::ffff:0:0/96 with a public address; others have the class of that address
    v4_compatible,  // ::/96, deprecated
    discard,        // 100::/64
    reserved,       // 240.0.0.0/4, and other IPv6 outside 2000::/3
    local,          // a Unix socket
    none,           // not an address
};

// 'loopback', 'link-local', ...
std::string_view name_of(address_class which) noexcept;
// Costs nanoseconds.
address_class classify(const io::address& address) noexcept;

// Addresses that begin with the same bits.
class address_range {
public:
    // '10.0.0.0/8', 'fc00::/7', or a single address. Throws invalid_argument with the text and the
    // reason, also if bits after the prefix are set, as in '10.1.0.0/8'.
    static address_range parse(std::string_view text);

    // An IPv4 range also contains its addresses as IPv4-mapped IPv6 (::ffff:10.0.0.1), which the
    // system treats alike; no other embedding counts.
    bool contains(const io::address& address) const noexcept;
    int prefix() const noexcept { return prefix_; }
    std::string text() const;

    friend bool operator==(const address_range&, const address_range&) = default;

private:
    std::array<unsigned char, 16> bytes_{};
    std::uint8_t prefix_ = 0;
    bool is_v4_ = false;
};

// The client did not connect because the filter does not allow the address.
class address_refused : public error {
public:
    // `host`: the name that resolved to the address; empty if the URL contained the address.
    address_refused(const std::string& text, std::string host, const io::address& refused)
        : error(text), host_(std::move(host)), address_(refused) {}
    const std::string& host() const noexcept { return host_; }
    const io::address& address() const noexcept { return address_; }
    address_class kind() const noexcept { return classify(address_); }

private:
    std::string host_;
    io::address address_;
};
// The text of such an error: 'the address filter refuses 127.0.0.1:80 (loopback), to which
// 'evil.example' resolves'.
std::string refusal_text(const io::address& refused, std::string_view host);

// A value that is cheap to copy; a copy does not see later changes of the original. block() takes
// precedence over allow() and allow_host(), and these over public_only() or any().
class address_filter {
public:
    static address_filter public_only() noexcept { return address_filter(true); }
    static address_filter any() noexcept { return address_filter(false); }

    // Allows a range, in the form of address_range::parse. Addresses that embed an IPv4 address
    // (64:ff9b::/96, 2002::/16) are allowed only if that address is allowed, too.
    address_filter& allow(std::string_view range);
    // Allows all addresses that a name resolves to: 'internal.example', or '*.internal.example' for
    // all names below it. The owner of the name decides what can be reached.
    address_filter& allow_host(std::string_view name);
    // Blocks a range: public_only() does not know which public addresses are your own.
    address_filter& block(std::string_view range);

    // `host`: the name that resolved to the address; empty if the URL contained the address.
    bool allows(const io::address& address, std::string_view host = {}) const noexcept;
    // Throws address_refused with refusal_text() unless the address is allowed.
    void check(const io::address& address, std::string_view host = {}) const;

private:
    struct rules;

    explicit address_filter(bool is_public_only) noexcept : is_public_only_(is_public_only) {}
    rules& own_rules();
    bool blocks(const io::address& address) const noexcept;
    bool names(const io::address& address) const noexcept;
    bool allows_address(const io::address& address) const noexcept;
    bool allows_host(std::string_view host) const noexcept;

    std::shared_ptr<const rules> rules_;
    bool is_public_only_;
};

}  // namespace weir::http
