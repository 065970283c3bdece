// SPDX-License-Identifier: MIT
// The algorithms over streams are templates; their error messages are made here.

#include <weir/error.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/error.hpp>
#include <weir/io/read.hpp>
#include <weir/time.hpp>

#include <string>

namespace weir::io::detail {

void throw_ended_early(const char* call, std::uint64_t came, std::uint64_t wanted) {
    throw end_of_stream(std::string(call) + ": the stream ended after " + std::to_string(came) +
                        " of " + std::to_string(wanted) + " bytes");
}

void throw_too_long(const char* call, std::size_t limit) {
    throw limit_exceeded(std::string(call) + ": more than the limit of " + std::to_string(limit) +
                         " bytes");
}

void throw_bad_size(const char* call, const char* option, std::size_t value, const char* must_be) {
    throw invalid_argument(std::string(call) + ": " + option + " is " + std::to_string(value) +
                           "; it must be " + must_be);
}

task<void> never() {
    co_await sleep_forever();
}

void throw_no_stream(const char* call) {
    throw invalid_state(std::string("any_stream: ") + call + " of one that holds no stream");
}

}  // namespace weir::io::detail
