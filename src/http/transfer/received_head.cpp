// SPDX-License-Identifier: MIT
// What libcurl calls. Nothing here throws into it, and nothing calls it back: what goes wrong is
// noted, the transfer aborted by the return value, and the rest left to transfer::ended.

#include "http/client/client_core.hpp"
#include "http/transfer/transfer.hpp"
#include "http/transfer/upload.hpp"

#include <weir/io/error.hpp>

#include <charconv>

namespace weir::http::detail {

std::size_t transfer::on_header(char* data, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    try {
        return own.header_line({data, size}) ? size : 0;
    } catch (...) {
        own.fail(std::current_exception());
        return 0;
    }
}

bool transfer::header_line(std::string_view line) {
    last_activity_ = core_->called_at();
    const client_options& options = core_->settings().plain;
    header_bytes_ += line.size();
    if (has_head_) {  // trailers: nobody sees them, but libcurl keeps them
        if (header_bytes_ > options.max_header_bytes) {
            throw limit_exceeded(what() + ": the answer's head and trailers have more than " +
                                 std::to_string(options.max_header_bytes) + " bytes");
        }
        return true;
    }
    if (header_bytes_ > options.max_header_bytes || fields_.size() >= options.max_header_count) {
        const bool too_many = header_bytes_ <= options.max_header_bytes;
        throw limit_exceeded(
            what() + ": the answer's head has more than " +
            std::to_string(too_many ? options.max_header_count : options.max_header_bytes) +
            (too_many ? " fields" : " bytes"));
    }
    while (line.ends_with('\n') || line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.starts_with(' ') || line.starts_with('\t')) {
        continue_last(line);
        return true;
    }
    end_folding();
    if (line.empty()) {
        head_is_complete();
        return true;
    }
    if (line.starts_with("HTTP/")) {
        begin_head(line);
        return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        throw transport_error(transport_error::kind::protocol,
                              what() + ": the answer's head has a line that is no header field");
    }
    std::string_view value = line.substr(colon + 1);
    const std::size_t begin = value.find_first_not_of(" \t");
    value = begin == std::string_view::npos ? std::string_view() : value.substr(begin);
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    check_value(line.substr(0, colon), value);
    fields_.add_checked(line.substr(0, colon), value);
    return true;
}

void transfer::check_value(std::string_view name, std::string_view value) const {
    if (!is_field_value(value)) {
        throw transport_error(transport_error::kind::protocol,
                              what() + ": the answer's header '" + std::string(name) +
                                  "' has control characters in it");
    }
}

// Also after a head of the hundreds, such as 100 Continue.
void transfer::begin_head(std::string_view line) {
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

// Obsolete folding: as if there was a blank in place of the line's end.
void transfer::continue_last(std::string_view more) {
    const std::size_t begin = more.find_first_not_of(" \t");
    if (begin != std::string_view::npos) {
        folded_ += ' ';
        folded_ += more.substr(begin, more.find_last_not_of(" \t") + 1 - begin);
    }
}

// Once for each field, however many lines it has.
void transfer::end_folding() {
    if (folded_.empty()) {
        return;
    }
    http::headers joined;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const auto [name, value] = fields_[i];
        if (i + 1 < fields_.size()) {
            joined.add_checked(name, value);
        } else {
            const std::string whole =
                value.empty() ? folded_.substr(1) : std::string(value) + folded_;
            check_value(name, whole);
            joined.add_checked(name, whole);
        }
    }
    fields_ = std::move(joined);
    folded_.clear();
}

void transfer::head_is_complete() {
    const unsigned code = number_of(status_);
    if (code < 200 && status_ != http::status::switching_protocols) {
        return;
    }
    check_framing();
    const client_settings& settings = core_->settings();
    // What HEAD is told is about a body that does not come.
    const std::optional<std::string_view> coding =
        decodes_ && method_name_ != "HEAD" ? fields_.find("Content-Encoding") : std::nullopt;
    if (coding.has_value() && fields_.count("Content-Encoding") == 1 &&
        decoder_.begin(*coding, settings.plain.max_decompressed)) {
        fields_.remove("Content-Encoding");
        fields_.remove("Content-Length");
    }
    has_head_ = true;
    wake();
}

// Where the body ends must be beyond doubt, or the next answer on the connection may be anybody's.
// libcurl takes the last of several lengths.
void transfer::check_framing() const {
    std::optional<std::string_view> length;
    for (const auto& [name, value] : fields_) {
        if (!same_name(name, "Content-Length")) {
            continue;
        }
        const bool is_number =
            !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
        if (!is_number || value != length.value_or(value)) {
            throw transport_error(transport_error::kind::protocol,
                                  what() + ": the answer has no clear Content-Length");
        }
        length = value;
    }
    if (length.has_value() && fields_.contains("Transfer-Encoding")) {
        throw transport_error(
            transport_error::kind::protocol,
            what() + ": the answer has both Content-Length and Transfer-Encoding");
    }
}

std::size_t transfer::on_body(char* data, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    try {
        own.last_activity_ = own.core_->called_at();
        if (own.is_dropping_) {
            if (size > own.worth_dropping_) {
                return 0;
            }
            own.worth_dropping_ -= size;
            return size;
        }
        // While a stream is being sent nobody reads.
        if (own.body_.size() - own.taken_ >= (own.sending_ != nullptr ? enough_early : enough)) {
            if (own.sending_ != nullptr) {
                throw transport_error(transport_error::kind::protocol,
                                      own.what() +
                                          ": the server sends more than 1 MiB of its answer "
                                          "before it has read the request");
            }
            own.receives_no_more_ = true;
            return CURL_WRITEFUNC_PAUSE;
        }
        if (own.taken_ > 0) {
            own.body_.erase(0, std::exchange(own.taken_, 0));
        }
        own.body_.append(data, size);
        own.wake();
        return own.error_ == nullptr ? size : 0;  // the reader may have found out that it is bad
    } catch (...) {
        own.fail(std::current_exception());
        return 0;
    }
}

std::size_t transfer::on_read(char* into, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    own.last_activity_ = own.core_->called_at();
    if (own.sending_ == nullptr) {
        return CURL_READFUNC_ABORT;
    }
    const std::size_t count = own.sending_->take(into, size);
    own.sends_no_more_ = count == CURL_READFUNC_PAUSE;
    if (own.sending_->is_taken()) {
        own.wake();
    }
    return count;
}

// libcurl wants to send the body again, on another connection, since the one it took had been
// closed.
int transfer::on_seek(void*, curl_off_t, int) noexcept {
    return CURL_SEEKFUNC_CANTSEEK;
}

curl_socket_t transfer::on_open(void* self, curlsocktype purpose, curl_sockaddr* where) noexcept {
    auto& own = *static_cast<transfer*>(self);
    if (purpose != CURLSOCKTYPE_IPCXN) {
        return CURL_SOCKET_BAD;
    }
    own.has_opened_ = true;
    if (own.connect_by_ == clock::time_point::max()) {
        own.last_activity_ = own.core_->called_at();
        own.connect_by_ = weir::detail::after(own.last_activity_, own.limits_.connect);
        own.set_timer();
    }
    try {
        own.check_address(io::address::from(&where->addr, where->addrlen));
    } catch (...) {
        own.fail(std::current_exception());
        return CURL_SOCKET_BAD;
    }
    return own.core_->own_socket(*where);
}

// Decides, whatever was checked before: this is the address that is connected to.
void transfer::check_address(const io::address& where) const {
    std::string_view name;
    if (!connects_to_address_) {
        name = route_.host().name;
        name = name.substr(0, name.rfind(':'));
    }
    if (core_->filter().has_value() && !core_->filter()->allows(where, name)) {
        throw address_refused(what() + ": " + refusal_text(where, name), std::string(name), where);
    }
}

// Before each time that the request is sent; a second time when libcurl begins anew, since the
// connection it had taken from the pool turned out to be dead, or an answer (417) asks for it. An
// answer that is there is the answer; and what must not be sent twice is not.
int transfer::on_connected(void* self, char*, char*, int, int local_port) noexcept {
    auto& own = *static_cast<transfer*>(self);
    const bool is_first = !std::exchange(own.is_connected_, true);
    own.connect_by_ = clock::time_point::max();
    own.last_activity_ = own.core_->called_at();
    if (own.has_head_) {
        own.is_superseded_ = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if ((!is_first && !own.may_begin_anew()) || (!own.has_opened_ && own.is_spoilt(local_port))) {
        own.fail_closed();
        return CURL_PREREQFUNC_ABORT;
    }
    return CURL_PREREQFUNC_OK;
}

bool transfer::may_begin_anew() const noexcept {
    if (sending_ != nullptr && sending_->has_begun()) {
        return false;
    }
    long sent = 0;
    curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &sent);
    return is_repeatable_ || sent == 0;
}

// Whether there is something to be read on a kept connection before anything was asked for: an end,
// a reset, or an answer to nothing, which would be taken for ours. libcurl notices the first alone.
// On TLS it may be anything.
bool transfer::is_spoilt(int local_port) const noexcept {
    return !url_.is_secure() && core_->is_readable(local_port);
}

void transfer::fail_closed() noexcept {
    try {
        fail(std::make_exception_ptr(transport_error(
            transport_error::kind::closed,
            what() + ": the connection was closed before there was an answer, and the request "
                     "cannot be sent again")));
    } catch (...) {
        fail(std::current_exception());
    }
}

// Before libcurl looks for the addresses of a host that it was not told of. For an address it has
// no need to ask anybody; for a name it would start a thread: never.
int transfer::on_resolve(void*, void*, void* self) noexcept {
    return static_cast<transfer*>(self)->connects_to_address_ ? 0 : 1;
}

}  // namespace weir::http::detail
