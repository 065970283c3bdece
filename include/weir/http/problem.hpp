// SPDX-License-Identifier: MIT
// Errors as answers.
#pragma once

#include <weir/http/error.hpp>
#include <weir/http/response.hpp>

#include <exception>

namespace weir::http {

// What a server answers when a handler fails. A problem is told to the client; a timeout is 504; any
// other error is 500 without a word about what it was.
response to_response(const std::exception_ptr& failure);

}  // namespace weir::http
