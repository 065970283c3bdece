// SPDX-License-Identifier: MIT
// An HTTP server on loopback that counts its requests.
#pragma once

#include <weir/http/server.hpp>
#include <weir/io/address.hpp>
#include <weir/io/listener.hpp>
#include <weir/spawn.hpp>
#include <weir/task.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace weir_test {

class recording_site {
public:
    using handler = std::function<weir::http::response(weir::http::request&)>;

    explicit recording_site(weir::io::address at, handler answer = {})
        : recording_site(weir::io::listen(at), std::move(answer)) {}
    explicit recording_site(weir::io::listener listener, handler answer = {})
        : answer_(std::move(answer)) {
        address_ = listener.local_address();
        running_ = weir::spawn(
            weir::http::serve(std::move(listener), [this](weir::http::request& request) {
                ++requests_;
                return answer_ ? answer_(request) : weir::http::response::text("here");
            }));
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }
    std::string url(std::string_view host, std::string_view target = "/") const {
        return "http://" + std::string(host) + ':' + std::to_string(address_.port()) +
               std::string(target);
    }
    weir::io::address address() const { return address_; }
    int requests() const { return requests_; }

private:
    handler answer_;
    weir::io::address address_;
    weir::handle<> running_;
    int requests_ = 0;
};

}  // namespace weir_test
