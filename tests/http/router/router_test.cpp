// SPDX-License-Identifier: MIT
// Which handler answers which path: the rules one by one, and all of them against a plain matcher.

#include <weir/error.hpp>
#include <weir/http/router.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace weir;
using http::method;
using http::request;
using http::response;
using http::router;
using http::status;

http::handler says(std::string text) {
    return [text](request&) { return response::text(text); };
}

// The body, or 'status' and Allow.
task<std::string> ask(router& app, method which, std::string target) {
    request incoming(which, target);
    response answer = co_await app(incoming);
    if (answer.status() == status::ok) {
        co_return std::string(answer.body().text());
    }
    co_return std::to_string(number_of(answer.status())) +
        (answer.header("Allow").empty() ? "" : " " + std::string(answer.header("Allow")));
}

WEIR_TEST(Router, TextBeatsParametersBeatRests) {
    router app;
    app.get("/", says("root"))
        .get("/a/b/d", says("abd"))
        .get("/a/{x}/c", says("a{x}c"))
        .get("/a/{x}", says("a{x}"))
        .get("/a/b", says("ab"))
        .get("/a/{rest...}", says("a..."))
        .get("/{*all}", says("..."))
        .get("/dir/", says("dir/"));
    const struct {
        std::string_view target;
        std::string_view answer;
    } cases[] = {
        {"/", "root"},
        {"", "root"},
        {"/?a=/b", "root"},
        {"/a/b", "ab"},
        {"/a/b/d", "abd"},
        {"/a/b/c", "a{x}c"},  // the way over 'b' ends nowhere
        {"/a/b/e", "a..."},
        {"/a/q", "a{x}"},
        {"/a/", "a..."},
        {"/a//c", "a..."},  // a parameter is never empty
        {"/a", "..."},
        {"/A/b", "..."},
        {"/a/b/", "a..."},
        {"/a/b/c/", "a..."},
        {"//a/b", "..."},
        {"/dir/", "dir/"},
        {"/dir", "..."},
        {"/a/%62", "ab"},
        {"/%61/%62/d", "abd"},
        {"/a%2fb", "..."},
        {"http://example.com/a/b?x", "ab"},
        {"http://example.com", "root"},
        {"/a/../b", "a..."},
        {"/a/%", "400"},
        {"/a/%4", "400"},
        {"/a/%g1", "400"},
        {"/a/b%00", "400"},
        {"/a/b?%", "ab"},
    };
    for (const auto& each : cases) {
        const std::string got = co_await ask(app, method::get, std::string(each.target));
        EXPECT_EQ(got, each.answer) << each.target;
    }
}

WEIR_TEST(Router, ParametersAreDecodedAfterSplitting) {
    router app;
    std::string seen;
    app.get("/t/{first}/{second}", [&](request& incoming) {
        seen = std::string(incoming.param("first")) + "|" + std::string(incoming.param("second")) +
               "|" + std::string(incoming.param("none")) + "|" + std::string(incoming.route());
        return response();
    });
    app.get("/f/{rest...}", [&](request& incoming) {
        seen = incoming.param("rest");
        return response();
    });
    app.get("/a b/\xc3\xa9", says("spaced"));
    co_await ask(app, method::get, "/t/a%2Fb/%E2%82%ac+c?x=y");
    EXPECT_EQ(seen, "a/b|\xe2\x82\xac+c||/t/{first}/{second}");
    co_await ask(app, method::get, "/t/%2e%2e/%2561");
    EXPECT_EQ(seen, "..|%61||/t/{first}/{second}");
    co_await ask(app, method::get, "/f/a/b%20c//d/");
    EXPECT_EQ(seen, "a/b c//d/");
    co_await ask(app, method::get, "/f/");
    EXPECT_EQ(seen, "");
    const std::string spaced = co_await ask(app, method::get, "/a%20b/%c3%A9");
    EXPECT_EQ(spaced, "spaced");
}

// A proxy takes a success for the beginning of a tunnel.
WEIR_TEST(Router, ConnectReachesOnlyHandlersOfItsOwn) {
    router app;
    app.any("", says("any"))
        .any("/", says("root"))
        .any("/{rest...}", says("rest"))
        .fallback(says("fallback"));
    router inner;
    inner.any("", says("inner")).fallback(says("inner fallback"));
    app.mount("/api", std::move(inner));
    for (const char* const target : {"example.com:80", "/", "/api", "/api/x", "/x"}) {
        const std::string refused = co_await ask(app, method::connect, target);
        EXPECT_TRUE(refused.starts_with("404") || refused.starts_with("405"))
            << target << ": " << refused;
        const std::string other = co_await ask(app, method::get, target);
        EXPECT_FALSE(other.starts_with("40")) << target << ": " << other;
    }
    router proxy;
    proxy.route(method::connect, "", says("tunnel"));
    const std::string own = co_await ask(proxy, method::connect, "example.com:80");
    EXPECT_EQ(own, "tunnel");
}

WEIR_TEST(Router, Methods) {
    router app;
    app.get("/x", says("get"))
        .post("/x", says("post"))
        .put("/y", says("put"))
        .patch("/y", says("patch"))
        .delete_("/y", says("delete"))
        .route("PROPFIND", "/y", says("propfind"))
        .any("/z", says("any"))
        .get("/z", says("z"))
        .options("/o", says("options"))
        .head("/h", says("head"))
        .get("/h", says("not head"))
        // The more specific route has no POST: the other one answers.
        .get("/m/fixed", says("fixed"))
        .post("/m/{x}", says("other"));
    const struct {
        method which;
        std::string_view target;
        std::string_view answer;
    } cases[] = {
        {method::get, "/x", "get"},
        {method::head, "/x", "get"},
        {method::post, "/x", "post"},
        {method::put, "/x", "405 GET, HEAD, OPTIONS, POST"},
        {method::options, "/x", "204 GET, HEAD, OPTIONS, POST"},
        {method::get, "/y", "405 DELETE, OPTIONS, PATCH, PROPFIND, PUT"},
        {method::head, "/y", "405 DELETE, OPTIONS, PATCH, PROPFIND, PUT"},
        {method::put, "/y", "put"},
        {method::patch, "/y", "patch"},
        {method::delete_, "/y", "delete"},
        {method::get, "/z", "z"},
        {method::head, "/z", "z"},
        {method::trace, "/z", "any"},
        {method::options, "/z", "any"},
        {method::other, "/z", "any"},
        {method::options, "/o", "options"},
        {method::head, "/h", "head"},
        {method::get, "/h", "not head"},
        {method::post, "/m/fixed", "other"},
        {method::get, "/m/fixed", "fixed"},
        {method::get, "/m/else", "405 OPTIONS, POST"},
        {method::put, "/m/fixed", "405 GET, HEAD, OPTIONS, POST"},
        {method::options, "/nothing", "404"},
        {method::options, "*", "204 DELETE, GET, HEAD, OPTIONS, PATCH, POST, PROPFIND, PUT"},
        {method::get, "*", "404"},
        {method::connect, "example.com:80", "404"},
        {method::connect, "/z", "405 GET, HEAD, OPTIONS"},
    };
    for (const auto& each : cases) {
        const std::string got = co_await ask(app, each.which, std::string(each.target));
        EXPECT_EQ(got, each.answer) << name_of(each.which) << ' ' << each.target;
    }
    request special;
    special.reset().method_name = "PROPFIND";
    special.reset().method = method::other;
    special.reset().target = "/y";
    response answer = co_await app(special);
    EXPECT_EQ(answer.body().text(), "propfind");
    special.reset().method_name = "propfind";
    answer = co_await app(special);
    EXPECT_EQ(answer.status(), status::method_not_allowed);
    EXPECT_EQ(answer.content_type(), "application/problem+json");
}

http::middleware marks(std::string name, std::string& trace) {
    return [name, &trace](request& incoming, http::next next) -> task<response> {
        trace +=
            name + "(" + std::string(incoming.route()) + std::string(incoming.param("id")) + ") ";
        response answer = co_await next(incoming);
        trace += "/" + name + " ";
        co_return answer;
    };
}

WEIR_TEST(Router, MiddlewareAndMounts) {
    std::string trace;
    router tasks;
    tasks.get("", says("list")).get("/{id}", says("one")).post("", says("new"));
    tasks.use(marks("t", trace));
    router api;
    api.mount("/tasks", std::move(tasks));
    api.get("/", says("api"));
    api.fallback(says("no api"));
    router app;
    app.get("/health", says("well"));
    app.mount("/api", std::move(api));
    router tenant;
    tenant.get("/home", says("home")).use(marks("n", trace));
    app.mount("/by/{id}", std::move(tenant));
    router pages;
    pages.get("/page", says("page")).use(marks("p", trace));
    app.mount("/", std::move(pages));
    app.use(marks("a", trace));  // also for earlier routes
    app.use(marks("b", trace));

    const struct {
        method which;
        std::string_view target;
        std::string_view answer;
        std::string_view trace;
    } cases[] = {
        {method::get, "/health", "well", "a(/health) b(/health) /b /a "},
        {method::get, "/api/tasks", "list", "a(/api/tasks) b(/api/tasks) t(/api/tasks) /t /b /a "},
        {method::get, "/api/tasks/7", "one",
         "a(/api/tasks/{id}7) b(/api/tasks/{id}7) t(/api/tasks/{id}7) /t /b /a "},
        {method::post, "/api/tasks/7", "405 GET, HEAD, OPTIONS",
         "a(/api/tasks/{id}7) b(/api/tasks/{id}7) t(/api/tasks/{id}7) /t /b /a "},
        {method::get, "/api/", "api", "a(/api/) b(/api/) /b /a "},
        {method::get, "/api", "no api", "a() b() /b /a "},
        {method::get, "/api/tasks/7/8", "no api", "a() b() t() /t /b /a "},
        {method::get, "/by/me/home", "home",
         "a(/by/{id}/homeme) b(/by/{id}/homeme) n(/by/{id}/homeme) /n /b /a "},
        {method::get, "/by/you/x", "404", "a(you) b(you) n(you) /n /b /a "},
        {method::get, "/by", "404", "a() b() /b /a "},
        {method::get, "/page", "page", "a(/page) b(/page) p(/page) /p /b /a "},
        {method::get, "/nothing", "404", "a() b() /b /a "},
        {method::get, "/%zz", "400", "a() b() /b /a "},
    };
    for (const auto& each : cases) {
        trace.clear();
        const std::string got = co_await ask(app, each.which, std::string(each.target));
        EXPECT_EQ(got, each.answer) << each.target;
        EXPECT_EQ(trace, each.trace) << each.target;
    }
    EXPECT_THROW(app.get("/late", says("")), invalid_state);
    EXPECT_THROW(app.use(marks("c", trace)), invalid_state);

    // As a handler, moved after use.
    http::handler moved = std::move(app);
    request incoming(method::get, "/health");
    const response answer = co_await moved(incoming);
    EXPECT_EQ(answer.body().text(), "well");
}

WEIR_TEST(Router, MiddlewareMayAnswerItself) {
    router app;
    int calls = 0;
    app.get("/", [&] {
        ++calls;
        return response();
    });
    auto twice = [](request& incoming, http::next next) -> task<response> {
        if (incoming.header("X-Stop") == "yes") {
            co_return response(status::forbidden);
        }
        co_await next(incoming);
        co_return co_await next(incoming);
    };
    app.use(twice);
    request incoming(method::get, "/");
    response answer = co_await app(incoming);
    EXPECT_EQ(calls, 2);
    incoming.headers().set("X-Stop", "yes");
    answer = co_await app(incoming);
    EXPECT_EQ(answer.status(), status::forbidden);
    EXPECT_EQ(calls, 2);
}

TEST(Router, RefusesBadPatternsByName) {
    const struct {
        std::string_view pattern;
        std::string_view reason;
    } cases[] = {
        {"tasks", "must begin with '/'"},
        {"/a//b", "a segment is empty"},
        {"//", "a segment is empty"},
        {"/{}", "not a valid name of a parameter"},
        {"/{1a}", "not a valid name of a parameter"},
        {"/{a b}", "not a valid name of a parameter"},
        {"/{...}", "not a valid name of a parameter"},
        {"/{*}", "not a valid name of a parameter"},
        {"/{*a...}", "not a valid name of a parameter"},
        {"/{id}.txt", "a parameter is a whole segment"},
        {"/x{id}", "a parameter is a whole segment"},
        {"/{", "a parameter is a whole segment"},
        {"/}{", "a parameter is a whole segment"},
        {"/{a...}/b", "nothing can follow the rest"},
        {"/{a...}/", "nothing can follow the rest"},
        {"/{a}/{a}", "two parameters 'a'"},
        {"/a%20b", "written decoded"},
        {"/a?b", "never part of a path"},
        {"/a\nb", "never part of a path"},
        {"/known", "exists already"},
        {"/one/{other}", "exists already"},
        {"/all/{other...}", "exists already"},
    };
    router app;
    app.get("/known", says("")).get("/one/{name}", says("")).get("/all/{*name}", says(""));
    for (const auto& each : cases) {
        try {
            app.get(each.pattern, says(""));
            ADD_FAILURE() << each.pattern << " was taken";
        } catch (const invalid_argument& error) {
            const std::string_view what = error.what();
            EXPECT_NE(what.find(each.reason), std::string_view::npos) << what;
            EXPECT_NE(what.find("'" + std::string(each.pattern) + "'"), std::string_view::npos)
                << what;
        }
    }
    EXPECT_THROW(app.get("/empty", http::handler()), invalid_argument);
    EXPECT_THROW(app.use(http::middleware()), invalid_argument);
    EXPECT_THROW(app.fallback(http::handler()), invalid_argument);
    EXPECT_THROW(app.route("BAD METHOD", "/b", says("")), invalid_argument);
    EXPECT_THROW(app.route(method::other, "/b", says("")), invalid_argument);
    app.post("/known", says("")).any("/known", says(""));
    EXPECT_THROW(app.any("/known", says("")), invalid_argument);

    for (const std::string_view prefix : {"api", "/api/", "/{rest...}", "/a//b", "/{id}"}) {
        router other;
        other.get("/{id}", says(""));
        EXPECT_THROW(app.mount(prefix, std::move(other)), invalid_argument) << prefix;
    }
    router same;
    same.get("/new", says("")).get("/{x}", says(""));
    EXPECT_THROW(app.mount("/one", std::move(same)), invalid_argument);
    app.get("/one/new", says(""));  // nothing of the other is left behind
}

// ---- against a plain matcher

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> parts;
    for (const char each : path) {
        if (each == '/') {
            parts.emplace_back();
        } else {
            parts.back() += each;
        }
    }
    return parts;
}

// The rank of each segment of the pattern, if it matches: text 0, parameter 1, rest 2.
std::optional<std::string> matches(std::string_view pattern, std::string_view path) {
    const std::vector<std::string> wanted = split(pattern);
    const std::vector<std::string> segments = split(path);
    std::string ranks;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (i >= segments.size()) {
            return std::nullopt;
        }
        if (wanted[i].ends_with("...}")) {
            return ranks + "2";
        }
        if (wanted[i].starts_with('{')) {
            if (segments[i].empty()) {
                return std::nullopt;
            }
            ranks += '1';
        } else if (wanted[i] == segments[i]) {
            ranks += '0';
        } else {
            return std::nullopt;
        }
    }
    return segments.size() == wanted.size() ? std::optional(ranks) : std::nullopt;
}

std::string naive(const std::vector<std::pair<method, std::string>>& routes, method which,
                  std::string_view path) {
    std::map<std::string, std::string> found;  // by rank
    std::set<std::string> allowed;
    for (const auto& [each, pattern] : routes) {
        const auto ranks = matches(pattern, path);
        if (!ranks) {
            continue;
        }
        allowed.insert({std::string(name_of(each)), "OPTIONS"});
        if (each == method::get) {
            allowed.insert("HEAD");
        }
        if (each == which || (which == method::head && each == method::get)) {
            found[*ranks] = pattern;
        }
    }
    if (!found.empty()) {
        return found.begin()->second;
    }
    if (allowed.empty()) {
        return "404";
    }
    std::string list = which == method::options ? "204" : "405";
    for (const std::string& each : allowed) {
        list += (each == *allowed.begin() ? " " : ", ") + each;
    }
    return list;
}

std::string encoded(std::string_view path, std::mt19937& random) {
    std::string result;
    for (const char each : path) {
        if (each != '/' && random() % 3 == 0) {
            constexpr std::string_view digits = "0123456789abcdef";
            result += '%';
            result += digits[static_cast<unsigned char>(each) >> 4];
            result += digits[static_cast<unsigned char>(each) & 15];
        } else {
            result += each;
        }
    }
    return result;
}

WEIR_TEST(Router, AgreesWithAPlainMatcher) {
    weir::testing::once_is_enough();
    std::mt19937 random(7);
    const std::string_view texts[] = {"a", "b", "aa", "ab", "\xc3\xa9"};
    const method methods[] = {method::get, method::post, method::delete_};
    std::map<std::string, int> kinds;
    for (int round = 0; round < 120; ++round) {
        router app;
        std::vector<std::pair<method, std::string>> routes;
        for (unsigned count = 1 + random() % 12; count > 0; --count) {
            std::string pattern;
            const unsigned size = 1 + random() % 4;
            for (unsigned i = 0; i < size; ++i) {
                const unsigned kind = random() % 8;
                const std::string name = std::string(1, static_cast<char>('p' + i));
                pattern += '/';
                if (kind == 0) {
                    pattern += "{" + name + "...}";
                    break;
                }
                if (kind == 1 && i + 1 == size) {
                    break;  // a slash at the end
                }
                pattern += kind <= 3 ? "{" + name + "}" : std::string(texts[random() % 5]);
            }
            const method which = methods[random() % 3];
            try {
                app.route(which, pattern, [pattern](request&) { return response::text(pattern); });
                routes.emplace_back(which, pattern);
            } catch (const invalid_argument&) {  // it exists already
            }
        }
        for (int attempt = 0; attempt < 40; ++attempt) {
            std::string path;
            for (unsigned i = 1 + random() % 5; i > 0; --i) {
                path += '/';
                if (random() % 8 != 0) {
                    path += texts[random() % 5];
                }
            }
            const method which = std::array{method::get, method::head, method::post, method::put,
                                            method::options}[random() % 5];
            const std::string wanted = naive(routes, which, path);
            const std::string target = random() % 2 == 0 ? path : encoded(path, random);
            const std::string got = co_await ask(app, which, target);
            EXPECT_EQ(got, wanted) << name_of(which) << ' ' << path;
            ++kinds[wanted.substr(0, 1)];
        }
    }
    for (const char* kind : {"/", "2", "4"}) {
        EXPECT_GT(kinds[kind], 150) << kind;
    }
}

}  // namespace
