// SPDX-License-Identifier: MIT
// Only what was made to be told goes to the client.

#include <weir/error.hpp>
#include <weir/http/problem.hpp>

namespace weir::http {

response to_response(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const problem& told) {
        return response::problem(told.code(), told.what());
    } catch (const timed_out&) {
        return response::problem(status::gateway_timeout, "the answer took too long");
    } catch (...) {
        return response::problem(status::internal_server_error);
    }
}

}  // namespace weir::http
