// SPDX-License-Identifier: MIT
// The middleware decides by the headers of the response, and then either compresses a text at once
// or puts a writer between the handler's stream and the connection. Large texts become streams, so
// that compressing them does not block the loop.

#include "http/coding/body_decoder.hpp"
#include "http/coding/compressor.hpp"
#include "http/coding/content_coding.hpp"
#include "http/files/conditions.hpp"

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/error.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weir::http {

namespace {

using detail::coding;
using detail::compressor;
using detail::compressor_levels;

constexpr std::size_t max_sync_bytes = 64 << 10;  // takes about a millisecond
constexpr std::size_t piece = 16 << 10;           // of a stream, between two yields

// Compresses the data written to it.
class compressing_writer final : public body_writer {
public:
    compressing_writer(body_writer& to, std::unique_ptr<compressor> to_use)
        : to_(to), compressor_(std::move(to_use)) {}

    task<> write(io::const_bytes data) override {
        check_complete();
        is_complete_ = false;  // unless this write completes
        while (!data.empty()) {
            const io::const_bytes part = data.first(std::min(data.size(), piece));
            data = data.after(part.size());
            compressor_->run(part, compressor::then::go_on, output_);
            is_flushed_ = false;
            if (output_.size() >= piece) {
                co_await hand_over();
            }
            if (!data.empty()) {
                co_await yield();  // other fibers may run between the pieces
            }
        }
        is_complete_ = true;
    }
    task<> flush() override {
        if (!is_flushed_) {
            compressor_->run({}, compressor::then::flush, output_);
            is_flushed_ = true;
            co_await hand_over();
        }
        co_await to_.flush();
    }
    task<> finish() {
        check_complete();
        compressor_->run({}, compressor::then::end, output_);
        return hand_over();
    }

private:
    void check_complete() const {
        if (!is_complete_) {
            throw invalid_state(
                "an earlier write to the body was stopped, so the body is incomplete");
        }
    }
    task<> hand_over() {
        co_await to_.write(output_);
        output_.clear();
    }

    body_writer& to_;
    std::unique_ptr<compressor> compressor_;
    std::string output_;
    bool is_complete_ = true;
    bool is_flushed_ = true;  // the compressor holds no data that could be sent
};

// Shared by all responses.
struct shared_state {
    compressor_levels levels;
    std::size_t max_streams;
    std::size_t streams = 0;
    std::unique_ptr<compressor> idle_gzip;  // reused for the next text

    std::string compressed(std::string_view text, coding which) {
        std::string result;
        result.reserve(text.size() / 2);
        if (which != coding::gzip) {
            detail::make_compressor(which, levels, text.size())
                ->run(text, compressor::then::end, result);
            return result;
        }
        std::unique_ptr<compressor> gzip = std::move(idle_gzip);
        if (gzip == nullptr || !gzip->restart()) {
            gzip = detail::make_compressor(which, levels, text.size());
        }
        gzip->run(text, compressor::then::end, result);
        idle_gzip = std::move(gzip);
        return result;
    }
};

// A body that is compressed while it is sent. Counts as one of the max_streams.
class compressed_stream {
public:
    compressed_stream(std::shared_ptr<shared_state> shared, body content, coding which)
        : shared_(std::move(shared)), content_(std::move(content)), which_(which) {
        ++shared_->streams;
    }
    compressed_stream(compressed_stream&& other) noexcept = default;
    ~compressed_stream() {
        if (shared_ != nullptr) {
            --shared_->streams;
        }
    }

    task<> operator()(body_writer& out) {
        const std::size_t unknown = std::size_t{1} << 20;
        const auto size = static_cast<std::size_t>(
            std::min<std::uint64_t>(content_.size().value_or(unknown), unknown));
        compressing_writer writer(out, detail::make_compressor(which_, shared_->levels, size));
        if (body::streamed* const stream = content_.as_stream()) {
            co_await stream->write(writer);
        } else {
            co_await writer.write(content_.text());
        }
        co_await writer.finish();
    }

private:
    std::shared_ptr<shared_state> shared_;
    body content_;
    coding which_;
};

void weaken_etag(headers& fields) {
    const std::string_view etag = fields.get("ETag");
    if (!etag.empty() && !etag.starts_with("W/")) {
        fields.set("ETag", "W/" + std::string(etag));
    }
}

// Errors in the client's body are reported to the client.
detail::decompressor::step decode_part(detail::body_decoder& decoder, io::const_bytes from,
                                       io::bytes into, bool is_last) {
    try {
        return decoder.run(from, into, is_last);
    } catch (const limit_exceeded& error) {
        throw problem(status::content_too_large, error.what());
    } catch (const std::runtime_error& error) {
        throw problem(status::bad_request, error.what());
    }
}

// The decompressed body of the request.
task<std::string> decoded_body(request& request, std::string_view name, std::uint64_t limit) {
    detail::body_decoder decoder;
    decoder.begin(name, limit);
    std::array<char, 4096> raw;
    std::size_t filled = 0;
    std::string whole;
    std::string decoded(piece, '\0');
    bool is_last = false;
    for (;;) {
        const auto step =
            decode_part(decoder, io::const_bytes(raw).first(filled), decoded, is_last);
        whole.append(decoded, 0, step.produced);
        filled -= step.used;
        std::memmove(raw.data(), raw.data() + step.used, filled);
        if (step.produced > 0 || step.used > 0) {
            continue;
        }
        if (is_last) {
            co_return whole;
        }
        const std::size_t came = co_await request.read(io::bytes(raw).after(filled));
        filled += came;
        is_last = came == 0;
    }
}

class compression_middleware {
public:
    explicit compression_middleware(const compression_options& options)
        : requests_(options.requests),
          min_size_(options.min_size),
          max_decoded_bytes_(options.max_decoded_bytes),
          shared_(std::make_shared<shared_state>()) {
        check(options.gzip_level, 1, 9, "gzip_level");
        check(options.brotli_level, 0, 11, "brotli_level");
        shared_->levels = {options.gzip_level, options.brotli_level};
        shared_->max_streams = options.max_streams;
        if (options.brotli) {
            offered_.push_back(coding::brotli);
        }
        if (options.gzip) {
            offered_.push_back(coding::gzip);
        }
        if (options.deflate) {
            offered_.push_back(coding::deflate);
        }
    }

    task<response> operator()(request& request, next inner) {
        if (requests_ != encoded_requests::pass && is_encoded(request)) {
            if (requests_ == encoded_requests::refuse || !can_decode(request)) {
                co_return refuse_encoding();
            }
            co_await decode(request);
        }
        response answer = co_await inner(request);
        finish(request, answer);
        co_return answer;
    }

private:
    static void check(int level, int least, int most, const char* name) {
        if (level < least || level > most) {
            throw invalid_argument(std::string("compression_options: ") + name + " = " +
                                   std::to_string(level) + " must be from " +
                                   std::to_string(least) + " to " + std::to_string(most));
        }
    }

    // ---- requests

    static bool is_encoded(const request& request) {
        return request.headers().contains("Content-Encoding") &&
               !same_name(request.headers().joined("Content-Encoding"), "identity");
    }
    static bool can_decode(const request& request) {
        detail::body_decoder decoder;
        return decoder.begin(request.headers().joined("Content-Encoding"), 0);
    }
    response refuse_encoding() const {
        response answer = response::problem(status::unsupported_media_type,
                                            "the content coding of the body is not supported");
        return std::move(answer).with("Accept-Encoding", requests_ == encoded_requests::decode
                                                             ? "gzip, br, deflate"
                                                             : "identity");
    }
    task<> decode(request& request) const {
        const std::string name = request.headers().joined("Content-Encoding");
        std::string text = co_await decoded_body(request, name, max_decoded_bytes_);
        request.headers().remove("Content-Encoding");
        request.headers().remove("Content-Length");
        request.set_body(std::move(text));
    }

    // ---- answers

    void finish(const request& request, response& answer) const {
        headers& fields = answer.headers();
        if (answer.status() == status::not_modified) {
            // The headers of the 200 that the client has, which its tag tells.
            add_vary(fields, "Accept-Encoding");
            const std::string_view etag = fields.get("ETag");
            if (!etag.empty() && !etag.starts_with("W/") &&
                !detail::lists_etag(request.headers().joined("If-None-Match"), etag,
                                    detail::comparison::strong)) {
                weaken_etag(fields);
            }
            return;
        }
        if (answer.is_upgrade() || !may_have_body(answer.status()) || answer.body().empty() ||
            fields.contains("Content-Encoding") || fields.contains("Content-Digest") ||
            fields.contains("Digest") || fields.contains("Repr-Digest") ||
            fields.contains("Content-MD5") || fields.lists("Cache-Control", "no-transform")) {
            return;
        }
        const detail::coding_choice choice =
            detail::choose_coding(request.headers().joined("Accept-Encoding"), offered_);
        const bool is_text = detail::is_compressible(answer.content_type());
        if (is_text) {
            add_vary(fields, "Accept-Encoding");
        }
        const bool is_part =
            answer.status() == status::partial_content || fields.contains("Content-Range");
        const bool is_worth_it = is_text && answer.body().size().value_or(min_size_) >= min_size_;
        if (is_part || choice.which == coding::identity ||
            !(is_worth_it || choice.is_identity_refused)) {
            return;
        }
        compress(answer, choice.which);
    }

    void compress(response& answer, coding which) const {
        const bool is_small =
            !answer.body().is_stream() && answer.body().text().size() <= max_sync_bytes;
        if (is_small) {
            answer.set_body(shared_->compressed(answer.body().text(), which));
        } else if (shared_->streams < shared_->max_streams) {
            body content = std::move(answer.body());
            answer.set_body(body::stream(compressed_stream(shared_, std::move(content), which)));
        } else {
            return;
        }
        headers& fields = answer.headers();
        fields.set("Content-Encoding", detail::name_of(which));
        fields.remove("Content-Length");
        fields.remove("Accept-Ranges");  // the ranges are of the uncompressed bytes
        weaken_etag(fields);
        add_vary(fields, "Accept-Encoding");
    }

    encoded_requests requests_;
    std::size_t min_size_;
    std::uint64_t max_decoded_bytes_;
    std::vector<coding> offered_;
    std::shared_ptr<shared_state> shared_;
};

}  // namespace

middleware compression(compression_options options) {
    return compression_middleware(options);
}

}  // namespace weir::http
