// SPDX-License-Identifier: MIT
// Chromium without a window, driven through its DevTools pipe by the loop of the test.
//
//     weir_test::browser page;
//     co_await page.open("http://127.0.0.1:8080/");
//     const std::string title = co_await page.evaluate("document.title");
//
// The pipe and not the command line's --dump-dom: a page that uses a WebSocket never finishes
// loading, and here a script defines what it waits for. One page a browser; start-up takes about
// half a second.
#pragma once

#include "program.hpp"

#include <weir/io/pipe.hpp>

#include <boost/json.hpp>

#include <array>

namespace weir_test {

class browser {
public:
    browser() {
        need("/usr/bin/chromium", "chromium");
        // DevTools uses descriptors 3 and 4. Outside of namespaces, as containers and root have it.
        const std::string flags =
            " --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run"
            " --disable-background-networking --disable-component-update --disable-sync"
            " --disable-extensions --disable-features=Translate,OptimizationHints,MediaRouter"
            " --no-proxy-server --mute-audio --hide-scrollbars --window-size=1000,700"
            " --remote-debugging-pipe";
        const std::string profile = " --user-data-dir='" + (folder_ / "profile").string() + "'";
        const std::string script = "exec /usr/bin/chromium" + flags + profile +
                                   " about:blank 3<&0 4>&1 </dev/null >/dev/null 2>'" +
                                   (folder_ / "err").string() + "'";
        const std::vector<std::string> command =
            mortal({"env", "HOME=" + folder_.path().string(), "sh", "-c", script});
        weir::process_options options;
        options.in = weir::stdio::pipe;
        options.out = weir::stdio::pipe;
        options.own_group = true;
        process_ = weir::process(command, options);
    }
    browser(const browser&) = delete;
    browser& operator=(const browser&) = delete;
    ~browser() { process_.kill(SIGKILL); }

    // Waits until the page and its resources are loaded. Throws if the server does not answer.
    weir::task<> open(std::string url) {
        if (session_.empty()) {
            co_await attach();
        }
        boost::json::object where{{"url", url}};
        loaded_ = false;
        const boost::json::object answer = co_await call("Page.navigate", std::move(where));
        if (const boost::json::value* failed = answer.if_contains("errorText")) {
            throw std::runtime_error(url + ": " + std::string(failed->as_string()));
        }
        while (!loaded_) {
            co_await next_message();
        }
    }

    // The value of a script, awaited if it is a promise: a string as it is, anything else as JSON.
    // Throws the script's error, and if its promise takes longer than 15 s.
    weir::task<std::string> evaluate(std::string script) {
        boost::json::object what{{"expression", std::move(script)},
                                 {"awaitPromise", true},
                                 {"returnByValue", true},
                                 {"userGesture", true}};
        const boost::json::object answer = co_await call("Runtime.evaluate", std::move(what));
        if (const boost::json::value* thrown = answer.if_contains("exceptionDetails")) {
            throw std::runtime_error("the script failed: " + boost::json::serialize(*thrown));
        }
        const boost::json::object& result = answer.at("result").as_object();
        const boost::json::value* value = result.if_contains("value");
        if (value == nullptr) {
            co_return std::string(result.at("type").as_string());
        }
        co_return value->is_string() ? std::string(value->as_string())
                                     : boost::json::serialize(*value);
    }
    // Until the expression is true. Throws when it is not after 15 s.
    weir::task<> wait_for(std::string expression) {
        const std::string script =
            "new Promise((ok, fail) => { const end = Date.now() + 15000; const look = () => {"
            " if (" +
            expression +
            ") ok(true); else if (Date.now() > end) fail(new Error('not so after"
            " 15 s')); else setTimeout(look, 5); }; look(); })";
        co_await evaluate(script);
    }
    weir::task<std::string> dom() {
        std::string text = co_await evaluate("document.documentElement.outerHTML");
        co_return text;
    }
    // A PNG in base64, as DevTools gives it.
    weir::task<std::string> screenshot() {
        const boost::json::object answer = co_await call("Page.captureScreenshot", {});
        co_return std::string(answer.at("data").as_string());
    }
    // The browser's own error output.
    std::string err() const { return folder_.read("err"); }

private:
    weir::task<> attach() {
        boost::json::object answer = co_await call("Target.getTargets", {});
        std::string target;
        for (const boost::json::value& each : answer.at("targetInfos").as_array()) {
            if (each.at("type") == "page") {
                target = std::string(each.at("targetId").as_string());
            }
        }
        if (target.empty()) {
            boost::json::object where{{"url", "about:blank"}};
            answer = co_await call("Target.createTarget", std::move(where));
            target = std::string(answer.at("targetId").as_string());
        }
        boost::json::object which{{"targetId", target}, {"flatten", true}};
        answer = co_await call("Target.attachToTarget", std::move(which));
        session_ = std::string(answer.at("sessionId").as_string());
        co_await call("Page.enable", {});
    }

    weir::task<boost::json::object> call(std::string method, boost::json::object parameters) {
        const std::int64_t id = ++last_id_;
        boost::json::object message{
            {"id", id}, {"method", method}, {"params", std::move(parameters)}};
        if (!session_.empty()) {
            message["sessionId"] = session_;
        }
        std::string text = boost::json::serialize(message);
        text += '\0';
        co_await process_.in().write(text);
        for (;;) {
            boost::json::object answer = co_await next_message();
            const boost::json::value* to = answer.if_contains("id");
            if (to == nullptr || *to != id) {
                continue;
            }
            if (const boost::json::value* error = answer.if_contains("error")) {
                throw std::runtime_error(method + ": " + boost::json::serialize(*error));
            }
            co_return std::move(answer.at("result").as_object());
        }
    }

    // They end with a zero byte.
    weir::task<boost::json::object> next_message() {
        std::size_t end;
        while ((end = received_.find('\0')) == std::string::npos) {
            const std::size_t count = co_await process_.out().read(buffer_);
            if (count == 0) {
                throw std::runtime_error("chromium has ended; it said: " + err());
            }
            received_.append(buffer_.data(), count);
        }
        boost::json::value message = boost::json::parse({received_.data(), end});
        received_.erase(0, end + 1);
        const boost::json::value* event = message.as_object().if_contains("method");
        if (event != nullptr && *event == "Page.loadEventFired") {
            loaded_ = true;
        }
        co_return std::move(message.as_object());
    }

    temporary_folder folder_;
    weir::process process_;
    std::array<char, 16 * 1024> buffer_;
    std::string received_;
    std::string session_;
    std::int64_t last_id_ = 0;
    bool loaded_ = false;
};

}  // namespace weir_test
