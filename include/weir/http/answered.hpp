// SPDX-License-Identifier: MIT
// For middleware that looks at answers, or adds to them: a handler that fails has an answer, too.
//
//     auto named = [](http::request& request, http::next next) -> weir::task<http::response> {
//         http::response answer = co_await http::answered(next, request);
//         answer.headers().set("X-Served-By", "a7");
//         co_return answer;
//     };
#pragma once

#include <weir/http/handler.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <exception>
#include <string_view>

namespace weir::http {

// What comes next, or what its error becomes: see to_response() in problem.hpp. One that nobody
// made for clients (500) is reported, since nobody will see it any more.
task<response> answered(next inner, request& asked);

// The second half of it.
response answer_to_failure(const std::exception_ptr& failure, const request& asked);

// 'Vary: name', unless it is there.
void add_vary(headers& to, std::string_view name);

}  // namespace weir::http
