// SPDX-License-Identifier: MIT
// OpenSSL works on a BIO of our own, whose two ends are buffers in the engine: what it wants to
// read is what received() has brought, or 'try again'; what it writes is appended to the output and
// never refused. So no call of OpenSSL waits, and only one reason to try again is left: it needs
// input.
//
// How reading and writing at the same time work, in weir/io/tls.hpp, rests on these facts:
//
// - One loop runs one fiber at a time and no call in here suspends: an SSL object is never entered
// twice. Reader and writer meet only at the transport.
// - Output leaves under one lock (`sending`), taken before anything is encrypted and held until all
// output is with the transport: records arrive in the order in which they were numbered. The
// transport sends from a second buffer that the output was swapped into, so that output that the
// reader causes meanwhile (an alert) does not move what is being sent; the writer sends it next.
// - Input enters under another (`receiving`), by whoever needs some. Mostly that is the reader. A
// writer needs input in one case: a message of the peer that belongs to the protocol, such as a
// session ticket, is spread over several records and has come in part; OpenSSL then writes nothing
// before the rest is there. It waits for the lock, sees that input came and tries again, or reads
// the transport itself where no reader does. Decrypted data stays in the engine for the next read.
// - The reader never waits for `sending` (it tries the lock: who holds it sends all), and
// nobody asks for `sending` while holding `receiving`: there is no circle.
// - Reading may cause output: the answer to a key update, the alert that refuses a renegotiation.
//   It is sent when the reader has used up its input, and what has not been sent is limited. A stop
//   waits for it, a second at most: a stopped read is not to break the other direction.
// - Nothing suspends between decrypting and returning, so a read that is stopped has lost nothing.
//
// A failure is remembered: each later call reports it again. Bytes decrypted before it are handed
// out first.

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/tls_engine.hpp>

#include <algorithm>
#include <cstring>

namespace weir::tls::detail {

namespace {

constexpr std::size_t record_bytes = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::size_t flush_bytes = 4 * record_bytes;     // handed to the transport at once
constexpr std::size_t first_room = 2048;                  // what an idle connection holds
constexpr std::size_t most_room = 4 * record_bytes;       // grows as reads fill it
constexpr std::size_t most_handshake_input = 256 * 1024;  // certificates are some kilobytes
constexpr std::size_t most_unsent_replies = 128 * 1024;   // more than one input can cause

}  // namespace

bool unsent_parts::is_empty() noexcept {
    while (first.empty() && !rest.empty()) {
        first = rest.front();
        rest = rest.subspan(1);
    }
    return first.empty();
}

void unsent_parts::skip(std::size_t count) noexcept {
    while (count > 0) {
        const std::size_t here = std::min(count, first.size());
        first = first.after(here);
        count -= here;
        (void)is_empty();
    }
}

engine::~engine() {
    if (failure_ == nullptr) {
        // The session of a connection that ended well enough may be resumed.
        SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    SSL_free(ssl_);
}

// ---- the four things to do
// ------------------------------------------------------------------------

step engine::handshake() {
    if (failure_ != nullptr) {
        return step::failed;
    }
    ERR_clear_error();
    const int returned = SSL_do_handshake(ssl_);
    if (returned == 1) {
        is_established_ = true;
        return step::done;
    }
    const step why = take_answer(returned);
    if (why == step::needs_input && handshake_input_ > most_handshake_input) {
        return fail(tls_failure::handshake, "more than 256 KiB came, and it is not done");
    }
    return why == step::ended ? fail(tls_failure::handshake, "the peer gave up (close notify)")
                              : why;
}

step engine::read(io::bytes into, std::size_t& count) {
    count = 0;
    if (failure_ != nullptr || truncation_ != nullptr) {
        return step::failed;
    }
    step why = has_ended_ ? step::ended : step::done;
    while (why == step::done && count < into.size()) {
        std::size_t got = 0;
        ERR_clear_error();
        const int returned = SSL_read_ex(ssl_, into.data() + count, into.size() - count, &got);
        count += got;
        if (returned != 1) {
            why = take_answer(returned);
        }
    }
    has_ended_ = why == step::ended;
    if (output_.size() > most_unsent_replies) {
        why = fail(tls_failure::protocol, "the peer asks and asks, and reads no answers");
    }
    return count > 0 ? step::done : why;
}

step engine::write(unsent_parts& from) {
    while (failure_ == nullptr && !from.is_empty()) {
        if (output_.size() >= flush_bytes) {
            return step::flush;
        }
        const io::const_bytes record = next_record(from);
        std::size_t taken = 0;
        ERR_clear_error();
        const int returned = SSL_write_ex(ssl_, record.data(), record.size(), &taken);
        if (returned != 1) {
            const step why = take_answer(returned);
            return why == step::ended ? fail_in_message() : why;
        }
        from.skip(taken);
    }
    return failure_ != nullptr ? step::failed : step::done;
}

step engine::close_notify() {
    if (failure_ != nullptr) {
        return step::failed;
    }
    if ((SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0) {
        return step::done;
    }
    ERR_clear_error();
    if (SSL_in_init(ssl_) == 1) {  // in the middle of a message of the peer, which comes first
        const int returned = SSL_do_handshake(ssl_);
        if (returned != 1) {
            const step why = take_answer(returned);
            return why == step::ended ? fail_in_message() : why;
        }
    }
    ERR_clear_error();
    return SSL_shutdown(ssl_) >= 0 ? step::done : fail_from_library();
}

// One record's worth: as it lies if it is in one piece, else collected.
io::const_bytes engine::next_record(const unsent_parts& from) {
    if (from.first.size() >= record_bytes || from.rest.empty()) {
        return from.first.first(std::min(from.first.size(), record_bytes));
    }
    plain_.clear();
    unsent_parts left = from;
    while (plain_.size() < record_bytes && !left.is_empty()) {
        const std::size_t count = std::min(left.first.size(), record_bytes - plain_.size());
        plain_.insert(plain_.end(), left.first.begin(), left.first.begin() + count);
        left.skip(count);
    }
    return plain_;
}

// ---- bytes
// ----------------------------------------------------------------------------------------

io::bytes engine::input_room() {
    if (input_begin_ == input_end_) {
        if (input_.empty()) {
            input_.resize(first_room);
        } else if (input_end_ == input_.size() && input_.size() < most_room) {
            const std::size_t more = input_.size() * 2;
            input_ = {};
            input_.resize(more);
        }
        input_begin_ = input_end_ = 0;
    } else if (input_begin_ > 0) {
        std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
        input_end_ -= input_begin_;
        input_begin_ = 0;
    }
    if (input_end_ == input_.size()) {
        input_.resize(input_.size() * 2);
    }
    return io::bytes(input_).after(input_end_);
}

void engine::received(std::size_t count) noexcept {
    if (count == 0) {
        has_all_input_ = true;
        return;
    }
    if (!is_established_) {
        handshake_input_ += count;
        const std::size_t kept = std::min(count, first_input_.size() - first_count_);
        std::memcpy(first_input_.data() + first_count_, input_.data() + input_end_, kept);
        first_count_ += kept;
    }
    input_end_ += count;
}

// ---- failures
// -------------------------------------------------------------------------------------

step engine::take_answer(int returned) {
    switch (SSL_get_error(ssl_, returned)) {
        case SSL_ERROR_WANT_READ:
            return has_all_input_ ? fail_at_end() : step::needs_input;
        case SSL_ERROR_ZERO_RETURN:
            return step::ended;
        default:
            return fail_from_library();
    }
}

step engine::fail_at_end() {
    if (!is_established_) {
        const std::string foreign = describe_foreign_input({first_input_.data(), first_count_});
        return foreign.empty() ? fail(tls_failure::handshake, "the peer closed the connection")
                               : fail(tls_failure::not_tls, foreign);
    }
    if (is_tolerant_) {
        return step::ended;
    }
    // The other direction may still work.
    truncation_ = std::make_exception_ptr(tls_error(
        tls_failure::truncated, attempt() + ": cut off: it ended without the peer's close_notify"));
    return step::failed;
}

step engine::fail_in_message() {
    return fail(tls_failure::truncated, "cut off in the middle of a message of the protocol");
}

step engine::fail_from_library() {
    if (failure_ != nullptr) {  // thrown by a callback
        return step::failed;
    }
    if (offered_session_) {
        context_.state().sessions().forget(session_key_);
    }
    if (!is_established_) {
        const std::string foreign = describe_foreign_input({first_input_.data(), first_count_});
        if (!foreign.empty()) {
            return fail(tls_failure::not_tls, foreign);
        }
    }
    const described_error found = describe_library_error(is_established_, refusal_);
    ERR_clear_error();
    return fail(found.kind, found.text);
}

step engine::fail(tls_failure kind, const std::string& why) {
    failure_ = std::make_exception_ptr(tls_error(kind, attempt() + ": " + why));
    return step::failed;
}

void engine::rethrow_failure() const {
    std::rethrow_exception(failure_ != nullptr ? failure_ : truncation_);
}

std::string engine::attempt() const {
    return (is_established_ ? "TLS connection with " : "TLS handshake with ") + peer_;
}

// ---- what is known afterwards
// ---------------------------------------------------------------------

bool engine::was_resumed() const noexcept {
    return SSL_session_reused(ssl_) == 1;
}
std::string_view engine::alpn() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}
std::string_view engine::version() const noexcept {
    return SSL_get_version(ssl_);
}
std::string_view engine::cipher() const noexcept {
    return SSL_get_cipher_name(ssl_);
}
std::string engine::peer_subject() const {
    const X509* peer = SSL_get0_peer_certificate(ssl_);
    return peer == nullptr ? std::string() : text_of(X509_get_subject_name(peer));
}
std::string_view engine::server_name() const noexcept {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? std::string_view() : std::string_view(name);
}

}  // namespace weir::tls::detail
