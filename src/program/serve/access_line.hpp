// SPDX-License-Identifier: MIT
// The line that --access-log writes for a request.
#pragma once

#include <weir/http/access_log.hpp>

#include <string>
#include <string_view>

namespace weir::program {

// 'request 127.0.0.1 GET /tasks?state=&limit= 200 512 1.204 ms ci': client, method, target, status,
// bytes of the body, duration, name of the token. Unknown ones are '-'.
std::string access_line(const http::access_record& record);

// The names of its parameters stay, so that requests can be told apart; the values may be secret.
std::string without_query_values(std::string_view target);

}  // namespace weir::program
