// SPDX-License-Identifier: MIT
// One connection: reads a request, has it answered, and again. One task does it all, so that
// nothing is shared. The handler reads the body through the connection, which is the request's
// body_reader, and writes a stream through it as well.
#pragma once

#include "http/server/incoming.hpp"
#include "http/server/outgoing.hpp"
#include "http/server/response_head.hpp"

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/server.hpp>
#include <weir/loop.hpp>

#include <exception>
#include <string>
#include <utility>

namespace weir::http::detail {

template <io::byte_stream Stream>
class connection {
public:
    connection(Stream stream, handler& app, const server_options& options, server_stats& stats,
               tcp::session& session, const io::address& peer, bool is_secure)
        : stream_(std::move(stream)),
          app_(app),
          options_(options),
          stats_(stats),
          session_(session),
          peer_(peer),
          incoming_(stream_, outgoing_, options, session),
          outgoing_(stream_, options.write_timeout) {
        request_.connect(&incoming_, peer, is_secure);
    }

    task<> run() {
        // A client that goes away, or does not take its answer, is no failure of ours.
        try {
            co_await answer_all();
        } catch (const timed_out&) {
            ++stats_.too_slow;
        } catch (const io_error&) {
        } catch (const tls_error&) {
        }
        stats_.broken_off += is_answering_ ? 1 : 0;
    }

private:
    task<> answer_all() {
        for (std::size_t served = 1;; ++served) {
            std::exception_ptr refusal;
            try {
                const bool is_there = co_await incoming_.next_head(request_.reset());
                if (!is_there) {
                    co_return;
                }
            } catch (const protocol_error&) {
                refusal = std::current_exception();
            }
            if (refusal != nullptr) {
                co_await refuse(std::move(refusal));
                co_return;
            }
            ++stats_.requests;
            is_answering_ = true;
            const bool goes_on = co_await answer_one(served < options_.max_requests);
            is_answering_ = false;
            if (!goes_on) {
                co_return;
            }
        }
    }

    // What is no request: there is nobody to ask for an answer, and no way to find the next one.
    task<> refuse(std::exception_ptr why) {
        ++stats_.refused;
        response answer = to_response(std::move(why));
        if (answer.status() == status::request_timeout) {
            ++stats_.too_slow;
        }
        count(answer.status());
        const answer_circumstances given = circumstances(false);
        append_head(outgoing_.text(), answer, framing::length, given);
        outgoing_.text().append(answer.body().text());
        co_await outgoing_.send();
        co_await incoming_.linger();
    }

    // False: the connection has to end.
    task<bool> answer_one(bool may_go_on) {
        response answer = co_await answered(next(app_), request_);
        replace_if_not_final(answer);
        if (answer.is_upgrade()) {
            co_await hand_over(answer);
            co_return false;
        }
        count(answer.status());
        incoming_.deny_continue();
        const bool is_head = request_.method() == method::head;
        bool keeps = may_go_on && incoming_.can_go_on() && !session_.is_draining() &&
                     !answer.headers().lists("Connection", "close");
        const framing how = framing_of(answer, circumstances(keeps));
        keeps = keeps && how != framing::until_close;
        append_head(outgoing_.text(), answer, how, circumstances(keeps));
        if (!is_head && how != framing::none && !outgoing_.gathers(answer.body())) {
            const bool is_whole = co_await send_body(answer, how);
            if (!is_whole) {
                co_return false;
            }
        }
        co_await outgoing_.send();
        outgoing_.rest();
        if (keeps && incoming_.is_body_done()) {
            co_return true;
        }
        if (keeps) {
            co_return co_await incoming_.skip_body();
        }
        co_await incoming_.linger();
        co_return false;
    }

    // Behind a 1xx the client waits for another answer, and would take the next one for it.
    void replace_if_not_final(response& answer) const {
        const unsigned code = number_of(answer.status());
        if (!answer.is_upgrade() && (code < 200 || code > 999)) {
            const invalid_state why("the status " + std::to_string(code) + " ends no request");
            answer = answer_to_failure(std::make_exception_ptr(why), request_);
        }
    }

    // False: it was broken off, and the client must see that.
    task<bool> send_body(response& answer, framing how) {
        body::streamed* const stream = answer.body().as_stream();
        if (stream == nullptr) {
            co_await outgoing_.send_text(answer.body().text());
            co_return true;
        }
        std::exception_ptr failure;
        outgoing_.begin(how, stream->size);
        try {
            co_await stream->write(outgoing_);
            outgoing_.finish();
            co_return true;
        } catch (...) {
            if (outgoing_.has_failed()) {
                throw;
            }
            failure = std::current_exception();
        }
        ++stats_.broken_off;
        is_answering_ = false;
        loop::current().tell({report_kind::suppressed_error,
                              "the body of the answer to " + std::string(request_.path()) +
                                  " was broken off: " + describe(failure),
                              failure,
                              {},
                              {}});
        co_return false;
    }

    task<> hand_over(response& answer) {
        ++stats_.upgraded;
        append_head(outgoing_.text(), answer, framing::none, circumstances(true));
        co_await outgoing_.send();
        upgrade_function go_on = answer.take_upgrade();
        upgraded rest{to_any(std::move(stream_)), incoming_.take_received(), peer_, &session_};
        co_await go_on(std::move(rest));
    }
    static io::any_stream to_any(Stream stream) {
        if constexpr (std::same_as<Stream, io::any_stream>) {
            return stream;
        } else {
            return io::any_stream(std::move(stream));
        }
    }

    answer_circumstances circumstances(bool keep_alive) const noexcept {
        return {.minor_version = request_.minor_version(),
                .keep_alive = keep_alive,
                .send_date = options_.send_date,
                .server_name = options_.server_name};
    }
    void count(status code) noexcept {
        stats_.client_errors += number_of(code) / 100 == 4 ? 1 : 0;
        stats_.server_errors += number_of(code) / 100 == 5 ? 1 : 0;
    }

    Stream stream_;
    handler& app_;
    const server_options& options_;
    server_stats& stats_;
    tcp::session& session_;
    io::address peer_;
    bool is_answering_ = false;
    request request_;
    incoming<Stream> incoming_;
    outgoing<Stream> outgoing_;
};

}  // namespace weir::http::detail
