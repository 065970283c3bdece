// SPDX-License-Identifier: MIT
// router: which handler answers which path.
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
// '/a%20b'. Where several match, text beats a parameter and a parameter beats a rest, segment by
// segment from the left; a route that does not have the method is passed over for one that does.
//
// Paths. They are split first and decoded then, so an encoded slash stays inside its segment (a
// rest is decoded as a whole). '/tasks' and '/tasks/' are two paths, '/a//b' has an empty segment,
// '.' and '..' are text like any other: nothing is redirected or rewritten. A '%' without two
// hexadecimal digits, and an encoded zero byte, are answered with 400.
//
// Answers of its own, all as problem+json: 404; 405 with Allow; and to OPTIONS, where the route has
// no handler for it, 204 with Allow. HEAD is answered by GET's handler; the server leaves the body
// out.
//
// Middleware is called in the order of use(), for every request of this router: routing has
// happened then, so it can ask for route() and param(), and 404 and 405 pass through it as well.
//
// A router is a handler; it belongs to one loop, and is complete before the first request:
// invalid_state after. Finding a route allocates nothing, but for parameters of more than 15 bytes.
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

    // A pattern that makes no sense, one that is there already with this method (whatever its
    // parameters are called), and a handler that is empty throw invalid_argument naming the
    // pattern.
    router& get(std::string_view pattern, handler answer);
    router& head(std::string_view pattern, handler answer);
    router& post(std::string_view pattern, handler answer);
    router& put(std::string_view pattern, handler answer);
    router& patch(std::string_view pattern, handler answer);
    router& delete_(std::string_view pattern, handler answer);
    router& options(std::string_view pattern, handler answer);
    // All methods for which there is no other handler.
    router& any(std::string_view pattern, handler answer);
    router& route(method which, std::string_view pattern, handler answer);
    // By its name, for methods that have no other: 'PROPFIND'.
    router& route(std::string_view method_name, std::string_view pattern, handler answer);

    // Around all routes of this router, those of mounted ones included, and around its own answers.
    // The first is the outermost.
    router& use(middleware before);
    // The routes of the other, with the prefix before their patterns: '/api' and '/tasks' make
    // '/api/tasks'; '/' makes '/api/', and '' makes '/api'. Its middleware stays around its routes,
    // and around what is not found below the prefix; if it has a fallback, that answers there.
    router& mount(std::string_view prefix, router other);
    // In place of 404.
    router& fallback(handler answer);

    task<response> operator()(request& asked);

private:
    std::unique_ptr<detail::route_table> table_;
};

}  // namespace weir::http
