// SPDX-License-Identifier: MIT
//
// Precompiled for all test programs: GoogleTest and the library cost three seconds a file
// otherwise. Tests still include what they use, since the headers test is the only one that proves
// it for the library.
#pragma once

#include <weir/flow/flow.hpp>
#if defined(WEIR_TEST_WITH_IO)
#include <weir/io/uring.hpp>
#endif
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
