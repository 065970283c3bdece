// SPDX-License-Identifier: MIT
// The crawl has retries, a rate and a breaker of its own. What other users of the host have caused
// is no failure of the page: it waits until the host can be used again.

#include "service/handlers/polite_fetcher.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/refusal.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <stdexcept>

namespace weir::service::detail {

namespace {

// The host has not answered: a failure for its circuit.
class no_answer : public std::runtime_error {
public:
    no_answer() : std::runtime_error("no answer") {}
};

// What the policies look at.
struct page_answer {
    page_answer() = default;
    http::status status() const noexcept { return code; }
    const http::headers& headers() const noexcept { return fields; }

    http::status code{};
    http::headers fields;
};

}  // namespace

task<crawl::fetch_result> polite_fetcher::fetch(crawl::fetch_request request) {
    constexpr clock::duration shortest_wait = std::chrono::milliseconds(10);
    crawl::fetch_result result;
    const auto send = [&]() -> task<page_answer> {
        crawl::fetch_request sent = request;
        result = co_await fetcher_->fetch(std::move(sent));
        if (result.status == 0) {
            if (is_transient(result.error.kind)) {
                throw no_answer();
            }
            throw limit_exceeded("the request was not sent");  // counts neither way
        }
        page_answer answer;
        answer.code = static_cast<http::status>(result.status);
        answer.fields = result.headers;
        co_return answer;
    };
    const clock::time_point until = now() + max_wait;
    for (;;) {
        clock::duration wait{};
        try {
            const page_answer answer =
                co_await hosts_.run(request.url, http::repeatable::never, send);
            static_cast<void>(answer);
            break;
        } catch (const refused& why) {
            wait = std::max(why.retry_after(), shortest_wait);
            if (now() + wait > until) {
                result = crawl::fetch_result();
                result.error = crawl::page_error(crawl::error_kind::breaker,
                                                 crawl::fetch_stage::admit, why.what());
                break;
            }
        } catch (const no_answer&) {
            break;
        } catch (const limit_exceeded&) {
            break;
        }
        co_await sleep(wait);
    }
    co_return result;
}

}  // namespace weir::service::detail
