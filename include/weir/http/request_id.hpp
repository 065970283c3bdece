// SPDX-License-Identifier: MIT
// Middleware: each request has an id, by which logs of several services can be put together.
//
//     app.use(http::request_ids());
//     ... request.attached<http::request_id>()->text ...
//
// The id is what the client says in X-Request-Id, if that is sane (see below), and otherwise 32
// random hexadecimal digits. It is sent back in the same header, and is in the records of
// access_log.
#pragma once

#include <weir/http/handler.hpp>

#include <string>
#include <string_view>

namespace weir::http {

struct request_id {
    std::string text;
};

class request_ids {
public:
    // Of clients that one does not trust, ids are not taken over.
    request_ids& ignore_given() noexcept {
        takes_given_ = false;
        return *this;
    }

    task<response> operator()(request& asked, next inner) const;

    static std::string make();
    // Letters, digits and -._:/+=@, at most 128 of them.
    static bool is_sane(std::string_view text) noexcept;

private:
    bool takes_given_ = true;
};

}  // namespace weir::http
