// SPDX-License-Identifier: MIT
// libcurl passes on every header line of every response, interim responses included. A status line
// starts a new head; the empty line that follows a final status completes it. Field values and the
// framing of the body are checked here, since libcurl is more lenient than is safe on a connection
// that is used again.

#include "http/transfer/received_head.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace weir::http::detail {

namespace {

[[noreturn]] void throw_malformed(const std::string& text) {
    throw transport_error(transport_error::kind::protocol, text);
}

void check_value(std::string_view name, std::string_view value) {
    if (!is_field_value(value)) {
        throw_malformed("the response header '" + std::string(name) +
                        "' contains control characters");
    }
}

}  // namespace

bool received_head::add_line(std::string_view line, const head_limits& limits) {
    bytes_ += line.size();
    check_limits(limits);
    if (is_complete_) {
        return false;
    }
    while (line.ends_with('\n') || line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.starts_with(' ') || line.starts_with('\t')) {
        continue_field(line);
        return false;
    }
    end_continuation();
    if (line.empty()) {
        if (status_ == http::status::switching_protocols) {
            throw_malformed("the server switches to another protocol, which was not asked for");
        }
        if (const bool is_interim = number_of(status_) < 200; !is_interim) {
            check_framing();
            is_complete_ = true;
        }
        return is_complete_;
    }
    if (line.starts_with("HTTP/")) {
        read_status_line(line);
    } else {
        read_field(line);
    }
    return false;
}

void received_head::reset() noexcept {
    fields_.clear();
    continuation_.clear();
    bytes_ = 0;
    status_ = http::status::ok;
    version_ = 0;
    is_complete_ = false;
}

// libcurl keeps trailers in memory, so they count as well.
void received_head::check_limits(const head_limits& limits) const {
    if (bytes_ > limits.max_bytes) {
        throw limit_exceeded(std::string("the response's head ") +
                             (is_complete_ ? "and trailers have" : "has") + " more than " +
                             std::to_string(limits.max_bytes) + " bytes");
    }
    if (!is_complete_ && fields_.size() >= limits.max_fields) {
        throw limit_exceeded("the response's head has more than " +
                             std::to_string(limits.max_fields) + " fields");
    }
}

// Drops the fields of an interim response.
void received_head::read_status_line(std::string_view line) {
    fields_.clear();
    unsigned major = 0;
    unsigned minor = 0;
    unsigned code = 0;
    const char* const end = line.data() + line.size();
    const char* at = std::from_chars(line.data() + 5, end, major).ptr;
    if (at != end && *at == '.') {
        at = std::from_chars(at + 1, end, minor).ptr;
    }
    if (at != end) {
        std::from_chars(at + 1, end, code);
    }
    version_ = static_cast<int>(major * 10 + minor);
    status_ = static_cast<http::status>(code);
}

void received_head::read_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        throw_malformed("the response's head has a line that is not a header field");
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = base::trimmed(line.substr(colon + 1));
    check_value(name, value);
    fields_.add_checked(name, value);
}

// Obsolete line folding: a continuation line counts as a space and its text.
void received_head::continue_field(std::string_view line) {
    const std::string_view text = base::trimmed(line);
    if (!text.empty()) {
        continuation_ += ' ';
        continuation_ += text;
    }
}

// Rebuilds the fields once per folded field, however many lines it has.
void received_head::end_continuation() {
    if (continuation_.empty()) {
        return;
    }
    http::headers joined;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const auto [name, value] = fields_[i];
        if (i + 1 < fields_.size()) {
            joined.add_checked(name, value);
        } else {
            const std::string unfolded =
                value.empty() ? continuation_.substr(1) : std::string(value) + continuation_;
            check_value(name, unfolded);
            joined.add_checked(name, unfolded);
        }
    }
    fields_ = std::move(joined);
    continuation_.clear();
}

// The end of the body must be unambiguous, or part of it could be taken for the next response on
// the connection. libcurl uses the last of several lengths, none if it is beyond 63 bits, and
// passes bodies on in the transfer codings that it does not know.
void received_head::check_framing() const {
    std::optional<std::string_view> length;
    for (const auto& [name, value] : fields_) {
        if (!same_name(name, "Content-Length")) {
            continue;
        }
        const bool is_number =
            !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
        if (!is_number || value != length.value_or(value)) {
            throw_malformed("the response has no unambiguous Content-Length");
        }
        std::int64_t size = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), size).ec != std::errc()) {
            throw_malformed("the response's Content-Length has more than 63 bits");
        }
        length = value;
    }
    if (!fields_.contains("Transfer-Encoding")) {
        return;
    }
    if (length.has_value()) {
        throw_malformed("the response has both Content-Length and Transfer-Encoding");
    }
    if (const std::string codings = fields_.joined("Transfer-Encoding");
        !same_name(codings, "chunked")) {
        throw_malformed("the response's Transfer-Encoding is " + base::quoted(codings, 40) +
                        "; only 'chunked' was offered");
    }
}

}  // namespace weir::http::detail
