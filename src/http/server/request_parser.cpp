// SPDX-License-Identifier: MIT
// parse_head() first looks for the end of the head line by line. That gives its size and the number
// of its headers, and refuses lines that do not end with CR LF and folded headers. Only then does
// Beast's parser take the head apart, once and in one piece. Beast knows the grammar of tokens,
// fields and lines, but accepts more than we want to: lists of equal Content-Lengths, unknown
// transfer codings (ignored), any Host or none, any byte from 0x80 in a target. head_reader, which
// Beast calls with each part, refuses these on the way, or at the end where two headers contradict
// each other. It judges the framing headers by their text and not by what Beast made of them.
//
// Bodies are ours: lengths are counted, so that data can go past the parser; chunk_decoder reads
// chunks.

#include "http/server/request_parser.hpp"

#include "base/ascii.hpp"
#include "http/url/authority.hpp"

#include <weir/http/error.hpp>

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace weir::http::detail {

namespace {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

[[noreturn]] void throw_bad_request(const char* reason, status code = status::bad_request) {
    throw protocol_error(code, reason);
}

std::string_view view_of(string_view text) noexcept {
    return {text.data(), text.size()};
}

class head_reader final : public beast::basic_parser<true> {
public:
    explicit head_reader(request_head& head) : head_(head) {
        header_limit(std::numeric_limits<std::uint32_t>::max());
        body_limit(boost::none);
        head_.fields.clear();
        head_.expects_continue = false;
        head_.is_chunked = false;
        head_.content_length.reset();
    }

    void finish() {
        if (host_count_ > 1) throw_bad_request("more than one Host");
        if (host_count_ == 0 && head_.minor_version != 0) throw_bad_request("Host is missing");
        if (!authority_.empty()) {
            if (host_count_ == 0) {
                head_.fields.add_checked("Host", authority_);
            } else if (!same_name(host_, authority_)) {
                throw_bad_request("Host is not the host of the target");
            }
        }
        if (has_coding_) {
            finish_coding();
        }
        const bool is_new = head_.minor_version != 0;
        head_.keep_alive = !has_word_close_ && (is_new || has_word_keep_alive_);
        head_.wants_upgrade = is_new && has_word_upgrade_ && has_upgrade_;
        const bool has_body = head_.is_chunked || head_.content_length.value_or(0) != 0;
        head_.expects_continue = is_new && has_expectation_ && has_body;
    }

private:
    void on_request_impl(beast::verb, string_view method, string_view target, int version,
                         error_code&) override {
        head_.method_name.assign(method.data(), method.size());
        head_.method = method_of(head_.method_name);
        head_.minor_version = static_cast<unsigned>(version - 10);
        take_target(view_of(target));
    }

    void on_field_impl(beast::field which, string_view name, string_view text,
                       error_code&) override {
        const std::string_view value = view_of(text);
        switch (which) {
            case beast::field::host:
                ++host_count_;
                if (!is_authority(value, false)) throw_bad_request("Host is not a valid host");
                host_ = value;
                break;
            case beast::field::content_length:
                take_length(value);
                break;
            case beast::field::transfer_encoding:
                if (has_coding_) throw_bad_request("more than one Transfer-Encoding");
                has_coding_ = true;
                coding_ = value;
                break;
            case beast::field::connection:
                base::for_each_element(value, [this](std::string_view word) {
                    has_word_close_ |= same_name(word, "close");
                    has_word_keep_alive_ |= same_name(word, "keep-alive");
                    has_word_upgrade_ |= same_name(word, "upgrade");
                });
                break;
            case beast::field::upgrade:
                has_upgrade_ = true;
                break;
            case beast::field::expect:
                if (!same_name(value, "100-continue")) {
                    throw_bad_request("the expectation is not supported",
                                      status::expectation_failed);
                }
                has_expectation_ = true;
                break;
            default:
                break;
        }
        head_.fields.add_checked(view_of(name), value);
    }

    void take_target(std::string_view target) {
        if (!std::all_of(target.begin(), target.end(),
                         [](char each) { return each > ' ' && each < 0x7f && each != '#'; })) {
            throw_bad_request("the target has characters that need to be escaped");
        }
        if (head_.method == method::connect) {
            if (!is_authority(target, true))
                throw_bad_request("the target of CONNECT is not host:port");
            authority_ = target;
        } else if (target == "*") {
            if (head_.method != method::options)
                throw_bad_request("the target * is allowed for OPTIONS only");
        } else if (target.front() != '/') {
            take_absolute_target(target);
            return;
        }
        head_.target.assign(target);
    }

    void take_absolute_target(std::string_view target) {
        const std::size_t end = target.find("://");
        const std::string_view scheme = target.substr(0, end);
        if (end == std::string_view::npos ||
            (!same_name(scheme, "http") && !same_name(scheme, "https"))) {
            throw_bad_request("the target is neither a path nor an http URL");
        }
        target.remove_prefix(end + 3);
        authority_ = target.substr(0, target.find_first_of("/?"));
        if (!is_authority(authority_, false))
            throw_bad_request("the host of the target is invalid");
        target.remove_prefix(authority_.size());
        if (target.empty() && head_.method == method::options) {
            head_.target = '*';
        } else if (target.empty() || target.front() != '/') {
            head_.target = '/';
            head_.target += target;
        } else {
            head_.target.assign(target);
        }
    }

    void take_length(std::string_view text) {
        if (head_.content_length) throw_bad_request("more than one Content-Length");
        if (text.empty() || !std::all_of(text.begin(), text.end(), base::is_decimal)) {
            throw_bad_request("Content-Length is not a number");
        }
        std::uint64_t length = 0;
        for (const char each : text) {
            const auto digit = static_cast<std::uint64_t>(each - '0');
            if (length > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
                throw_bad_request("Content-Length is too large");
            }
            length = length * 10 + digit;
        }
        head_.content_length = length;
    }

    // RFC 9112, 6.1 and 6.3: without a final `chunked` the end of the body is unknown.
    void finish_coding() {
        if (head_.content_length) throw_bad_request("both Content-Length and Transfer-Encoding");
        if (head_.minor_version == 0) throw_bad_request("Transfer-Encoding in HTTP/1.0");
        std::size_t codings = 0;
        std::size_t chunked = 0;
        bool is_last = false;
        base::for_each_element(coding_, [&](std::string_view name) {
            const std::string_view token = base::trimmed(name.substr(0, name.find(';')));
            if (!is_token(token) || same_name(token, "identity")) {
                throw_bad_request("Transfer-Encoding is invalid");
            }
            ++codings;
            is_last = same_name(name, "chunked");
            chunked += same_name(token, "chunked");
        });
        if (!is_last) throw_bad_request("Transfer-Encoding does not end with chunked");
        if (chunked != 1) throw_bad_request("the body is chunked twice");
        if (codings != 1)
            throw_bad_request("the transfer coding is not supported", status::not_implemented);
        head_.is_chunked = true;
    }

    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
    void on_finish_impl(error_code&) override {}

    request_head& head_;
    // Views of the text that is parsed.
    std::string_view authority_;
    std::string_view host_;
    std::string_view coding_;
    unsigned host_count_ = 0;
    bool has_coding_ = false;
    bool has_upgrade_ = false;
    bool has_expectation_ = false;
    bool has_word_close_ = false;
    bool has_word_keep_alive_ = false;
    bool has_word_upgrade_ = false;
};

// Tells an unsupported version from a malformed request line.
[[noreturn]] void refuse_version(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\r'));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    if (version.size() == 8 && version.starts_with("HTTP/") && base::is_decimal(version[5]) &&
        version[6] == '.' && base::is_decimal(version[7]) && version != "HTTP/1.1" &&
        version != "HTTP/1.0") {
        throw_bad_request("the HTTP version is not supported; use HTTP/1.1",
                          status::http_version_not_supported);
    }
    throw_bad_request("the request line is not 'METHOD target HTTP/1.1'");
}

[[noreturn]] void throw_bad_request(error_code error, std::string_view text) {
    if (error == beast::error::bad_version) refuse_version(text);
    if (error == beast::error::bad_method) throw_bad_request("the method is malformed");
    if (error == beast::error::bad_target) throw_bad_request("the target is malformed");
    if (error == beast::error::bad_content_length ||
        error == beast::error::multiple_content_length ||
        error == beast::error::bad_transfer_encoding) {
        throw_bad_request("Content-Length and Transfer-Encoding are ambiguous");
    }
    throw_bad_request("a header is malformed");
}

// The text is a complete head, with CR LF at the end of each line and no folded headers.
void read_head(std::string_view text, request_head& into) {
    head_reader reader(into);
    error_code error;
    const std::size_t used = reader.put({text.data(), text.size()}, error);
    if (error) {
        throw_bad_request(error, text);
    }
    if (used != text.size() || !reader.is_header_done()) {
        throw_bad_request("the head is malformed");
    }
    reader.finish();
}

void check_length(std::uint64_t length, std::uint64_t limit) {
    if (length > limit) {
        throw protocol_error(status::content_too_large, "the body is too large");
    }
}

}  // namespace

request_parser::request_parser(const parser_limits& limits) noexcept : limits_(limits) {}

void request_parser::reset() noexcept {
    seen_ = 0;
    line_at_ = 0;
    lines_ = 0;
    remaining_ = 0;
    skipped_line_ = false;
    is_chunked_ = false;
}

std::size_t request_parser::parse_head(std::string_view received, request_head& into) {
    const std::size_t size = find_end(received);
    if (size == 0) {
        return 0;
    }
    const std::size_t begin = skipped_line_ ? 2 : 0;
    reset();
    read_head(received.substr(begin, size - begin), into);
    if (into.is_chunked) {
        is_chunked_ = true;
        chunks_.start({.body_bytes = limits_.body_bytes,
                       .trailer_bytes = limits_.header_bytes,
                       .trailer_count = limits_.header_count});
    } else if (into.content_length) {
        check_length(*into.content_length, limits_.body_bytes);
        remaining_ = *into.content_length;
    }
    return size;
}

std::size_t request_parser::find_end(std::string_view received) {
    const std::string_view seen = received.substr(0, limits_.header_bytes);
    while (seen_ < seen.size()) {
        if (seen_ == line_at_) {
            const char first = seen[line_at_];
            if (lines_ == 0 && first != '\r' && !is_token({&first, 1})) {
                throw_bad_request("not HTTP: a request begins with the name of a method");
            }
            if (lines_ != 0 && (first == ' ' || first == '\t')) {
                throw_bad_request("a header is folded into several lines");
            }
        }
        const void* found = std::memchr(seen.data() + seen_, '\n', seen.size() - seen_);
        if (found == nullptr) {
            seen_ = seen.size();
            break;
        }
        const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - seen.data());
        if (at == line_at_ || seen[at - 1] != '\r')
            throw_bad_request("a line does not end with CR LF");
        const bool is_empty = at == line_at_ + 1;
        seen_ = at + 1;
        line_at_ = at + 1;
        if (!is_empty) {
            ++lines_;
            if (lines_ > 1 && lines_ - 1 > limits_.header_count) {
                throw protocol_error(status::request_header_fields_too_large, "too many headers");
            }
        } else if (lines_ != 0) {
            return at + 1;
        } else if (skipped_line_) {
            throw_bad_request("there are empty lines before the request");
        } else {
            skipped_line_ = true;
        }
    }
    if (received.size() >= limits_.header_bytes) {
        if (lines_ == 0) {
            throw protocol_error(status::uri_too_long, "the request line is too long");
        }
        throw protocol_error(status::request_header_fields_too_large, "the headers are too large");
    }
    return 0;
}

body_progress request_parser::parse_body(std::string_view received, io::bytes into) {
    if (is_chunked_) {
        return chunks_.decode(received, into);
    }
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(remaining_, std::min(received.size(), into.size())));
    if (count != 0) {
        std::memcpy(into.data(), received.data(), count);
        remaining_ -= count;
    }
    return {count, count};
}

void request_parser::set_body_limit(std::uint64_t limit) {
    if (!is_chunked_) {
        check_length(remaining_, limit);
    } else {
        chunks_.set_body_limit(limit);
    }
}

}  // namespace weir::http::detail
