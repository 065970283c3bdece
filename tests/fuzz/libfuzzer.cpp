// SPDX-License-Identifier: MIT
// libFuzzer's entry point for the target that WEIR_FUZZ_TARGET names. One program for all of them
// is compiled and linked once.

#include "fuzz.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

void (*chosen)(std::string_view) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* name = std::getenv("WEIR_FUZZ_TARGET");
    for (const fuzz::target& each : fuzz::targets()) {
        if (name != nullptr && each.name == name) {
            chosen = each.run;
            return 0;
        }
    }
    for (const fuzz::target& each : fuzz::targets()) {
        std::printf("%.*s\n", static_cast<int>(each.name.size()), each.name.data());
    }
    std::fprintf(stderr, "WEIR_FUZZ_TARGET has to be one of these.\n");
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    chosen({reinterpret_cast<const char*>(data), size});
    return 0;
}
