// SPDX-License-Identifier: MIT
// Beast calls head_reader with each part of a head; what it lets pass and we do not is refused on
// the way, or at the end where it takes two headers to see it. Framing headers are judged from the
// text and not by what Beast made of them.

#include "http/server/head_reader.hpp"

#include "base/ascii.hpp"
#include "http/url/authority.hpp"

#include <weir/http/error.hpp>

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <limits>

namespace weir::http::detail {

namespace {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

[[noreturn]] void refuse(const char* why, status code = status::bad_request) {
    throw protocol_error(code, why);
}

std::string_view view_of(string_view text) noexcept {
    return {text.data(), text.size()};
}

// Calls visit with each element of a comma-separated list, also the empty ones.
template <class Visit>
void each_element(std::string_view list, Visit visit) {
    for (;;) {
        const std::size_t comma = list.find(',');
        visit(base::trimmed(list.substr(0, comma)));
        if (comma == std::string_view::npos) {
            return;
        }
        list.remove_prefix(comma + 1);
    }
}

class head_reader final : public beast::basic_parser<true> {
public:
    explicit head_reader(request_head& into) : into_(into) {
        header_limit(std::numeric_limits<std::uint32_t>::max());
        body_limit(boost::none);
        into_.fields.clear();
        into_.expects_continue = false;
        into_.is_chunked = false;
        into_.content_length.reset();
    }

    void finish() {
        if (host_count_ > 1) refuse("more than one Host");
        if (host_count_ == 0 && into_.minor_version != 0) refuse("no Host");
        if (!authority_.empty()) {
            if (host_count_ == 0) {
                into_.fields.add_checked("Host", authority_);
            } else if (!same_name(host_, authority_)) {
                refuse("Host is not the host of the target");
            }
        }
        if (has_coding_) {
            finish_coding();
        }
        const bool is_new = into_.minor_version != 0;
        into_.keep_alive = !says_close_ && (is_new || says_keep_alive_);
        into_.wants_upgrade = is_new && says_upgrade_ && has_upgrade_;
        const bool has_body = into_.is_chunked || into_.content_length.value_or(0) != 0;
        into_.expects_continue = is_new && has_expectation_ && has_body;
    }

private:
    void on_request_impl(beast::verb, string_view method, string_view target, int version,
                         error_code&) override {
        into_.method_name.assign(method.data(), method.size());
        into_.method = method_of(into_.method_name);
        into_.minor_version = static_cast<unsigned>(version - 10);
        take_target(view_of(target));
    }

    void on_field_impl(beast::field which, string_view name, string_view text,
                       error_code&) override {
        const std::string_view value = view_of(text);
        switch (which) {
            case beast::field::host:
                ++host_count_;
                if (!is_authority(value, false)) refuse("Host is no host");
                host_ = value;
                break;
            case beast::field::content_length:
                take_length(value);
                break;
            case beast::field::transfer_encoding:
                if (has_coding_) refuse("more than one Transfer-Encoding");
                has_coding_ = true;
                coding_ = value;
                break;
            case beast::field::connection:
                each_element(value, [this](std::string_view word) {
                    says_close_ |= same_name(word, "close");
                    says_keep_alive_ |= same_name(word, "keep-alive");
                    says_upgrade_ |= same_name(word, "upgrade");
                });
                break;
            case beast::field::upgrade:
                has_upgrade_ = true;
                break;
            case beast::field::expect:
                if (!same_name(value, "100-continue")) {
                    refuse("an unknown expectation", status::expectation_failed);
                }
                has_expectation_ = true;
                break;
            default:
                break;
        }
        into_.fields.add_checked(view_of(name), value);
    }

    void take_target(std::string_view target) {
        if (!std::all_of(target.begin(), target.end(),
                         [](char each) { return each > ' ' && each < 0x7f && each != '#'; })) {
            refuse("the target has characters that need to be escaped");
        }
        if (into_.method == method::connect) {
            if (!is_authority(target, true)) refuse("the target of CONNECT is no host:port");
            authority_ = target;
        } else if (target == "*") {
            if (into_.method != method::options) refuse("the target * is for OPTIONS");
        } else if (target.front() != '/') {
            take_absolute_target(target);
            return;
        }
        into_.target.assign(target);
    }

    void take_absolute_target(std::string_view target) {
        const std::size_t end = target.find("://");
        const std::string_view scheme = target.substr(0, end);
        if (end == std::string_view::npos ||
            (!same_name(scheme, "http") && !same_name(scheme, "https"))) {
            refuse("the target is neither a path nor an http URL");
        }
        target.remove_prefix(end + 3);
        authority_ = target.substr(0, target.find_first_of("/?"));
        if (!is_authority(authority_, false)) refuse("the host of the target is none");
        target.remove_prefix(authority_.size());
        if (target.empty() && into_.method == method::options) {
            into_.target = '*';
        } else if (target.empty() || target.front() != '/') {
            into_.target = '/';
            into_.target += target;
        } else {
            into_.target.assign(target);
        }
    }

    void take_length(std::string_view text) {
        if (into_.content_length) refuse("more than one Content-Length");
        if (text.empty() || !std::all_of(text.begin(), text.end(), base::is_decimal)) {
            refuse("Content-Length is no number");
        }
        std::uint64_t length = 0;
        for (const char each : text) {
            const auto digit = static_cast<std::uint64_t>(each - '0');
            if (length > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
                refuse("Content-Length is too large a number");
            }
            length = length * 10 + digit;
        }
        into_.content_length = length;
    }

    // RFC 9112, 6.1 and 6.3: without a final `chunked` nobody knows where the body ends.
    void finish_coding() {
        if (into_.content_length) refuse("both Content-Length and Transfer-Encoding");
        if (into_.minor_version == 0) refuse("Transfer-Encoding in HTTP/1.0");
        std::size_t codings = 0;
        std::size_t chunked = 0;
        bool is_last = false;
        each_element(coding_, [&](std::string_view name) {
            const std::string_view token = base::trimmed(name.substr(0, name.find(';')));
            if (!is_token(token) || same_name(token, "identity")) {
                refuse("Transfer-Encoding makes no sense");
            }
            ++codings;
            is_last = same_name(name, "chunked");
            chunked += same_name(token, "chunked");
        });
        if (!is_last) refuse("Transfer-Encoding does not end with chunked");
        if (chunked != 1) refuse("a body that is chunked twice");
        if (codings != 1) refuse("an unknown transfer coding", status::not_implemented);
        into_.is_chunked = true;
    }

    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
    void on_finish_impl(error_code&) override {}

    request_head& into_;
    // Views of the text that is being read.
    std::string_view authority_;
    std::string_view host_;
    std::string_view coding_;
    unsigned host_count_ = 0;
    bool has_coding_ = false;
    bool has_upgrade_ = false;
    bool has_expectation_ = false;
    bool says_close_ = false;
    bool says_keep_alive_ = false;
    bool says_upgrade_ = false;
};

// Is it the version's number that is wrong, or the line?
[[noreturn]] void refuse_version(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\r'));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    if (version.size() == 8 && version.starts_with("HTTP/") && base::is_decimal(version[5]) &&
        version[6] == '.' && base::is_decimal(version[7]) && version != "HTTP/1.1" &&
        version != "HTTP/1.0") {
        refuse("this server speaks HTTP/1.1", status::http_version_not_supported);
    }
    refuse("the request line is not 'METHOD target HTTP/1.1'");
}

[[noreturn]] void refuse(error_code error, std::string_view text) {
    if (error == beast::error::bad_version) refuse_version(text);
    if (error == beast::error::bad_method) refuse("the method is malformed");
    if (error == beast::error::bad_target) refuse("the target is malformed");
    if (error == beast::error::bad_content_length ||
        error == beast::error::multiple_content_length ||
        error == beast::error::bad_transfer_encoding) {
        refuse("Content-Length and Transfer-Encoding are ambiguous");
    }
    refuse("a header is malformed");
}

}  // namespace

void read_head(std::string_view text, request_head& into) {
    head_reader reader(into);
    error_code error;
    const std::size_t used = reader.put({text.data(), text.size()}, error);
    if (error) {
        refuse(error, text);
    }
    if (used != text.size() || !reader.is_header_done()) {
        refuse("the head is malformed");
    }
    reader.finish();
}

}  // namespace weir::http::detail
