// SPDX-License-Identifier: MIT
// For middleware that reads or changes responses: turns the error of a handler into a response.
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

// The response of `inner`, or the response to its error: see to_response() in problem.hpp. An error
// that becomes a 500 is reported, since its text does not reach the client.
task<response> answered(next inner, request& request);

// The response to an error of the handler; reports it as answered() does.
response answer_to_failure(const std::exception_ptr& failure, const request& request);

// Adds the name to the header Vary, unless it is listed already.
void add_vary(headers& to, std::string_view name);

}  // namespace weir::http
