// SPDX-License-Identifier: MIT
// The head decides whether the body is read. A body that is not wanted is dropped if it is short,
// which keeps the connection; otherwise the connection is closed.

#include "crawl/fetch/content_type.hpp"

#include <weir/crawl/http_fetcher.hpp>
#include <weir/http/decoded_body.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace weir::crawl {

namespace {

// Of a body whose head does not tell. Room is cleared memory, and thousands may be in flight.
constexpr std::uint64_t usual_size = 16 * 1024;
constexpr std::uint64_t max_trusted_size = 256 * 1024;
constexpr std::size_t worth_reading_on = 64 * 1024;  // less than a new connection costs
// With 2,000 connections, libcurl would spend a tenth of the processor time on visiting all of them
// whenever a request ends.
constexpr std::size_t connections_of_a_client = 128;
constexpr std::size_t max_clients = 16;
constexpr std::string_view accepted_types =
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
constexpr std::string_view accepted_codings = "gzip, br";

http::client_options client_options_of(const crawl_options& options, std::size_t connections,
                                       const tls::client_options& tls, dns::resolver* resolver) {
    http::client_options made;
    made.max_connections = connections;
    made.max_per_host = options.per_host;
    made.timeout = options.timeout;
    made.connect_timeout = options.connect_timeout;
    made.redirects = http::redirects::none;
    made.decompress = options.accept_compression;
    // Bodies are decompressed as they are read, up to the limit of each request.
    made.max_decompressed = std::numeric_limits<std::uint64_t>::max();
    made.user_agent = options.user_agent;
    made.tls = tls;
    made.resolver = resolver;
    return made;
}

page_error error_of(const http::transport_error& error, bool has_head) {
    using kind = http::transport_error::kind;
    switch (error.why()) {
        case kind::tls:
            return {error_kind::tls, fetch_stage::connect, error.what()};
        case kind::connect:
        case kind::proxy:
        case kind::resources:
            return {error_kind::connect, fetch_stage::connect, error.what()};
        default:
            return {error_kind::truncated, has_head ? fetch_stage::body : fetch_stage::head,
                    error.what()};
    }
}

// The body's size on the wire, as far as the head tells.
std::optional<std::uint64_t> wire_size(const http::headers& headers) noexcept {
    const std::string_view text = headers.get("content-length");
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return size;
}

bool wants_body(const fetch_request& request, const http::client_response& response) noexcept {
    if (request.body == body_wish::none || request.body == body_wish::head ||
        (!response.is_success() && !request.keep_raw)) {
        return false;
    }
    return request.body == body_wish::all ||
           detail::may_have_links(response.header("content-type"));
}

// Cuts off the room behind what was read, however the reading ends.
class read_body {
public:
    // `expected`: its size; one byte more of room is where the end shows.
    read_body(std::string& to, std::uint64_t expected) noexcept
        : to_(to), first_room_(std::min(expected, max_trusted_size) + 1) {}
    read_body(const read_body&) = delete;
    read_body& operator=(const read_body&) = delete;
    ~read_body() { to_.resize(size_); }

    // Room for the next piece; what is there grows by halves.
    io::bytes room(std::uint64_t most) {
        if (to_.size() == size_) {
            const std::uint64_t more = size_ == 0 ? first_room_ : size_ + size_ / 2 + usual_size;
            to_.resize(std::min(more, most));
        }
        return io::bytes(to_).after(size_);
    }
    void add(std::size_t count) noexcept { size_ += count; }
    void cut(std::size_t size) noexcept { size_ = size; }
    std::size_t size() const noexcept { return size_; }

private:
    std::string& to_;
    std::uint64_t first_room_;
    std::size_t size_ = 0;
};

// Whether this process or machine can open no more files.
bool is_out_of_descriptors() noexcept {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE;
    }
    ::close(fd);
    return false;
}

std::string_view truncation_of(error_kind why) noexcept {
    switch (why) {
        case error_kind::none:
            return {};
        case error_kind::too_large:
            return "length";
        case error_kind::timeout:
            return "time";
        default:
            return "disconnect";
    }
}

}  // namespace

http_fetcher::http_fetcher(const crawl_options& options, http::address_filter filter,
                           const tls::client_options& tls, dns::resolver* resolver)
    : user_agent_(options.user_agent),
      accepts_compression_(options.accept_compression),
      resolver_(resolver) {
    const std::size_t count =
        std::clamp<std::size_t>(options.concurrency / connections_of_a_client, 1, max_clients);
    // The hosts are not spread evenly, and one that is full should not make its hosts wait.
    const std::size_t connections =
        count == 1 ? options.concurrency : options.concurrency / count * 2;
    const http::client_options shared = client_options_of(options, connections, tls, resolver);
    for (std::size_t i = 0; i < count; ++i) {
        clients_.push_back(std::make_unique<http::client>(shared, filter));
        clients_.back()->default_headers().set("Accept", accepted_types);
    }
}

http::client& http_fetcher::client_for(const http::url& url) {
    return clients_.size() == 1
               ? *clients_.front()
               : *clients_[std::hash<std::string_view>()(url.host()) % clients_.size()];
}

task<fetch_result> http_fetcher::fetch(fetch_request request) {
    fetch_result result;
    const clock::time_point began = now();
    const std::string max_body = std::to_string(request.max_body);
    const bool keeps_raw = request.keep_raw;
    try {
        co_await receive(std::move(request), result);
    } catch (const http::transport_error& error) {
        result.error = error_of(error, result.status != 0);
        result.is_local_fault = error.why() == http::transport_error::kind::resources;
    } catch (const http::request_timed_out& error) {
        result.error =
            page_error(error_kind::timeout,
                       result.status != 0 ? fetch_stage::body : fetch_stage::head, error.what());
    } catch (const http::address_refused& error) {
        result.error = page_error(error_kind::address_refused, fetch_stage::admit, error.what());
    } catch (const resolve_error& error) {
        result.error = page_error(error_kind::dns, fetch_stage::connect, error.what());
        result.is_local_fault = is_out_of_descriptors();
    } catch (const limit_exceeded& error) {
        result.error =
            result.status == 0
                ? page_error(error_kind::too_large, fetch_stage::head, error.what())
                : page_error(error_kind::too_large, fetch_stage::body,
                             std::string(error.what()) + " (max_body is " + max_body + ")");
    } catch (const std::exception& error) {
        result.error = page_error(error_kind::connect, fetch_stage::connect, error.what());
    }
    if (keeps_raw && result.error && result.status != 0 && result.raw_body.empty()) {
        result.truncated = truncation_of(result.error.kind);
    }
    if (result.status >= 300) {
        result.error = {};  // the status decides, whatever became of the body
    }
    result.total = now() - began;
    if (result.wire_bytes == 0) {
        result.wire_bytes = result.body.size();
    }
    co_return result;
}

void http_fetcher::complete(http::headers& sent) const {
    sent.set_default("User-Agent", user_agent_);
    sent.set_default("Accept", accepted_types);
    if (accepts_compression_) {
        sent.set_default("Accept-Encoding", accepted_codings);
    }
}

task<> http_fetcher::receive(fetch_request request, fetch_result& result) {
    const clock::time_point began = now();
    result.is_head = request.body == body_wish::head;
    if (request.keep_raw) {
        complete(request.headers);
        result.request_headers = request.headers;
    }
    http::client& client = client_for(request.url);
    http::client_request sent(result.is_head ? http::method::head : http::method::get,
                              std::move(request.url));
    for (const auto& [name, value] : request.headers) {
        sent.set_header(name, value);
    }
    sent.set_timeout(request.timeout);
    http::client_response response = co_await client.send(std::move(sent));
    result.status = static_cast<int>(response.status());
    result.http_version = response.version();
    result.headers = response.headers();
    result.ttfb = now() - began;
    if (!wants_body(request, response)) {
        if (!result.is_head && request.keep_raw) {
            result.truncated = "unspecified";
        }
        if (!result.is_head && !response.is_success()) {
            co_await response.discard(worth_reading_on);
        }
        co_return;
    }
    result.has_body = true;
    {
        const std::optional<std::uint64_t> size = wire_size(result.headers);
        read_body body(result.body, size.value_or(usual_size));
        for (std::size_t count = 1; count > 0 && body.size() <= request.max_body;) {
            const io::bytes room = body.room(request.max_body + 1);
            count = co_await response.read(room);
            body.add(count);
        }
        result.wire_bytes = size.value_or(body.size());
        if (body.size() > request.max_body) {
            body.cut(request.max_body);
            throw limit_exceeded("the body is larger than allowed");
        }
    }
    const std::string_view coding = result.headers.get("content-encoding");
    if (request.keep_raw && !coding.empty()) {
        result.raw_body = std::exchange(result.body, std::string());
        std::optional<std::string> decoded =
            http::decoded_body(coding, result.raw_body, request.max_body);
        result.body = decoded ? *std::move(decoded) : std::exchange(result.raw_body, {});
    }
}

task<std::string> http_fetcher::address_of(http::url of) {
    std::string key;
    try {
        const std::string host(of.host());
        std::vector<io::address> found;
        if (resolver_ != nullptr) {
            found = co_await resolver_->resolve(host, of.port());
        } else {
            found = co_await dns::resolve(host, of.port());
        }
        key = found.front().host();
    } catch (const resolve_error&) {
        // The request finds out, and fails with the reason.
    }
    co_return key;
}

}  // namespace weir::crawl
