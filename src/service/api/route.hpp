// SPDX-License-Identifier: MIT
// A route of the API: the method, the pattern and the member function of a resource that answers.
#pragma once

#include <weir/http/method.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

using answer = task<http::response>;

struct route {
    // The resource must outlive the route.
    template <class Resource>
    route(http::method method, std::string_view pattern, Resource& resource,
          answer (Resource::*handler)(http::request&))
        : method(method), pattern(pattern), handle([&resource, handler](http::request& request) {
              return (resource.*handler)(request);
          }) {}

    http::method method;
    std::string_view pattern;
    std::function<answer(http::request&)> handle;
};

using route_list = std::vector<route>;

}  // namespace weir::service::detail
