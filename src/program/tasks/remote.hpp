// SPDX-License-Identifier: MIT
// The service as seen by its clients: the commands that talk to one.
#pragma once

#include "program/command_line/settings.hpp"

#include <weir/clock.hpp>
#include <weir/http/client.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace weir::program {

// The service refused the request or cannot be reached; what() says what to do.
class remote_error : public std::runtime_error {
public:
    explicit remote_error(const std::string& what) : std::runtime_error(what) {}
    // The service has answered with this status and these words.
    remote_error(const std::string& what, unsigned status, std::string detail)
        : std::runtime_error(what), status_(status), detail_(std::move(detail)) {}

    unsigned status() const noexcept { return status_; }  // 0: no answer
    const std::string& detail() const noexcept { return detail_; }
    // The request is invalid for what it names; the service may accept one for another.
    bool is_about_its_object() const noexcept {
        return status_ == 404 || status_ == 409 || status_ == 422;
    }

private:
    unsigned status_ = 0;
    std::string detail_;
};

class remote {
public:
    // What to do where the service does not answer.
    static std::string how_to_reach();

    explicit remote(const remote_settings& settings);

    task<boost::json::value> get(std::string path);
    task<boost::json::value> post(std::string path, std::string json);
    // Without a body.
    task<boost::json::value> post(std::string path);
    // The same for one that may take long.
    task<boost::json::value> post_within(clock::duration limit, std::string path);
    task<boost::json::value> put(std::string path, std::string json);
    task<boost::json::value> patch(std::string path, std::string json);
    task<boost::json::value> remove(std::string path);
    // The answer as text, or nothing for 204, to a request that the service may answer late.
    task<std::optional<std::string>> post_text(clock::duration limit, std::string path,
                                               std::string json);
    // The URL of the feed, 'ws://...'.
    std::string events_url(std::string_view query) const;
    const std::string& token() const noexcept { return token_; }
    // For https and wss; null: the authorities of the system.
    const tls::context* trust() const noexcept { return trust_ ? &*trust_ : nullptr; }

private:
    task<boost::json::value> send(http::method verb, std::string path, std::string json);
    task<boost::json::value> send(http::client_request request);
    // Empty: 204.
    task<std::optional<std::string>> send_text(http::client_request request);

    std::string url_;
    std::string token_;
    std::optional<tls::context> trust_;
    http::client client_;
};

// A member of an answer; empty where it is missing or null.
std::string text_of(const boost::json::value& answer, std::string_view member);

}  // namespace weir::program
