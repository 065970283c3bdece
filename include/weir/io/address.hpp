// SPDX-License-Identifier: MIT
// The address of a socket: IPv4 or IPv6 with a port, or a Unix path.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

struct sockaddr;

namespace weir::io {

// A value that fits in 128 bytes and owns nothing, for every kind.
class address {
public:
    enum class family : unsigned char { none, ipv4, ipv6, local };

    // None: the address of an unnamed Unix socket.
    address() noexcept = default;
    // '127.0.0.1:80', '[::1]:80', '[fe80::1%eth0]:80', 'unix:/run/app.sock', 'unix:@name'
    // (abstract). Also ':80', which is all addresses of this machine, IPv6 and IPv4. Throws
    // invalid_argument with the text and the reason. For host names use tcp::connect or
    // dns::resolver.
    static address parse(std::string_view text);
    // The address alone, '127.0.0.1' or '::1', brackets allowed.
    static address parse(std::string_view host, std::uint16_t port);
    static address loopback(std::uint16_t port) noexcept;     // 127.0.0.1
    static address loopback_v6(std::uint16_t port) noexcept;  // ::1
    static address any(std::uint16_t port) noexcept;          // 0.0.0.0: IPv4 only
    static address any_v6(std::uint16_t port) noexcept;       // ::; a listener there has both
    static address local(std::string_view path);              // a Unix socket
    // From the operating system's structure; other families give none.
    static address from(const sockaddr* raw, std::size_t size) noexcept;

    family kind() const noexcept;
    bool is_ip() const noexcept { return kind() == family::ipv4 || kind() == family::ipv6; }
    bool is_loopback() const noexcept;    // 127.0.0.0/8 (also IPv4-mapped), ::1; any Unix socket
    bool is_any() const noexcept;         // 0.0.0.0 or ::
    std::uint16_t port() const noexcept;  // 0 for Unix sockets
    address with_port(std::uint16_t port) const noexcept;
    // ::ffff:10.0.0.1 as 10.0.0.1, which it stands for; others unchanged. Sockets report IPv4
    // peers of an IPv6 listener in this form.
    address unmapped() const noexcept;
    std::string host() const;  // the address alone
    std::string path() const;  // of a Unix socket; '@name' when abstract
    std::string text() const;  // as parse() reads it

    const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(storage_); }
    std::size_t size() const noexcept { return size_; }

    friend bool operator==(const address& a, const address& b) noexcept;
    friend std::strong_ordering operator<=>(const address& a, const address& b) noexcept;
    friend std::ostream& operator<<(std::ostream& out, const address& shown);  // its text

private:
    alignas(8) unsigned char storage_[110] = {};
    std::uint16_t size_ = 0;
};

}  // namespace weir::io

// Makes addresses usable as keys of unordered maps.
template <>
struct std::hash<weir::io::address> {
    std::size_t operator()(const weir::io::address& key) const noexcept {
        return std::hash<std::string_view>()(
            {reinterpret_cast<const char*>(key.data()), key.size()});
    }
};
