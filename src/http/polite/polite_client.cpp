// SPDX-License-Identifier: MIT
// Each attempt sends a copy of the request whose body refers to the original: texts are not copied.
// A stream can be read once, so such a request has one attempt.

#include <weir/http/polite_client.hpp>

#include <utility>

namespace weir::http {

namespace {

// The original must outlive the copy. A stream is moved.
client_request copy_of(client_request& original) {
    client_request copy = original.method() == method::other
                              ? client_request(original.method_name(), original.url().text())
                              : client_request(original.method(), original.url());
    copy.headers() = original.headers();
    copy.set_body(original.body().is_stream() ? std::move(original.body())
                                              : body::fixed(original.body().text()));
    const client_request::limits& own = original.own_limits();
    if (own.total) {
        copy.set_timeout(*own.total);
    }
    if (own.connect) {
        copy.set_connect_timeout(*own.connect);
    }
    if (own.stall) {
        copy.set_stall_timeout(*own.stall);
    }
    if (own.followed) {
        copy.set_redirects(*own.followed);
    }
    return copy;
}

repeatable repeatable_of(const client_request& request, const host_policies& policies) {
    return request.body().is_stream() ? repeatable::never
                                      : policies.repeatable_of(request.method());
}

task<fetched> fetch_once(client& sender, client_request request, std::size_t limit) {
    client_response response = co_await sender.send(std::move(request));
    std::string body = co_await response.text(limit);
    co_return fetched(response.status(), response.headers(), response.url(), std::move(body));
}

}  // namespace

task<fetched> polite_client::fetch(client_request request, std::size_t limit) {
    const repeatable again = repeatable_of(request, policies_);
    const auto attempt = [&] { return fetch_once(client_, copy_of(request), limit); };
    co_return co_await policies_.run(request.url(), again, attempt);
}

task<fetched> polite_client::fetch(std::string_view url, std::size_t limit) {
    return fetch(client_request(method::get, url), limit);
}

task<client_response> polite_client::send(client_request request) {
    const repeatable again = repeatable_of(request, policies_);
    const auto attempt = [&] { return client_.send(copy_of(request)); };
    co_return co_await policies_.run(request.url(), again, attempt);
}

task<client_response> polite_client::get(std::string_view url) {
    return send(client_request(method::get, url));
}

task<client_response> polite_client::post(std::string_view url, http::body content,
                                          std::string_view content_type) {
    client_request request(method::post, url);
    request.set_body(std::move(content), content_type);
    return send(std::move(request));
}

}  // namespace weir::http
