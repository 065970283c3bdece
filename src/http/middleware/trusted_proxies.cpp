// SPDX-License-Identifier: MIT
// The header's lines are read from the last to the first, each from its end. RFC 7239 has quoted
// strings, which can only be parsed from the beginning: a line with an unterminated quote or any
// other error has no entries that could be trusted.

#include "base/ascii.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/http/trusted_proxies.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace weir::http {

namespace {

constexpr int max_hops = 32;

// '192.0.2.7', '192.0.2.7:80', '2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:80'.
std::optional<io::address> address_in(std::string_view text) {
    constexpr std::size_t longest = 64;
    // No zones: they name interfaces of this machine, which other machines cannot know.
    if (text.empty() || text.size() > longest ||
        text.find_first_not_of("0123456789abcdefABCDEF.:[]") != std::string_view::npos) {
        return std::nullopt;
    }
    const bool has_port =
        text.front() == '[' ? text.back() != ']' : std::count(text.begin(), text.end(), ':') == 1;
    try {
        return has_port ? io::address::parse(text) : io::address::parse(text, 0);
    } catch (const invalid_argument&) {
        return std::nullopt;
    }
}

// The last entry of a list, which is removed from it.
std::string_view take_last(std::string_view& list) noexcept {
    const std::size_t comma = list.rfind(',');
    const std::string_view last =
        base::trimmed(comma == std::string_view::npos ? list : list.substr(comma + 1));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
    return last;
}

// Parses a line of RFC 7239 from its beginning: the text after 'for=' of each element; empty for an
// element without one or with several. Gives nothing if the line is malformed.
class forwarded_reader {
public:
    explicit forwarded_reader(std::string_view line) noexcept : rest_(line) {}

    std::optional<std::vector<std::string>> read() {
        std::vector<std::string> found;
        for (;;) {
            std::string node;
            if (!read_element(node)) {
                return std::nullopt;
            }
            found.push_back(std::move(node));
            if (rest_.empty()) {
                return found;
            }
            rest_.remove_prefix(1);  // the comma
        }
    }

private:
    // Up to a comma or the end.
    bool read_element(std::string& node) {
        int count = 0;
        for (;;) {
            detail::skip_blanks(rest_);
            if (at_end_of_element()) {
                break;
            }
            if (rest_.front() == ';') {
                rest_.remove_prefix(1);
                continue;
            }
            const std::size_t equals = rest_.find('=');
            if (equals == std::string_view::npos || !is_token(rest_.substr(0, equals))) {
                return false;
            }
            const bool is_for = same_name(rest_.substr(0, equals), "for");
            rest_.remove_prefix(equals + 1);
            std::string value;
            if (!read_value(value)) {
                return false;
            }
            detail::skip_blanks(rest_);
            if (!at_end_of_element() && rest_.front() != ';') {
                return false;
            }
            if (is_for) {
                ++count;
                node = std::move(value);
            }
        }
        if (count != 1) {
            node.clear();
        }
        return true;
    }
    bool read_value(std::string& value) {
        if (rest_.empty() || rest_.front() != '"') {
            // Addresses with a colon must be quoted, but not all proxies do that.
            const std::size_t end = std::min(rest_.size(), rest_.find_first_of(",; \t\""));
            value = rest_.substr(0, end);
            rest_.remove_prefix(end);
            return !value.empty();
        }
        std::optional<std::string> quoted = detail::take_quoted(rest_);
        value = quoted ? std::move(*quoted) : std::string();
        return quoted.has_value();
    }
    bool at_end_of_element() const noexcept { return rest_.empty() || rest_.front() == ','; }

    std::string_view rest_;
};

// Entries from the last to the first.
class entries {
public:
    entries(const headers& fields, forwarded_header which) noexcept
        : fields_(fields), which_(which), line_(fields.size()) {}

    // Empty: there are no more entries, or the entry is not an address.
    std::optional<io::address> next() {
        if (which_ == forwarded_header::x_forwarded_for) {
            while (list_.empty()) {
                if (!go_to_line_before("X-Forwarded-For", list_)) {
                    return std::nullopt;
                }
            }
            return address_in(take_last(list_));
        }
        while (nodes_.empty()) {
            std::string_view line;
            if (!go_to_line_before("Forwarded", line)) {
                return std::nullopt;
            }
            auto read = forwarded_reader(line).read();
            if (!read) {
                return std::nullopt;
            }
            nodes_ = std::move(*read);
        }
        const std::string last = std::move(nodes_.back());
        nodes_.pop_back();
        return address_in(last);
    }

private:
    bool go_to_line_before(std::string_view name, std::string_view& found) noexcept {
        while (line_ > 0) {
            const header_field each = fields_[--line_];
            if (same_name(each.name, name)) {
                found = each.value;
                return true;
            }
        }
        return false;
    }

    const headers& fields_;
    forwarded_header which_;
    std::size_t line_;
    std::string_view list_;
    std::vector<std::string> nodes_;
};

}  // namespace

trusted_proxies& trusted_proxies::trust(std::string_view range) {
    if (range == "unix") {
        trusts_unix_ = true;
    } else {
        ranges_.push_back(address_range::parse(range));
    }
    return *this;
}

bool trusted_proxies::trusts(const io::address& address) const noexcept {
    if (!address.is_ip()) {
        return trusts_unix_;
    }
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const address_range& each) { return each.contains(address); });
}

io::address trusted_proxies::client_of(const io::address& peer, const headers& fields) const {
    io::address client = peer;
    entries from(fields, which_);
    for (int hop = 0; hop < max_hops && trusts(client); ++hop) {
        const std::optional<io::address> before = from.next();
        if (!before) {
            break;
        }
        client = *before;
    }
    return client;
}

}  // namespace weir::http
