// SPDX-License-Identifier: MIT
// One connection: reads a request, lets the handler answer it, and so on. One task does all of it,
// so nothing is shared. The handler reads the request's body through the request_reader, and writes
// a streamed response through the response_writer.
#pragma once

#include "http/server/client_watch.hpp"
#include "http/server/request_reader.hpp"
#include "http/server/response_head.hpp"
#include "http/server/response_writer.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/server.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>

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
          reader_(stream_, writer_, options, session),
          writer_(stream_, options.write_timeout),
          watch_(stream_, reader_, work_, options.disconnect_grace) {
        request_.connect(&reader_, peer, is_secure);
    }

    task<> run() {
        // A client that disconnects, or does not take its response, is not an error of the server.
        try {
            auto end_watch = [this] { return watch_.stop(); };
            co_await finally(answer_while_present(), end_watch);
        } catch (const timed_out&) {
            ++stats_.too_slow;
        } catch (const io_error&) {
        } catch (const tls_error&) {
        }
        stats_.broken_off += is_answering_ ? 1 : 0;
    }

private:
    task<> answer_while_present() {
        const bool is_present = co_await work_.run(answer_all());
        if (!is_present) {
            ++stats_.abandoned;
            is_answering_ = false;
        }
    }

    task<> answer_all() {
        for (std::size_t served = 1;; ++served) {
            std::exception_ptr invalid;
            try {
                const bool has_request = co_await reader_.next_head(request_.reset());
                if (!has_request) {
                    co_return;
                }
            } catch (const protocol_error&) {
                invalid = std::current_exception();
            }
            if (invalid != nullptr) {
                co_await refuse(std::move(invalid));
                co_return;
            }
            ++stats_.requests;
            is_answering_ = true;
            const bool keep_alive = co_await answer_one(served < options_.max_requests);
            is_answering_ = false;
            if (!keep_alive) {
                co_return;
            }
        }
    }

    // Answers an invalid request without the handler. Where the next request begins is unknown, so
    // the connection ends.
    task<> refuse(std::exception_ptr error) {
        ++stats_.refused;
        response answer = to_response(std::move(error));
        if (answer.status() == status::request_timeout) {
            ++stats_.too_slow;
        }
        count(answer.status());
        append_head(writer_.buffer(), answer, body_framing::length, context(false));
        writer_.buffer().append(answer.body().text());
        co_await writer_.send();
        co_await reader_.linger();
    }

    // False: the connection has to end.
    task<bool> answer_one(bool may_keep_alive) {
        watch_.begin();
        response answer = co_await answered(next(app_), request_);
        if (answer.body().as_stream() == nullptr) {
            watch_.end();
        }
        replace_if_not_final(answer);
        if (answer.is_upgrade()) {
            co_await hand_over(answer);
            co_return false;
        }
        count(answer.status());
        reader_.deny_continue();
        const body_framing framing = framing_of(answer, request_.minor_version());
        const bool keep_alive = may_keep_alive && reader_.can_keep_alive() &&
                                !session_.is_draining() && !session_.is_retiring() &&
                                !answer.headers().lists("Connection", "close") &&
                                framing != body_framing::until_close;
        append_head(writer_.buffer(), answer, framing, context(keep_alive));
        if (request_.method() != method::head && framing != body_framing::none &&
            !writer_.append_small(answer.body())) {
            const bool is_complete = co_await send_body(answer, framing);
            if (!is_complete) {
                co_return false;
            }
        }
        co_await writer_.send();
        writer_.release_memory();
        if (keep_alive && reader_.is_body_done()) {
            co_return true;
        }
        if (keep_alive) {
            co_return co_await reader_.skip_body();
        }
        co_await reader_.linger();
        co_return false;
    }

    // After a 1xx the client waits for another response, and would take the next one for it.
    void replace_if_not_final(response& answer) const {
        const unsigned code = number_of(answer.status());
        if (!answer.is_upgrade() && (code < 200 || code > 999)) {
            const invalid_state error("the status " + std::to_string(code) +
                                      " cannot end a request; use 200 to 999");
            answer = answer_to_failure(std::make_exception_ptr(error), request_);
        }
    }

    // False: the body is incomplete, and the connection must end so that the client notices.
    task<bool> send_body(response& answer, body_framing framing) {
        body::streamed* const stream = answer.body().as_stream();
        if (stream == nullptr) {
            co_await writer_.send_text(answer.body().text());
            co_return true;
        }
        std::exception_ptr failure;
        writer_.begin(framing, stream->size);
        try {
            co_await stream->write(writer_);
            watch_.end();
            writer_.finish();
            co_return true;
        } catch (...) {
            if (writer_.has_failed()) {
                throw;
            }
            failure = std::current_exception();
        }
        ++stats_.broken_off;
        is_answering_ = false;
        loop::current().tell({report_kind::suppressed_error,
                              "the body of the response to " + std::string(request_.path()) +
                                  " is incomplete: " + describe(failure),
                              failure,
                              {},
                              {}});
        co_return false;
    }

    task<> hand_over(response& answer) {
        ++stats_.upgraded;
        co_await watch_.stop();
        append_head(writer_.buffer(), answer, body_framing::none, context(true));
        co_await writer_.send();
        upgrade_function take_over = answer.take_upgrade();
        upgraded taken{to_any(std::move(stream_)), reader_.take_received(), peer_, &session_};
        co_await take_over(std::move(taken));
    }
    static io::any_stream to_any(Stream stream) {
        if constexpr (std::same_as<Stream, io::any_stream>) {
            return stream;
        } else {
            return io::any_stream(std::move(stream));
        }
    }

    head_context context(bool keep_alive) const noexcept {
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
    request_reader<Stream> reader_;
    response_writer<Stream> writer_;
    cancel_scope work_;  // stopped when the client has left
    client_watch<Stream> watch_;
};

}  // namespace weir::http::detail
