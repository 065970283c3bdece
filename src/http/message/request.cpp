// SPDX-License-Identifier: MIT
// A request has the head that the parser filled in. It reads its body from the connection, or from
// the text given to set_body().

#include "base/ascii.hpp"

#include <weir/http/request.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::http {

namespace {

// The encoding of forms: '+' is a blank; a '%' without two digits stands for itself.
std::string decode_form(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && base::hex_digit_of(text[i + 1]) >= 0 &&
            base::hex_digit_of(text[i + 2]) >= 0) {
            decoded += static_cast<char>(base::hex_digit_of(text[i + 1]) * 16 +
                                         base::hex_digit_of(text[i + 2]));
            i += 2;
        } else {
            decoded += text[i] == '+' ? ' ' : text[i];
        }
    }
    return decoded;
}

}  // namespace

request::request(http::method which, std::string_view target) {
    head_.method = which;
    head_.method_name = name_of(which);
    head_.target = target;
}

std::string_view request::path() const noexcept {
    const std::string_view text = head_.target;
    return text.substr(0, text.find('?'));
}

std::string_view request::query_string() const noexcept {
    const std::string_view text = head_.target;
    const std::size_t mark = text.find('?');
    return mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
}

std::optional<std::string> request::query(std::string_view name) const {
    std::string_view rest = query_string();
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        const std::size_t equals = pair.find('=');
        if (decode_form(pair.substr(0, equals)) == name) {
            return equals == std::string_view::npos ? std::string()
                                                    : decode_form(pair.substr(equals + 1));
        }
    }
    return std::nullopt;
}

std::string_view request::param(std::string_view name) const noexcept {
    for (const auto& [known, value] : params_) {
        if (known == name) {
            return value;
        }
    }
    return {};
}

task<std::size_t> request::read(io::bytes into) {
    // A body that was set replaces the one of the connection: it is the decoded form of that.
    if (own_body_ == nullptr && content_ != nullptr) {
        return content_->read(into);
    }
    return [](std::string* from, io::bytes to) -> task<std::size_t> {
        const std::size_t count = from != nullptr ? std::min(from->size(), to.size()) : 0;
        if (count > 0) {
            std::memcpy(to.data(), from->data(), count);
            from->erase(0, count);
        }
        co_return count;
    }(own_body_.get(), into);
}

task<std::string> request::text() {
    // The memory grows with the bytes received, never with the declared length.
    constexpr std::size_t step = 16 << 10;
    std::string text;
    std::size_t filled = 0;
    for (;;) {
        if (filled == text.size()) {
            const std::size_t expected = static_cast<std::size_t>(
                std::min<std::uint64_t>(head_.content_length.value_or(step), step));
            text.resize(filled + std::max({expected, filled, std::size_t{256}}));
        }
        const std::size_t count = co_await read(io::bytes(text).after(filled));
        if (count == 0) {
            break;
        }
        filled += count;
    }
    text.resize(filled);
    co_return text;
}

void request::limit_body(std::uint64_t bytes) {
    if (head_.content_length.value_or(0) > bytes ||
        (own_body_ != nullptr && own_body_->size() > bytes)) {
        throw problem(status::content_too_large,
                      "the body is larger than " + std::to_string(bytes) + " bytes");
    }
    if (own_body_ == nullptr && content_ != nullptr) {
        content_->limit(bytes);
    }
}

void request::set_body(std::string content) {
    head_.content_length = content.size();
    own_body_ = std::make_unique<std::string>(std::move(content));
}

detail::request_head& request::reset() {
    head_.fields.clear();
    route_ = {};
    params_.clear();
    attached_.clear();
    own_body_.reset();
    client_ = remote_;  // a connection of a proxy has requests of many clients
    return head_;
}

void request::connect(body_reader* content, const io::address& remote, bool is_secure) noexcept {
    content_ = content;
    remote_ = client_ = remote;
    is_secure_ = is_secure;
}

void request::put(const void* tag, std::shared_ptr<void> value) {
    for (auto& [known, held] : attached_) {
        if (known == tag) {
            held = std::move(value);
            return;
        }
    }
    attached_.emplace_back(tag, std::move(value));
}

void* request::find(const void* tag) const noexcept {
    for (const auto& [known, held] : attached_) {
        if (known == tag) {
            return held.get();
        }
    }
    return nullptr;
}

}  // namespace weir::http
