// SPDX-License-Identifier: MIT
// Middleware: gives each request an id that connects the logs of several services.
//
//     app.use(http::request_ids());
//     ... request.attached<http::request_id>()->text ...
//
// The id is the client's X-Request-Id if that is valid (see is_sane), and otherwise 32 random
// hexadecimal digits. The response has it in the same header, and access_log in its records.
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
    // Ids of clients are replaced: for clients that are not trusted.
    request_ids& ignore_given() noexcept {
        takes_given_ = false;
        return *this;
    }

    task<response> operator()(request& request, next inner) const;

    static std::string make();
    // At most 128 letters, digits and -._:/+=@ characters.
    static bool is_sane(std::string_view text) noexcept;

private:
    bool takes_given_ = true;
};

}  // namespace weir::http
