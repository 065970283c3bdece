// SPDX-License-Identifier: MIT
// OpenSSL works on buffers (tls_buffers), so no call of it waits, and only one reason to try again
// is left: it needs input.
//
// Reading and writing at the same time (weir/io/detail/tls_session.hpp) rests on these facts:
//
// - One loop runs one fiber at a time and no function in here suspends, so an SSL object is never
// entered twice. Reader and writer meet only at the transport.
// - Output leaves under one lock (`sending`), which is taken before anything is encrypted and held
// until the transport has all output: records arrive in the order of their numbers. The transport
// sends from a second buffer that the output was swapped into, so output that the reader causes
// meanwhile (an alert) does not move the bytes being sent; the writer sends it next.
// - Input enters under another lock (`receiving`), by the task that needs some. Mostly that is the
// reader. The writer needs input in one case: a protocol message of the peer, such as a session
// ticket, is spread over several records and has arrived in part; OpenSSL then writes nothing
// before the rest has arrived. The writer waits for the lock, sees that input has arrived and
// tries again, or reads the transport itself if no reader does. Decrypted data stays in OpenSSL
// for the next read.
// - The reader never waits for `sending`: it tries the lock, and a task that holds it sends all
//   output. No task acquires `sending` while it holds `receiving`, so no deadlock is possible.
// - Reading may cause output: the answer to a key update, the alert that refuses a renegotiation.
// It is sent when the reader has used up its input, and unsent output is limited. A stop waits
// for it, for a second at most: a stopped read must not break the other direction.
// - Nothing suspends between decrypting and returning, so a stopped read loses no data.
//
// A failure is remembered, and each later call reports it again. Bytes that were decrypted before
// the failure are handed out first.

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/tls_engine.hpp>

#include <algorithm>
#include <cstring>

namespace weir::tls::detail {

namespace {

constexpr std::size_t record_bytes = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::size_t flush_bytes = 4 * record_bytes;     // output of one write to the transport
constexpr std::size_t most_handshake_input = 256 * 1024;  // certificates have some kilobytes
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

tls_engine::tls_engine(const context& rules, std::string_view host, const connect_options& options)
    : negotiation_(rules, host, options),
      handshake_timeout_(options.handshake_timeout),
      is_tolerant_(options.tolerate_truncation) {
    if (rules.is_server()) {
        throw invalid_argument("tls::connect: the context is one for servers");
    }
    check_timeout();
    buffers_.attach_to(negotiation_.ssl());
}

tls_engine::tls_engine(const context& rules, std::string peer, const accept_options& options)
    : negotiation_(rules, std::move(peer)),
      handshake_timeout_(options.handshake_timeout),
      is_tolerant_(options.tolerate_truncation) {
    if (!rules.is_server()) {
        throw invalid_argument("tls::accept: the context is one for clients");
    }
    check_timeout();
    buffers_.attach_to(negotiation_.ssl());
}

void tls_engine::check_timeout() const {
    if (handshake_timeout_ <= clock::duration::zero()) {
        throw invalid_argument("tls: handshake_timeout is " +
                               std::to_string(handshake_timeout_.count()) +
                               " ns; it must be above 0");
    }
}

tls_engine::~tls_engine() {
    if (failure_ == nullptr) {
        // Without this OpenSSL would mark the session as not resumable.
        SSL_set_shutdown(&negotiation_.ssl(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
}

// ---- steps

step tls_engine::handshake() {
    if (failure_ != nullptr) {
        return step::failed;
    }
    ERR_clear_error();
    const int returned = SSL_do_handshake(&negotiation_.ssl());
    if (returned == 1) {
        is_established_ = true;
        return step::done;
    }
    const step why = classify(returned);
    if (why == step::needs_input && handshake_input_ > most_handshake_input) {
        return fail(tls_failure::handshake, "more than 256 KiB came, and it is not done");
    }
    return why == step::ended ? fail(tls_failure::handshake, "the peer gave up (close notify)")
                              : why;
}

step tls_engine::read(io::bytes into, std::size_t& count) {
    count = 0;
    if (failure_ != nullptr || truncation_ != nullptr) {
        return step::failed;
    }
    step why = has_ended_ ? step::ended : step::done;
    while (why == step::done && count < into.size()) {
        std::size_t got = 0;
        ERR_clear_error();
        const int returned =
            SSL_read_ex(&negotiation_.ssl(), into.data() + count, into.size() - count, &got);
        count += got;
        if (returned != 1) {
            why = classify(returned);
        }
    }
    has_ended_ = why == step::ended;
    if (buffers_.output_size() > most_unsent_replies) {
        why = fail(tls_failure::protocol, "the peer asks and asks, and reads no answers");
    }
    return count > 0 ? step::done : why;
}

step tls_engine::write(unsent_parts& parts) {
    while (failure_ == nullptr && !parts.is_empty()) {
        if (buffers_.output_size() >= flush_bytes) {
            return step::flush;
        }
        const io::const_bytes record = next_record(parts);
        std::size_t taken = 0;
        ERR_clear_error();
        const int returned =
            SSL_write_ex(&negotiation_.ssl(), record.data(), record.size(), &taken);
        if (returned != 1) {
            const step why = classify(returned);
            return why == step::ended ? fail_in_message() : why;
        }
        parts.skip(taken);
    }
    return failure_ != nullptr ? step::failed : step::done;
}

step tls_engine::close_notify() {
    if (failure_ != nullptr) {
        return step::failed;
    }
    if ((SSL_get_shutdown(&negotiation_.ssl()) & SSL_SENT_SHUTDOWN) != 0) {
        return step::done;
    }
    ERR_clear_error();
    if (SSL_in_init(&negotiation_.ssl()) ==
        1) {  // the peer's message is incomplete, and must be finished first
        const int returned = SSL_do_handshake(&negotiation_.ssl());
        if (returned != 1) {
            const step why = classify(returned);
            return why == step::ended ? fail_in_message() : why;
        }
    }
    ERR_clear_error();
    return SSL_shutdown(&negotiation_.ssl()) >= 0 ? step::done : fail_from_library();
}

// The data of one record: in place if it is in one piece, else collected in plain_.
io::const_bytes tls_engine::next_record(const unsent_parts& parts) {
    if (parts.first.size() >= record_bytes || parts.rest.empty()) {
        return parts.first.first(std::min(parts.first.size(), record_bytes));
    }
    plain_.clear();
    unsent_parts left = parts;
    while (plain_.size() < record_bytes && !left.is_empty()) {
        const std::size_t count = std::min(left.first.size(), record_bytes - plain_.size());
        plain_.insert(plain_.end(), left.first.begin(), left.first.begin() + count);
        left.skip(count);
    }
    return plain_;
}

void tls_engine::received(std::size_t count) noexcept {
    const io::const_bytes fresh = buffers_.received(count);
    if (!is_established_) {
        handshake_input_ += count;
        const std::size_t kept = std::min(count, first_input_.size() - first_count_);
        std::memcpy(first_input_.data() + first_count_, fresh.data(), kept);
        first_count_ += kept;
    }
}

// ---- failures

step tls_engine::classify(int returned) {
    switch (SSL_get_error(&negotiation_.ssl(), returned)) {
        case SSL_ERROR_WANT_READ:
            return buffers_.has_all_input() ? fail_at_end() : step::needs_input;
        case SSL_ERROR_ZERO_RETURN:
            return step::ended;
        default:
            return fail_from_library();
    }
}

step tls_engine::fail_at_end() {
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

step tls_engine::fail_in_message() {
    return fail(tls_failure::truncated, "cut off in the middle of a message of the protocol");
}

step tls_engine::fail_from_library() {
    failure_ = negotiation_.failure() != nullptr ? negotiation_.failure() : buffers_.failure();
    if (failure_ != nullptr) {
        return step::failed;
    }
    negotiation_.forget_session();
    if (!is_established_) {
        const std::string foreign = describe_foreign_input({first_input_.data(), first_count_});
        if (!foreign.empty()) {
            return fail(tls_failure::not_tls, foreign);
        }
    }
    const described_error found = describe_library_error(is_established_, negotiation_.refusal());
    ERR_clear_error();
    return fail(found.kind, found.text);
}

step tls_engine::fail(tls_failure kind, const std::string& why) {
    failure_ = std::make_exception_ptr(tls_error(kind, attempt() + ": " + why));
    return step::failed;
}

void tls_engine::rethrow_failure() const {
    std::rethrow_exception(failure_ != nullptr ? failure_ : truncation_);
}

std::string tls_engine::attempt() const {
    return (is_established_ ? "TLS connection with " : "TLS handshake with ") + negotiation_.peer();
}

}  // namespace weir::tls::detail
