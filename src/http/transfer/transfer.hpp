// SPDX-License-Identifier: MIT
// One request and its answer: an easy handle of libcurl, and what its callbacks leave behind.
#pragma once

#include "http/curl/curl_list.hpp"
#include "http/client/host_table.hpp"
#include "http/coding/body_decoder.hpp"

#include <weir/awaitable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>
#include <weir/http/client_error.hpp>
#include <weir/http/client_request.hpp>
#include <weir/http/client_response.hpp>
#include <weir/io/address.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace weir::http::detail {

class client_core;
class upload;

// Waits until the head of the answer is there, the request is sent, or the transfer has ended.
class [[nodiscard]] transfer_wait final : public operation {
public:
    enum class until : unsigned char { head, sent, end };
    transfer_wait(transfer& of, until what) noexcept : of_(of), what_(what) {}

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "http.send"; }
    void resume() const noexcept {}

private:
    friend class transfer;
    void changed() noexcept;
    transfer& of_;
    until what_;
};

// Lives in three ages: prepared, under way (libcurl has its easy handle), ended; and is then used
// again. Only its owner, a client_response or the coroutine of send(), and the loop's timer call
// it.
class transfer final : private weir::detail::timer {
public:
    struct deadlines {
        clock::time_point total = clock::time_point::max();
        clock::duration connect{};
        clock::duration stall{};
    };

    transfer();
    ~transfer();
    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;

    // Now it belongs to the client, and has the options that all its transfers share.
    void prepare(std::shared_ptr<client_core> core);
    // What libcurl is to be told of the addresses of the host that it will connect to, which need
    // not be the one in the URL. None: it is an address itself.
    void set_route(host_place host, const std::vector<io::address>& found);
    // On a connection of its own.
    void set_fresh() noexcept;
    // It failed because a kept connection was dead, and nothing stands against another attempt.
    bool may_try_fresh() const noexcept;
    // Takes the body, unless it is a stream, and a place among the requests to the host. Throws
    // std::bad_alloc.
    void start(client_request& wanted, const deadlines& limits, host_place place, upload* sending);
    // Ends it if it has not ended, and forgets it.
    void reset() noexcept;
    // Ends it with an error, unless it has ended. If libcurl is at work, its callback does, right
    // after.
    void abandon(std::exception_ptr why) noexcept;
    // The client goes.
    void client_closes() noexcept;
    // libcurl has ended it.
    void ended(CURLcode result) noexcept;

    transfer_wait head() noexcept { return {*this, transfer_wait::until::head}; }
    transfer_wait sent() noexcept { return {*this, transfer_wait::until::sent}; }
    // Drops what is left of the body; closes the connection if that is more than so much.
    transfer_wait drop_body(std::size_t worth) noexcept;
    // Throws what it has ended with, if that is an error.
    void rethrow() const;
    bool has_head() const noexcept { return has_head_; }
    bool has_ended() const noexcept { return has_ended_; }
    bool has_failed() const noexcept { return error_ != nullptr; }

    http::status status() const noexcept { return status_; }
    int version() const noexcept { return version_; }
    const http::headers& fields() const noexcept { return fields_; }
    const http::url& url() const noexcept { return url_; }
    // 'GET http://host/': what errors begin with.
    std::string what() const { return method_name_ + ' ' + url_.text(); }
    int redirects() const noexcept { return redirects_; }
    void set_redirects(int count) noexcept { redirects_ = count; }

    // Some of the body: 0 if there is none now, or no more.
    std::size_t take(io::bytes into);
    // All of the body, if it is there and not compressed.
    bool take_whole(std::string& into, std::size_t limit);
    // The stream that is being sent has more.
    void upload_has_more() noexcept;
    void forget_upload() noexcept;
    // To be sent again; only when it has ended.
    http::body take_sent() noexcept { return std::exchange(sent_, {}); }

    client_core* core() const noexcept { return core_.get(); }
    const std::shared_ptr<client_core>& shared_core() const noexcept { return core_; }
    CURL* easy() const noexcept { return easy_; }

    transfer* previous = nullptr;  // among the active ones of the client
    transfer* next = nullptr;

private:
    friend class transfer_wait;
    friend class http::detail::body_read;

    static constexpr std::size_t enough = 96 * 1024;  // unread bytes, then the server has to wait
    static constexpr std::size_t enough_early = 1024 * 1024;

    static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) noexcept;
    static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) noexcept;
    static std::size_t on_read(char* into, std::size_t, std::size_t size, void* self) noexcept;
    static int on_seek(void* self, curl_off_t offset, int origin) noexcept;
    static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* where) noexcept;
    static int on_connected(void* self, char*, char*, int, int) noexcept;
    static int on_resolve(void*, void*, void* self) noexcept;

    void configure();
    void configure_tls();
    void set_url(const http::url& wanted);
    void set_method(const client_request& wanted);
    void set_headers(const client_request& wanted);
    void set_connect_limit();
    bool header_line(std::string_view line);
    void begin_head(std::string_view line);
    void continue_last(std::string_view more);
    void end_folding();
    void check_value(std::string_view name, std::string_view value) const;
    void head_is_complete();
    void check_framing() const;
    bool may_begin_anew() const noexcept;
    bool is_spoilt(int local_port) const noexcept;
    void fail_closed() noexcept;
    void fail(std::exception_ptr why) noexcept;
    void conclude() noexcept;
    void wake() noexcept;
    void resume_receiving() noexcept;
    void fire() noexcept override;
    void set_timer() noexcept;
    void check_address(const io::address& where) const;
    std::exception_ptr failure(CURLcode result) const;
    bool settings_use_proxy() const noexcept;
    std::size_t take_decoded(io::bytes into);

    CURLU* location_;
    CURL* easy_;
    std::shared_ptr<client_core> core_;
    host_place place_;  // while it is under way
    host_place route_;
    upload* sending_ = nullptr;

    http::url url_;
    std::string method_name_;
    http::body sent_;
    curl_list header_list_;
    std::string lines_;
    curl_list resolve_list_;
    char error_text_[CURL_ERROR_SIZE] = {};

    deadlines limits_;
    clock::time_point connect_by_ = clock::time_point::max();
    clock::time_point last_activity_{};

    http::headers fields_;
    std::string folded_;  // what lines that continue the last field have added to it
    std::size_t header_bytes_ = 0;
    http::status status_ = http::status::ok;
    int version_ = 0;
    int redirects_ = 0;
    std::string body_;
    std::size_t taken_ = 0;  // of it
    body_decoder decoder_;
    std::size_t worth_dropping_ = 0;

    std::exception_ptr error_;
    transfer_wait* waiter_ = nullptr;
    http::detail::body_read* reader_ = nullptr;

    // What the easy handle has from its last use.
    enum class shape : unsigned char { none, get, head, text, stream } shape_ = shape::none;
    long connect_limit_ = 0;
    bool has_headers_ = false;
    bool has_plain_headers_ = false;
    bool is_configured_ = false;
    bool connects_to_address_ = false;
    bool has_several_addresses_ = false;
    bool decodes_ = false;
    bool is_repeatable_ = false;
    bool is_superseded_ = false;
    bool is_fresh_ = false;
    bool failed_by_end_ = false;
    bool has_opened_ = false;  // a connection of its own
    bool used_stream_ = false;
    bool is_under_way_ = false;
    bool is_connected_ = false;
    bool has_head_ = false;
    bool has_ended_ = false;
    bool is_dropping_ = false;
    bool receives_no_more_ = false;  // paused: enough is unread
    bool sends_no_more_ = false;     // paused: the stream has nothing now
};

}  // namespace weir::http::detail
