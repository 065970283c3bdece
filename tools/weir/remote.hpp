// SPDX-License-Identifier: MIT
// The service as seen by its clients: used by submit, status and watch.
#pragma once

#include "settings.hpp"

#include <weir/http/client.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::program {

// The service refused the request or cannot be reached; what() says what to do.
class remote_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class remote {
public:
    static constexpr const char* how_to_reach =
        " (start a service with `weir serve`, or give its address with --server or WEIR_SERVER)";

    explicit remote(const remote_settings& settings);

    task<boost::json::value> get(std::string path);
    task<boost::json::value> post(std::string path, std::string json);
    // The URL of the feed, 'ws://...'.
    std::string events_url(std::string_view query) const;
    const std::string& token() const noexcept { return token_; }

private:
    task<boost::json::value> send(http::client_request request);

    std::string url_;
    std::string token_;
    http::client client_;
};

// A member of an answer; empty where it is missing or null.
std::string text_of(const boost::json::value& answer, std::string_view member);

}  // namespace weir::program
