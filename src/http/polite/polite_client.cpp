// SPDX-License-Identifier: MIT
// Each attempt sends a copy of the request, whose body refers to the one that is kept: texts are
// not copied. A stream can be read once, so such a request has one attempt.

#include <weir/http/polite_client.hpp>

#include <utility>

namespace weir::http {

namespace {

// The original must outlive it. A stream moves.
client_request copy_of(client_request& kept) {
    client_request copy = kept.method() == method::other
                              ? client_request(kept.method_name(), kept.url().text())
                              : client_request(kept.method(), kept.url());
    copy.headers() = kept.headers();
    copy.set_body(kept.body().is_stream() ? std::move(kept.body())
                                          : body::fixed(kept.body().text()));
    const client_request::limits& own = kept.own_limits();
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

repeatable repeatable_of(const client_request& wanted, const host_policies& policies) {
    return wanted.body().is_stream() ? repeatable::never : policies.repeatable_of(wanted.method());
}

task<fetched> fetch_once(client& by, client_request wanted, std::size_t limit) {
    client_response answer = co_await by.send(std::move(wanted));
    std::string body = co_await answer.text(limit);
    co_return fetched(answer.status(), answer.headers(), answer.url(), std::move(body));
}

}  // namespace

task<fetched> polite_client::fetch(client_request wanted, std::size_t limit) {
    const repeatable again = repeatable_of(wanted, policies_);
    const auto attempt = [&] { return fetch_once(client_, copy_of(wanted), limit); };
    co_return co_await policies_.run(wanted.url(), again, attempt);
}

task<fetched> polite_client::fetch(std::string_view url, std::size_t limit) {
    return fetch(client_request(method::get, url), limit);
}

task<client_response> polite_client::send(client_request wanted) {
    const repeatable again = repeatable_of(wanted, policies_);
    const auto attempt = [&] { return client_.send(copy_of(wanted)); };
    co_return co_await policies_.run(wanted.url(), again, attempt);
}

task<client_response> polite_client::get(std::string_view url) {
    return send(client_request(method::get, url));
}

task<client_response> polite_client::post(std::string_view url, http::body content,
                                          std::string_view content_type) {
    client_request wanted(method::post, url);
    wanted.set_body(std::move(content), content_type);
    return send(std::move(wanted));
}

}  // namespace weir::http
