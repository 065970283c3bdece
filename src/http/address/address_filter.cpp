// SPDX-License-Identifier: MIT
// A filter is a default and a list of exceptions. Copies share the list until one of them changes
// it: filters are copied often and changed at start-up only.

#include "base/quoted.hpp"
#include "http/address/address_bytes.hpp"

#include <weir/error.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/url.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace weir::http {

namespace {

using detail::address_bytes;

// The bits of an IPv4-mapped address in front of the IPv4 address.
constexpr int v4_offset = 96;

[[noreturn]] void refuse_range(std::string_view text, const std::string& reason) {
    throw invalid_argument(base::quoted(text) + " is not a range of addresses: " + reason);
}

int read_prefix(std::string_view text, std::string_view digits, int longest) {
    int prefix = -1;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
    if (failed != std::errc() || end != digits.data() + digits.size() || prefix < 0 ||
        prefix > longest || digits.front() == '-') {
        refuse_range(text,
                     "a number from 0 to " + std::to_string(longest) + " must follow the slash");
    }
    return prefix;
}

bool same_bits(const std::array<unsigned char, 16>& left,
               const std::array<unsigned char, 16>& right, int count) noexcept {
    const auto whole = static_cast<std::size_t>(count / 8);
    const int rest = count % 8;
    return std::equal(left.begin(), left.begin() + whole, right.begin()) &&
           (rest == 0 || (left[whole] ^ right[whole]) >> (8 - rest) == 0);
}

io::address v4_address(const unsigned char* bytes) noexcept {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    std::memcpy(&raw.sin_addr, bytes, 4);
    return io::address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

// The address that a translator or relay would connect to.
std::optional<io::address> inner_address(const io::address& outer, address_class kind) noexcept {
    const address_bytes bytes(outer);
    if (bytes.is_v4) {
        return std::nullopt;
    }
    if (kind == address_class::nat64) {
        return v4_address(bytes.data.data() + 12);
    }
    if (kind == address_class::six_to_four) {
        return v4_address(bytes.data.data() + 2);
    }
    return std::nullopt;
}

// Without the dot that a fully qualified name may end in.
std::string_view undotted(std::string_view name) noexcept {
    return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
}

bool same_host(std::string_view left, std::string_view right) noexcept {
    return left.size() == right.size() &&
           std::equal(left.begin(), left.end(), right.begin(), [](char a, char b) {
               return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b);
           });
}

}  // namespace

struct address_filter::rules {
    std::set<std::array<unsigned char, 16>> addresses;  // allowed ones, a range of one each
    std::vector<address_range> allowed;
    std::vector<address_range> blocked;
    std::vector<std::string> hosts;  // '.internal.example': all names below it
};

address_range address_range::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    io::address address;
    try {
        address = io::address::parse(text.substr(0, slash), 0);
    } catch (const invalid_argument&) {
        refuse_range(text, "it does not begin with an IPv4 or IPv6 address");
    }
    if (text.find_first_of("%[") != std::string_view::npos) {
        refuse_range(text, "it has brackets or a zone");
    }
    const address_bytes bytes(address);
    if (bytes.is_v4 && address.kind() == io::address::family::ipv6) {
        refuse_range(text,
                     "write it as an IPv4 range, which contains IPv4-mapped addresses as well");
    }
    address_range range;
    range.bytes_ = bytes.data;
    range.is_v4_ = bytes.is_v4;
    const int longest = range.is_v4_ ? 32 : 128;
    range.prefix_ = static_cast<std::uint8_t>(
        slash == std::string_view::npos ? longest
                                        : read_prefix(text, text.substr(slash + 1), longest));
    const int bits = range.prefix_ + (range.is_v4_ ? v4_offset : 0);
    for (int i = bits; i < 128; ++i) {
        auto& byte = range.bytes_[static_cast<std::size_t>(i / 8)];
        byte = static_cast<unsigned char>(byte & ~(0x80 >> i % 8));
    }
    if (range.bytes_ != bytes.data) {
        refuse_range(text, "bits after the prefix are set; write " + range.text());
    }
    return range;
}

bool address_range::contains(const io::address& address) const noexcept {
    const address_bytes bytes(address);
    return address.is_ip() && bytes.is_v4 == is_v4_ &&
           same_bits(bytes.data, bytes_, prefix_ + (is_v4_ ? v4_offset : 0));
}

std::string address_range::text() const {
    std::string base;
    if (is_v4_) {
        base = v4_address(bytes_.data() + 12).host();
    } else {
        sockaddr_in6 raw{};
        raw.sin6_family = AF_INET6;
        std::memcpy(&raw.sin6_addr, bytes_.data(), bytes_.size());
        base = io::address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw).host();
    }
    return base + '/' + std::to_string(prefix_);
}

std::string refusal_text(const io::address& refused, std::string_view host) {
    std::string text = "the address filter refuses " + refused.text() + " (" +
                       std::string(name_of(classify(refused))) + ')';
    if (!host.empty()) {
        text += ", to which " + base::quoted(host) + " resolves";
    }
    return text;
}

// The rules, of which no other filter has a share.
address_filter::rules& address_filter::own_rules() {
    if (rules_.use_count() == 1) {
        return const_cast<rules&>(*rules_);
    }
    auto copy = rules_ ? std::make_shared<rules>(*rules_) : std::make_shared<rules>();
    rules& writable = *copy;
    rules_ = std::move(copy);
    return writable;
}

address_filter& address_filter::allow(std::string_view range) {
    const address_range read = address_range::parse(range);
    if (range.find('/') == std::string_view::npos) {
        own_rules().addresses.insert(address_bytes(io::address::parse(range, 0)).data);
    } else {
        own_rules().allowed.push_back(read);
    }
    return *this;
}

address_filter& address_filter::block(std::string_view range) {
    const address_range read = address_range::parse(range);
    own_rules().blocked.push_back(read);
    return *this;
}

address_filter& address_filter::allow_host(std::string_view name) {
    const bool is_below = name.starts_with("*.");
    const std::string_view plain = undotted(name.substr(is_below ? 2 : 0));
    const bool is_name = plain.find_first_of(":/?#@[]%\\") == std::string_view::npos;
    const auto read = is_name ? url::try_parse("http://" + std::string(plain) + '/') : std::nullopt;
    if (!read || read->is_ip_literal()) {
        throw invalid_argument(
            "address_filter: " + base::quoted(name) +
            " is not a host name such as internal.example or *.internal.example" +
            (read ? "; use allow() for addresses" : ""));
    }
    std::string kept(is_below ? "." : "");
    kept += read->host();
    own_rules().hosts.push_back(std::move(kept));
    return *this;
}

bool address_filter::blocks(const io::address& address) const noexcept {
    if (!rules_ || rules_->blocked.empty()) {
        return false;
    }
    const std::optional<io::address> inner = inner_address(address, classify(address));
    return std::any_of(rules_->blocked.begin(), rules_->blocked.end(),
                       [&](const address_range& each) {
                           return each.contains(address) || (inner && each.contains(*inner));
                       });
}

bool address_filter::names(const io::address& address) const noexcept {
    const auto contains = [&](const address_range& each) { return each.contains(address); };
    return rules_ &&
           ((address.is_ip() && rules_->addresses.contains(address_bytes(address).data)) ||
            std::any_of(rules_->allowed.begin(), rules_->allowed.end(), contains));
}

bool address_filter::allows_address(const io::address& address) const noexcept {
    const address_class kind = classify(address);
    if (names(address)) {
        const std::optional<io::address> inner = inner_address(address, kind);
        return !inner || allows_address(*inner);
    }
    return !is_public_only_ || kind == address_class::public_;
}

bool address_filter::allows_host(std::string_view host) const noexcept {
    const std::string_view name = undotted(host);
    const auto matches = [&](const std::string& each) {
        return each.front() != '.' ? same_host(name, each)
                                   : name.size() > each.size() &&
                                         same_host(name.substr(name.size() - each.size()), each);
    };
    return rules_ && std::any_of(rules_->hosts.begin(), rules_->hosts.end(), matches);
}

bool address_filter::allows(const io::address& address, std::string_view host) const noexcept {
    return address.kind() != io::address::family::none && !blocks(address) &&
           (allows_address(address) || allows_host(host));
}

void address_filter::check(const io::address& address, std::string_view host) const {
    if (!allows(address, host)) {
        throw address_refused(refusal_text(address, host), std::string(host), address);
    }
}

}  // namespace weir::http
