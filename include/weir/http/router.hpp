// SPDX-License-Identifier: MIT
// router: finds the handler for the path of a request.
//
//     http::router app;
//     app.use(http::access_log(sink));
//     app.get("/tasks", list_tasks);
//     app.get("/tasks/{id}", [](http::request& request) {
//         return http::response::text("task " + std::string(request.param("id")));
//     });
//     app.get("/files/{path...}", serve_files);
//     app.mount("/api", std::move(api));                       // another router
//
// Patterns. A segment is text, '{name}' for any one segment that is not empty, or, as the last,
// '{name...}' (also '{*name}') for the rest of the path, which may be empty: '/files/{path...}'
// matches '/files/' and '/files/a/b', not '/files'. Patterns are written decoded: '/a b' matches
// '/a%20b'. If several match, text takes precedence over a parameter and a parameter over a rest,
// segment by segment from the left; routes without the request's method are passed over.
//
// Paths. They are split first and decoded then, so an encoded slash stays inside its segment (a
// rest is decoded as a whole). '/tasks' and '/tasks/' are two paths, '/a//b' has an empty segment,
// '.' and '..' are text like any other: nothing is redirected or rewritten. A '%' without two
// hexadecimal digits, and an encoded zero byte, are answered with 400.
//
// Responses of the router itself: 404 and 405 (with Allow) as problem+json, and 204 with Allow to
// OPTIONS if the route has no handler for it. HEAD is answered by the handler of GET; the server
// leaves the body out.
//
// Middleware is called in the order of use(), for every request of this router, 404 and 405
// included. Routing has happened by then, so request::route() and request::param() are known.
//
// A router is a handler. It belongs to one loop, and cannot be changed after its first request:
// invalid_state. Finding a route allocates only for parameters of more than 15 bytes.
#pragma once

#include <weir/http/handler.hpp>
#include <weir/http/method.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>

#include <memory>
#include <string_view>

namespace weir::http {

namespace detail {
class route_table;
}

class router {
public:
    router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    // An invalid pattern, one that exists already with this method (the names of parameters do not
    // matter), and an empty handler throw invalid_argument naming the pattern.
    router& get(std::string_view pattern, handler answer);
    router& head(std::string_view pattern, handler answer);
    router& post(std::string_view pattern, handler answer);
    router& put(std::string_view pattern, handler answer);
    router& patch(std::string_view pattern, handler answer);
    router& delete_(std::string_view pattern, handler answer);
    router& options(std::string_view pattern, handler answer);
    // All methods without a handler of their own, except CONNECT: its success means a tunnel.
    router& any(std::string_view pattern, handler answer);
    router& route(method which, std::string_view pattern, handler answer);
    // For methods that are known by their name alone: 'PROPFIND'.
    router& route(std::string_view method_name, std::string_view pattern, handler answer);

    // Called before all routes of this router, those of mounted routers included, and before its
    // own responses. The first is the outermost.
    router& use(middleware before);
    // Adds the routes of another router with a prefix: '/api' and '/tasks' make '/api/tasks'; '/'
    // makes '/api/', and '' makes '/api'. The middleware of the other router still applies to its
    // routes, and to paths below the prefix that are not found, which its fallback answers, if any.
    router& mount(std::string_view prefix, router other);
    // Answers requests without a route, instead of 404; CONNECT gets 404 all the same.
    router& fallback(handler answer);

    task<response> operator()(request& request);

private:
    std::unique_ptr<detail::route_table> table_;
};

}  // namespace weir::http
