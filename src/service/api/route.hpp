// SPDX-License-Identifier: MIT
// A route of the API: the method, the pattern, the scope that its token needs, and the member
// function of a resource that answers.
#pragma once

#include "service/api/access_rights.hpp"

#include <weir/http/method.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

using answer = task<http::response>;

// The queues in which the token needs the permission. `some`: in any; the handler, or the guard by
// the path, restricts what the client gets to those in which it has it.
enum class queue_reach : unsigned char { some, all };

struct route {
    // The resource must outlive the route.
    template <class Resource>
    route(http::method method, std::string_view pattern, permission needs, queue_reach in,
          Resource& resource, answer (Resource::*handler)(http::request&))
        : method(method),
          pattern(pattern),
          needs(needs),
          in(in),
          handle([&resource, handler](http::request& request) {
              return (resource.*handler)(request);
          }) {}

    http::method method;
    std::string_view pattern;
    permission needs;
    queue_reach in;
    std::function<answer(http::request&)> handle;
};

using route_list = std::vector<route>;

}  // namespace weir::service::detail
