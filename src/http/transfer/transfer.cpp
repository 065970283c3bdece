// SPDX-License-Identifier: MIT
// The course of a transfer. libcurl's callbacks fill the head and the body. Three parties can end a
// transfer: libcurl, the timer, and the owner; the first takes the easy handle out of libcurl.
//
// Callbacks neither throw into libcurl nor call it: an error is stored, the return value aborts the
// transfer, and ended() does the rest.
//
// All time limits share one timer of the loop. The timer is set for the earliest limit and checks,
// when it fires, whether there was activity since; so a received byte costs no timer operation.

#include "http/transfer/transfer.hpp"

#include "http/client/client_core.hpp"
#include "http/transfer/transfer_error.hpp"
#include "http/transfer/upload.hpp"

#include <weir/http/client_error.hpp>
#include <weir/io/address.hpp>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace weir::http::detail {

namespace {

// The server has to wait when so many bytes are unread.
constexpr std::size_t max_unread = 96 * 1024;
// Nothing reads the response while the request is being streamed.
constexpr std::size_t max_unread_while_sending = 1024 * 1024;

}  // namespace

void transfer::prepare(std::shared_ptr<client_core> core) {
    core_ = std::move(core);
    if (!is_configured_) {
        set_callbacks();
        core_->settings().configure(request_.handle(), core_->share());
        is_configured_ = true;
    }
}

void transfer::set_callbacks() {
    const auto set = [easy = request_.handle()](CURLoption option, auto value) {
        set_curl_option(easy, option, value);
    };
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_READFUNCTION, &on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_SEEKFUNCTION, &on_seek);
    set(CURLOPT_SEEKDATA, this);
    set(CURLOPT_OPENSOCKETFUNCTION, &on_open);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_CLOSESOCKETFUNCTION, &curl_sockets::close_callback);
    set(CURLOPT_CLOSESOCKETDATA, &core_->sockets());
    set(CURLOPT_PREREQFUNCTION, &on_ready);
    set(CURLOPT_PREREQDATA, this);
    set(CURLOPT_RESOLVER_START_FUNCTION, &on_resolve);
    set(CURLOPT_RESOLVER_START_DATA, this);
}

void transfer::start(client_request& request, const request_limits& limits, host_place place,
                     upload* streamed) {
    upload_ = streamed;
    request_.prepare(request, core_->settings(), streamed);
    connection_.prepare(limits.connect);
    limits_.begin(limits, core_->home()->now());
    place_ = std::move(place);
    is_under_way_ = true;
    core_->began(*this);
    set_timer();
    try {
        core_->add(request_.handle());
    } catch (...) {
        conclude();
        throw;
    }
}

void transfer::reset() noexcept {
    waiter_ = nullptr;
    reader_ = nullptr;
    if (is_under_way_) {
        core_->remove(request_.handle());
        conclude();
    }
    connection_.reset();
    request_.reset();
    head_.reset();
    body_.reset();
    error_ = nullptr;
    upload_ = nullptr;
    redirects_ = 0;
    has_ended_ = is_superseded_ = has_used_stream_ = false;
    is_receiving_paused_ = is_sending_paused_ = false;
    core_ = nullptr;  // transfer_release holds another reference
}

void transfer::abandon(std::exception_ptr error) noexcept {
    if (!is_under_way_ || core_->is_calling()) {
        fail(std::move(error));
        return;
    }
    core_->remove(request_.handle());
    fail(std::move(error));
    conclude();
}

void transfer::client_closes() noexcept {
    try {
        throw transport_error(transport_error::kind::client_closed,
                              description() + ": the client was closed");
    } catch (...) {
        abandon(std::current_exception());
    }
}

void transfer::ended(CURLcode result) noexcept {
    connection_.note_result(result);
    // An incomplete head is a success for libcurl.
    const bool is_success = (result == CURLE_OK && has_head()) || is_superseded_;
    if (!is_success && error_ == nullptr) {
        try {
            error_ = error_of({.result = result == CURLE_OK ? CURLE_GOT_NOTHING : result,
                               .text = request_.error_text(),
                               .is_connected = connection_.is_ready(),
                               .uses_proxy = !core_->settings().proxy.empty(),
                               .has_head = has_head()},
                              description());
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    conclude();
}

void transfer::fail(std::exception_ptr error) noexcept {
    if (error_ == nullptr) {
        error_ = std::move(error);
    }
}

// Stores the current exception.
void transfer::fail_with_request() noexcept {
    try {
        fail(with_request(description()));
    } catch (...) {
        fail(std::current_exception());
    }
}

void transfer::conclude() noexcept {
    is_under_way_ = false;
    has_ended_ = true;
    if (is_armed()) {
        core_->home()->disarm(*this);
    }
    core_->concluded(*this);
    const host_place left = std::move(place_);
    wake();
}

void transfer::wake() noexcept {
    if (waiter_ != nullptr) {
        waiter_->check();
    }
    if (reader_ != nullptr) {
        reader_->check();
    }
}

void transfer::rethrow() const {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
}

// ---- repeating a request

bool transfer::may_send_again() const noexcept {
    if (upload_ != nullptr && upload_->has_begun()) {
        return false;
    }
    long sent = 0;
    curl_easy_getinfo(request_.handle(), CURLINFO_REQUEST_SIZE, &sent);
    return request_.is_repeatable() || sent == 0;
}

bool transfer::may_retry_on_new_connection() const noexcept {
    return connection_.was_dead() && head_.version() == 0 && !has_head() && !has_used_stream_ &&
           may_send_again();
}

// Called before each time that libcurl sends the request. It does so again if the kept connection
// turned out to be dead, or if a response (417) asks for it. A response that has been received is
// the response, and a request that must not be sent twice is not.
int transfer::on_ready(void* self, char*, char*, int, int local_port) noexcept {
    auto& own = *static_cast<transfer*>(self);
    const bool is_first = own.connection_.note_ready(local_port);
    own.limits_.end_connecting(own.core_->called_at());
    if (own.has_head()) {
        own.is_superseded_ = true;
        return CURL_PREREQFUNC_ABORT;
    }
    // Something to read before the request is sent is the end of the connection, or a response to
    // no request, which must not be taken for ours. libcurl detects only the end. On TLS, bytes may
    // belong to the protocol.
    const bool is_spoilt = own.connection_.is_kept() && !own.url().is_secure() &&
                           own.core_->sockets().is_readable(local_port);
    if (is_spoilt || (!is_first && !own.may_send_again())) {
        try {
            throw transport_error(transport_error::kind::closed,
                                  own.description() +
                                      ": the connection was closed before there was a response, "
                                      "and the request cannot be sent again");
        } catch (...) {
            own.fail(std::current_exception());
        }
        return CURL_PREREQFUNC_ABORT;
    }
    return CURL_PREREQFUNC_OK;
}

// libcurl wants to send the body again on another connection, because the kept one was closed.
int transfer::on_seek(void*, curl_off_t, int) noexcept {
    return CURL_SEEKFUNC_CANTSEEK;
}

// ---- connecting

// The filter has checked the host's addresses before. This is the address that libcurl really
// connects to, so this check decides.
curl_socket_t transfer::on_open(void* self, curlsocktype purpose, curl_sockaddr* where) noexcept {
    auto& own = *static_cast<transfer*>(self);
    if (purpose != CURLSOCKTYPE_IPCXN) {
        return CURL_SOCKET_BAD;
    }
    own.connection_.note_opened();
    if (own.limits_.begin_connecting(own.core_->called_at())) {
        own.set_timer();
    }
    try {
        own.core_->check_address(io::address::from(&where->addr, where->addrlen),
                                 own.connection_.host_name());
    } catch (...) {
        own.fail_with_request();
        return CURL_SOCKET_BAD;
    }
    const curl_socket_t opened = own.core_->sockets().open(*where);
    if (opened == CURL_SOCKET_BAD) {
        own.fail_without_socket(errno);
    }
    return opened;
}

// libcurl would report that the host cannot be reached, which is not what happened.
void transfer::fail_without_socket(int error) noexcept {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) {
        return;
    }
    try {
        throw transport_error(transport_error::kind::resources,
                              std::string("no socket could be opened: ") + std::strerror(error));
    } catch (...) {
        fail_with_request();
    }
}

// Called before libcurl looks up addresses that are not in its cache. An address needs no lookup; a
// name would make libcurl start a thread, which is never allowed.
int transfer::on_resolve(void*, void*, void* self) noexcept {
    return static_cast<transfer*>(self)->connection_.leads_to_address() ? 0 : 1;
}

// ---- receiving

std::size_t transfer::on_header(char* data, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    try {
        own.receive_line({data, size});
        return size;
    } catch (...) {
        own.fail_with_request();
        return 0;
    }
}

void transfer::receive_line(std::string_view line) {
    limits_.note_activity(core_->called_at());
    const client_options& options = core_->settings().options;
    if (!head_.add_line(line, {options.max_header_bytes, options.max_header_count})) {
        return;
    }
    http::headers& fields = head_.fields();
    if (request_.decodes_response() && fields.count("Content-Encoding") == 1 &&
        body_.begin_decoding(fields.get("Content-Encoding"), options.max_decompressed)) {
        fields.remove("Content-Encoding");
        fields.remove("Content-Length");
    }
    wake();
}

std::size_t transfer::on_body(char* data, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    try {
        return own.receive_body({data, size});
    } catch (...) {
        own.fail_with_request();
        return 0;
    }
}

std::size_t transfer::receive_body(std::string_view data) {
    limits_.note_activity(core_->called_at());
    if (body_.is_dropping()) {
        return body_.drop(data.size()) ? data.size() : 0;
    }
    if (upload_ != nullptr && body_.unread() >= max_unread_while_sending) {
        throw transport_error(transport_error::kind::protocol,
                              "the server sends more than 1 MiB of its response before it has read "
                              "the request");
    }
    if (upload_ == nullptr && body_.unread() >= max_unread) {
        is_receiving_paused_ = true;
        last_read_ = core_->called_at();
        return CURL_WRITEFUNC_PAUSE;
    }
    body_.append(data);
    wake();
    return error_ == nullptr ? data.size() : 0;  // the reader may have found it to be invalid
}

std::size_t transfer::take(io::bytes into) {
    std::size_t count = 0;
    try {
        count = body_.take(into, has_ended_ && error_ == nullptr);
    } catch (const std::runtime_error&) {
        abandon(with_request(description()));
        rethrow();
    }
    if (body_.unread() <= max_unread / 2) {
        resume_receiving();
    } else if (is_receiving_paused_) {
        last_read_ = core_->home()->now();
    }
    return count;
}

bool transfer::take_all(std::string& into, std::size_t limit) {
    return has_ended_ && error_ == nullptr && body_.take_all(into, limit);
}

transfer_wait transfer::drop_body(std::size_t limit) noexcept {
    body_.begin_dropping(limit);
    resume_receiving();
    return {*this, transfer_wait::goal::end};
}

void transfer::resume_receiving() noexcept {
    if (is_receiving_paused_ && is_under_way_) {
        is_receiving_paused_ = false;
        limits_.note_activity(core_->home()->now());
        core_->pause(request_.handle(), is_sending_paused_ ? CURLPAUSE_SEND : CURLPAUSE_CONT);
    }
}

// ---- sending

std::size_t transfer::on_read(char* into, std::size_t, std::size_t size, void* self) noexcept {
    auto& own = *static_cast<transfer*>(self);
    own.limits_.note_activity(own.core_->called_at());
    if (own.upload_ == nullptr) {
        return CURL_READFUNC_ABORT;
    }
    const std::size_t count = own.upload_->take(into, size);
    own.is_sending_paused_ = count == CURL_READFUNC_PAUSE;
    if (own.upload_->is_taken()) {
        own.wake();
    }
    return count;
}

void transfer::resume_sending() noexcept {
    if (is_sending_paused_ && is_under_way_) {
        is_sending_paused_ = false;
        limits_.note_activity(core_->home()->now());
        core_->pause(request_.handle(), is_receiving_paused_ ? CURLPAUSE_RECV : CURLPAUSE_CONT);
    }
}

void transfer::forget_upload() noexcept {
    has_used_stream_ = upload_->was_called();
    upload_ = nullptr;
}

bool transfer::is_upload_sent() const noexcept {
    return upload_ == nullptr || upload_->is_taken();
}

// ---- time limits

void transfer::set_timer() noexcept {
    loop& home = *core_->home();
    const clock::time_point next = limits_.next();
    if (is_armed()) {
        if (deadline() <= next.time_since_epoch().count()) {
            return;
        }
        home.disarm(*this);
    }
    if (next != clock::time_point::max()) {
        home.arm(*this, next);
    }
}

void transfer::fire() noexcept {
    const clock::time_point now = core_->home()->now();
    // While we are not ready for more, the peer does not stall.
    if (is_receiving_paused_ || is_sending_paused_) {
        limits_.note_activity(now);
    }
    if (is_receiving_paused_) {
        core_->check_unread(place_.host(), limits_.stalled_since(now));
    }
    // libcurl passes the head on in complete lines, which may take a slow server longer.
    if (!has_head() && connection_.is_ready() && !core_->settings().options.multiplex) {
        limits_.note_activity(core_->sockets().last_readable(connection_.local_port()));
    }
    using limit = request_timed_out::limit;
    const std::optional<limit> expired = limits_.expired(now);
    if (!expired.has_value()) {
        set_timer();
        return;
    }
    const char* text = ": timed out: the request took too long as a whole";
    if (*expired == limit::connect) {
        text = ": timed out while connecting";
    } else if (*expired == limit::stall) {
        text = connection_.is_ready() ? ": timed out: no bytes were sent or received for too long"
                                      : ": timed out while waiting for a connection";
    }
    try {
        throw request_timed_out(*expired, description() + text);
    } catch (...) {
        abandon(std::current_exception());
    }
}

// ---- waiting

bool transfer_wait::ready() noexcept {
    return transfer_.has_ended() || (goal_ == goal::head && transfer_.has_head()) ||
           (goal_ == goal::sent && transfer_.is_upload_sent());
}

bool transfer_wait::start() noexcept {
    transfer_.set_waiter(this);
    return true;
}

bool transfer_wait::cancel() noexcept {
    transfer_.set_waiter(nullptr);
    return true;
}

void transfer_wait::check() noexcept {
    if (ready()) {
        transfer_.set_waiter(nullptr);
        complete();
    }
}

}  // namespace weir::http::detail
