// SPDX-License-Identifier: MIT
// One request and its response: an easy handle of libcurl, and the state of the exchange.
#pragma once

#include "http/client/host_table.hpp"
#include "http/transfer/easy_request.hpp"
#include "http/transfer/received_body.hpp"
#include "http/transfer/received_head.hpp"
#include "http/transfer/time_limits.hpp"
#include "http/transfer/transfer_connection.hpp"

#include <weir/awaitable.hpp>
#include <weir/base/intrusive_list.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/http/client_response.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

class client_core;
class upload;

// Waits for the response's head, for the end of the upload, or for the end of the transfer.
class [[nodiscard]] transfer_wait final : public operation {
public:
    enum class goal : unsigned char { head, sent, end };
    transfer_wait(transfer& awaited, goal what) noexcept : transfer_(awaited), goal_(what) {}

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "http.send"; }
    void resume() const noexcept {}

    // The transfer has made progress.
    void check() noexcept;

private:
    transfer& transfer_;
    goal goal_;
};

// A transfer is prepared, started, ends, and is reset for the next request. Its owner is a
// client_response or the coroutine of send(); beside the owner only libcurl's callbacks and the
// loop's timer call it.
class transfer final : private weir::detail::timer, public weir::detail::list_link<> {
public:
    transfer() : connection_(request_.handle()) {}
    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;

    // Makes it one of the client's transfers. Throws std::bad_alloc.
    void prepare(std::shared_ptr<client_core> core);
    // Starts the request with a place among those to its host. Takes the request's body, unless
    // `streamed` sends it. Throws std::bad_alloc.
    void start(client_request& request, const request_limits& limits, host_place place,
               upload* streamed);
    // Ends it if it has not ended, and makes it ready for the next request.
    void reset() noexcept;
    // Ends it with an error, unless it has ended. If libcurl is calling, its callback ends it when
    // this returns.
    void abandon(std::exception_ptr error) noexcept;
    void client_closes() noexcept;
    // libcurl has ended it and removed the easy handle.
    void ended(CURLcode result) noexcept;

    transfer_wait head_received() noexcept { return {*this, transfer_wait::goal::head}; }
    transfer_wait upload_sent() noexcept { return {*this, transfer_wait::goal::sent}; }
    // Drops the rest of the body; closes the connection if that is more than `limit` bytes.
    transfer_wait drop_body(std::size_t limit) noexcept;

    bool has_head() const noexcept { return head_.is_complete(); }
    bool has_ended() const noexcept { return has_ended_; }
    bool has_failed() const noexcept { return error_ != nullptr; }
    bool is_upload_sent() const noexcept;
    // The server has to wait because nothing has been read since then.
    bool is_unread_since(clock::time_point then) const noexcept {
        return is_receiving_paused_ && last_read_ <= then;
    }
    // While it is under way: the host whose place it has.
    const host_state& host() const noexcept { return place_.host(); }
    // Throws the error that it has ended with, if any.
    void rethrow() const;
    // It failed because a kept connection was dead, and may be repeated on a new one. libcurl
    // itself gives up after five dead connections.
    bool may_retry_on_new_connection() const noexcept;

    // Copies some of the body: 0 if there is nothing to read now, or no more.
    std::size_t take(io::bytes into);
    // Moves out all of the body, if it has been received completely and is not compressed.
    bool take_all(std::string& into, std::size_t limit);
    // The upload has more to send, or has ended.
    void resume_sending() noexcept;
    void forget_upload() noexcept;

    transfer_connection& connection() noexcept { return connection_; }
    const received_head& head() const noexcept { return head_; }
    const http::url& url() const noexcept { return request_.url(); }
    std::string description() const { return request_.description(); }
    http::body take_request_body() noexcept { return request_.take_body(); }
    int redirects() const noexcept { return redirects_; }
    void set_redirects(int count) noexcept { redirects_ = count; }

    const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    body_read* reader() const noexcept { return reader_; }
    void set_reader(body_read* reader) noexcept { reader_ = reader; }
    void set_waiter(transfer_wait* waiter) noexcept { waiter_ = waiter; }

private:
    // Callbacks of libcurl.
    static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) noexcept;
    static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) noexcept;
    static std::size_t on_read(char* into, std::size_t, std::size_t size, void* self) noexcept;
    static int on_seek(void* self, curl_off_t offset, int origin) noexcept;
    static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* where) noexcept;
    static int on_ready(void* self, char*, char*, int, int local_port) noexcept;
    static int on_resolve(void*, void*, void* self) noexcept;

    void set_callbacks();
    void receive_line(std::string_view line);
    std::size_t receive_body(std::string_view data);
    bool may_send_again() const noexcept;
    void fail(std::exception_ptr error) noexcept;
    void fail_with_request() noexcept;
    void fail_without_socket(int error) noexcept;
    void conclude() noexcept;
    void wake() noexcept;
    void resume_receiving() noexcept;
    void fire() noexcept override;
    void set_timer() noexcept;

    easy_request request_;
    transfer_connection connection_;
    received_head head_;
    received_body body_;
    time_limits limits_;
    std::shared_ptr<client_core> core_;
    host_place place_;          // while it is under way
    upload* upload_ = nullptr;  // while the body is being streamed
    std::exception_ptr error_;
    transfer_wait* waiter_ = nullptr;
    body_read* reader_ = nullptr;
    clock::time_point last_read_{};  // or when receiving was paused
    int redirects_ = 0;
    bool is_configured_ = false;
    bool is_under_way_ = false;  // libcurl has the easy handle
    bool has_ended_ = false;
    bool is_superseded_ = false;  // libcurl wanted to repeat it though there was a response
    bool has_used_stream_ = false;
    bool is_receiving_paused_ = false;  // enough is unread
    bool is_sending_paused_ = false;    // the upload has nothing to send now
};

}  // namespace weir::http::detail
