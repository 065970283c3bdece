// SPDX-License-Identifier: MIT
// Every target with every input that is kept for it, and with the first parts of these.

#include "fuzz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace {

const std::filesystem::path corpus = WEIR_FUZZ_CORPUS;

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// In memory of exactly that size, so that the sanitizer sees a byte too far.
void run(const fuzz::target& target, std::string_view input) {
    const auto memory = std::make_unique<char[]>(input.size());
    std::copy(input.begin(), input.end(), memory.get());
    target.run({memory.get(), input.size()});
}

TEST(FuzzReplay, EveryInputKeptHolds) {
    for (const fuzz::target& target : fuzz::targets()) {
        std::size_t inputs = 0;
        for (const auto& file : std::filesystem::directory_iterator(corpus / target.name)) {
            const std::string input = content_of(file.path());
            try {
                run(target, input);
                run(target, std::string_view(input).substr(0, input.size() / 2));
                run(target, std::string_view(input).substr(0, input.size() * 9 / 10));
            } catch (const std::exception& error) {
                ADD_FAILURE() << file.path() << ": " << error.what();
            }
            ++inputs;
        }
        EXPECT_GT(inputs, 0u) << target.name;
    }
}

TEST(FuzzReplay, EveryCorpusHasItsTarget) {
    for (const auto& folder : std::filesystem::directory_iterator(corpus)) {
        const std::string name = folder.path().filename().string();
        EXPECT_TRUE(std::any_of(fuzz::targets().begin(), fuzz::targets().end(),
                                [&](const fuzz::target& each) { return each.name == name; }))
            << name;
    }
}

}  // namespace
